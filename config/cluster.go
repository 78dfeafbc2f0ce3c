package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Cluster says which processes form the cluster, and where its metadata is. With neither Members nor EtcdEndpoints it is
// one process, and its metadata is in memory.
type Cluster struct {
	NodeName string            // this process; a key of Members, if there are any
	Members  map[string]string // host:port of each process' etcd, by name; nil: none has one
	Listener string            // host:port where this one's listens; "": as in Members
	TLS      TLSFiles          // among Members
	DataDir  string            // "": temporary

	EtcdEndpoints          []string // an etcd that runs elsewhere; empty: none
	EtcdPrefix             string
	EtcdUser, EtcdPassword string
	EtcdTLS                TLSFiles
}

// TLSFiles are names of PEM files; all "": no TLS is configured.
type TLSFiles struct{ Certificate, Key, CA string }

// IsSet tells whether any file is named.
func (f TLSFiles) IsSet() bool { return f != TLSFiles{} }

// Several tells whether the cluster may consist of several processes.
func (c *Cluster) Several() bool { return len(c.Members) > 0 || len(c.EtcdEndpoints) > 0 }

// Host is how the other processes reach this one, as far as Members say it; else "".
func (c *Cluster) Host() string {
	host, _, _ := net.SplitHostPort(c.Members[c.NodeName])
	return host
}

// deriveCluster reads millrace.cluster and holds the settings of the cluster against each other.
func (c *Config) deriveCluster() (problems []error) {
	k := &c.Cluster
	refuse := func(name, expected string) { problems = append(problems, c.problem(name, expected)) }
	for _, item := range c.clusterMembers {
		name, addr, found := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		host, port, err := ParseHostPort(addr)
		switch {
		case !found || name == "":
			refuse("millrace.cluster", fmt.Sprintf("%q: expected name=host:port", item))
		case err != nil:
			refuse("millrace.cluster", err.Error())
		case host == "" || IsMetaAddress(host) || port == 0:
			refuse("millrace.cluster", fmt.Sprintf("%q: expected a host and a port that the other members reach", item))
		case k.Members[name] != "":
			refuse("millrace.cluster", "the name "+name+" stands twice")
		default:
			if k.Members == nil {
				k.Members = map[string]string{}
			}
			k.Members[name] = net.JoinHostPort(host, strconv.Itoa(int(port)))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if n := len(k.Members); n > 0 && (n%2 == 0 || n > 7) {
		refuse("millrace.cluster", fmt.Sprintf("%d members; expected 1, 3, 5 or 7: an even number outlives no more failures than one less", n))
	}
	if len(k.Members) > 0 && k.Members[k.NodeName] == "" {
		refuse("millrace.node.name", "expected one of the names in millrace.cluster")
	}
	if len(k.Members) > 0 && len(k.EtcdEndpoints) > 0 {
		refuse("millrace.etcd.endpoints", "expected either this or millrace.cluster, which has an etcd of its own")
	}
	if (k.EtcdUser == "") != (k.EtcdPassword == "") {
		refuse("millrace.etcd.user", "expected a user and a password, or neither")
	}
	if k.Listener != "" {
		if _, _, err := ParseHostPort(k.Listener); err != nil {
			refuse("millrace.cluster.listener", err.Error())
		}
	}
	problems = append(problems, c.checkTLS("millrace.cluster.tls", k.TLS, true)...)
	problems = append(problems, c.checkTLS("millrace.etcd.tls", k.EtcdTLS, false)...)
	if len(problems) == 0 && k.Several() {
		problems = append(problems, c.checkReachable()...)
	}
	return problems
}

// checkTLS: a certificate goes with its key, and where all is needed nothing may be missing.
func (c *Config) checkTLS(prefix string, f TLSFiles, all bool) []error {
	if (f.Certificate == "") != (f.Key == "") || all && f.IsSet() && (f.Certificate == "" || f.CA == "") {
		return []error{c.problem(prefix+".certificate.file", "expected "+prefix+".certificate.file, .key.file and .ca.file together")}
	}
	return nil
}

// checkReachable: brokers find each other by the addresses that clients are told, so those must lead here from elsewhere.
// A listener on every interface has none of its own; it is told with the host that stands in millrace.cluster.
func (c *Config) checkReachable() []error {
	if len(c.Listeners) == 0 || len(c.AdvertisedListeners) > 0 && c.AdvertisedListeners[0].Host != "" {
		return nil
	}
	host, peer := c.Listeners[0].Host, c.Cluster.Host()
	everywhere := host == "" || IsMetaAddress(host)
	switch {
	case everywhere && peer == "":
		return []error{c.problem("advertised.listeners", "expected an address at which the other brokers of the cluster reach this one")}
	case !everywhere && isLoopback(host) && peer != "" && !isLoopback(peer):
		return []error{c.problem("listeners", host+" is this machine only, and the cluster is on several; expected an address that the other brokers reach")}
	}
	return nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}
