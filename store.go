package millrace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"millrace/config"
	"millrace/metadata"
	"millrace/metadata/etcd"
	"millrace/metadata/memory"
)

// backing is where the metadata is kept: in this process' memory, in an etcd elsewhere, or in one that is in this process
// and one of the cluster's.
type backing struct {
	metadata.Store
	shut   func()
	failed <-chan struct{} // closed when the etcd in this process has stopped by itself; nil: there is none
	why    func() error    // then
}

// etcdPatience is how long one attempt to reach an etcd elsewhere takes. Between attempts the log says what is waited for.
const etcdPatience = 10 * time.Second

// openBacking waits until the metadata can be read and written, or ctx is done: for etcd that means a majority of its
// members.
func openBacking(ctx context.Context, c *config.Config, log *zap.Logger) (*backing, error) {
	switch k := &c.Cluster; {
	case len(k.Members) > 0:
		return openEmbedded(ctx, k, log)
	case len(k.EtcdEndpoints) > 0:
		return openExternal(ctx, k, log)
	}
	store := memory.Open(memory.Options{})
	return &backing{Store: store, shut: store.Close}, nil
}

func openEmbedded(ctx context.Context, k *config.Cluster, log *zap.Logger) (*backing, error) {
	log = log.Named("etcd")
	o := etcd.EmbeddedOptions{Name: k.NodeName, Cluster: k.Members, PeerListen: k.Listener, DataDir: k.DataDir, Log: log}
	if k.TLS.IsSet() {
		o.TLS = &etcd.TLSFiles{CertFile: k.TLS.Certificate, KeyFile: k.TLS.Key, CAFile: k.TLS.CA}
	}
	if len(k.Members) > 1 {
		log.Info("waiting for the cluster: all members if it is new, else a majority", zap.String("this_one", k.NodeName),
			zap.Strings("members", slices.Sorted(maps.Keys(k.Members))))
	}
	member, err := etcd.StartEmbedded(ctx, o)
	if err != nil {
		return nil, err
	}
	store, err := etcd.OpenContext(ctx, etcd.Options{Endpoints: member.Endpoints(), DialTimeout: etcdPatience, Log: log})
	if err != nil {
		member.Close()
		return nil, err
	}
	return &backing{Store: store, failed: member.Done(), why: member.Err, shut: func() {
		store.Close()
		member.Close()
	}}, nil
}

func openExternal(ctx context.Context, k *config.Cluster, log *zap.Logger) (*backing, error) {
	log = log.Named("etcd")
	o := etcd.Options{Endpoints: k.EtcdEndpoints, Username: k.EtcdUser, Password: k.EtcdPassword, Prefix: k.EtcdPrefix,
		DialTimeout: etcdPatience, Log: log}
	if k.EtcdTLS.IsSet() {
		files := etcd.TLSFiles{CertFile: k.EtcdTLS.Certificate, KeyFile: k.EtcdTLS.Key, CAFile: k.EtcdTLS.CA}
		var err error
		if o.TLS, err = files.ClientConfig(); err != nil {
			return nil, fmt.Errorf("millrace.etcd.tls: %w", err)
		}
	}
	for {
		store, err := etcd.OpenContext(ctx, o)
		if err == nil {
			return &backing{Store: store, shut: store.Close}, nil
		}
		if ctx.Err() != nil || !etcd.Unreachable(err) {
			return nil, err
		}
		log.Warn("waiting for etcd", zap.String("endpoints", strings.Join(k.EtcdEndpoints, ", ")), zap.Error(err))
	}
}
