package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdName is the host of the external etcd, and the word by which this program becomes it.
const etcdName = "etcd"

// serveEtcd is this program as an etcd of one member, until it is told to end.
func serveEtcd(address, dir string) error {
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs = dir, "warn", []string{"stderr"}
	client, peer := url.URL{Scheme: "http", Host: address + ":2379"}, url.URL{Scheme: "http", Host: address + ":2380"}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.UnsafeNoFsync = true // processes die here, machines don't
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	defer e.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, os.Interrupt)
	select {
	case <-e.Server.ReadyNotify():
		fmt.Println(`{"msg":"ready"}`)
	case <-time.After(20 * time.Second):
		return fmt.Errorf("etcd isn't ready after 20 s")
	}
	select {
	case <-ended:
		return nil
	case err := <-e.Err():
		return err
	}
}
