//go:build !noembed

package etcd

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"millrace/metadata"
	"millrace/metadata/storetest"
)

const patience = 30 * time.Second // ends a test that would hang

// freePorts returns n addresses that nobody listens at.
func freePorts(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// inRAM is a folder for the test, where TestMain has put the temporary ones.
func inRAM(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// single starts a cluster of one.
func single(t *testing.T) *Embedded {
	t.Helper()
	e, err := StartEmbedded(within(t), EmbeddedOptions{
		Name: "a", Cluster: map[string]string{"a": "127.0.0.1:2380"}, Log: zaptest.NewLogger(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Log == nil {
		o.Log = zaptest.NewLogger(t)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// each returns an opener of stores with a prefix each, that are empty therefore.
func each(endpoints []string) func(t *testing.T) metadata.Store {
	var n atomic.Int32
	return func(t *testing.T) metadata.Store {
		return open(t, Options{Endpoints: endpoints, Prefix: fmt.Sprintf("test-%d", n.Add(1))})
	}
}

func TestStoreOnOneMember(t *testing.T) {
	e := single(t)
	t.Logf("ready after %v", e.ReadyAfter())
	storetest.Run(t, each(e.Endpoints()))
}

// TestUnreachable: nobody at the address may pass; to be told to stop ends the wait.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	nobody := freePorts(t, 1)
	_, err := Open(Options{Endpoints: nobody, DialTimeout: 200 * time.Millisecond})
	if !Unreachable(err) {
		t.Errorf("Open = %v", err)
	}
	if _, err := Open(Options{}); err == nil || Unreachable(err) {
		t.Errorf("Open without endpoints = %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := OpenContext(ctx, Options{Endpoints: nobody, DialTimeout: time.Minute}); err == nil {
		t.Error("OpenContext found nobody, and says nothing")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("OpenContext returned after %v", took)
	}
}
