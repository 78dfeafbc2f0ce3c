package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
)

const (
	prefixDefault = "millrace/"
	txnMaxDefault = 128 // etcd's --max-txn-ops
)

// Options of Open.
type Options struct {
	// Endpoints are etcd's client addresses: host:port, http(s)://host:port or
	// unix:///path. Required. Those of all members, so that one may fail.
	Endpoints []string

	TLS                *tls.Config // nil: none, or the system's roots for https://
	Username, Password string      // "": no authentication

	Prefix      string        // of all keys, default "millrace/"; a '/' is added at its end
	DialTimeout time.Duration // how long Open tries to reach etcd, default 5 s
	TxnMax      int           // etcd's --max-txn-ops, default 128; two are used by the store itself
	Log         *zap.Logger   // nil: none
}

func (o Options) withDefaults() (Options, error) {
	if len(o.Endpoints) == 0 {
		return o, errors.New("etcd: no endpoint")
	}
	for _, e := range o.Endpoints {
		if o.TLS != nil && strings.HasPrefix(e, "http://") {
			return o, fmt.Errorf("etcd: endpoint %s would be spoken to without TLS, but TLS is configured: write https://", e)
		}
	}
	if (o.Username == "") != (o.Password == "") {
		return o, errors.New("etcd: a user name needs a password, and a password a user name")
	}
	if o.Prefix == "" {
		o.Prefix = prefixDefault
	}
	if !strings.HasSuffix(o.Prefix, "/") {
		o.Prefix += "/"
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = dialTimeoutDefault
	}
	if o.TxnMax == 0 {
		o.TxnMax = txnMaxDefault
	}
	if o.TxnMax <= ownOps {
		return o, fmt.Errorf("etcd: %d operations in a transaction are too few", o.TxnMax)
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o, nil
}

// TLSFiles names PEM files: who we are, and whom we believe.
type TLSFiles struct {
	CertFile, KeyFile string // our certificate; both or neither
	CAFile            string // what signed the other side's; "": the system's roots
}

// ClientConfig is for Options.TLS.
func (f TLSFiles) ClientConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", f.CAFile)
		}
	}
	if f.CertFile != "" || f.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

// EmbeddedOptions of StartEmbedded.
type EmbeddedOptions struct {
	// Name is this member's, one of Cluster's. Required.
	Name string

	// Cluster is the host:port of every member's peer listener, by name: 1, 3, 5
	// or 7 of them, the same on all. It is the one port that members need of each
	// other. Required.
	Cluster map[string]string

	// PeerListen is where this member listens for its peers, if that isn't its
	// address in Cluster (behind a port mapping). host:port.
	PeerListen string

	// ClientListen is host:port for etcd's clients. "", the default: a unix socket
	// that this system user alone can reach.
	ClientListen string

	// TLS is for peers, both ways, and for ClientListen; both then ask for a
	// certificate that CAFile has signed. nil: none.
	TLS *TLSFiles

	// DataDir holds etcd's data: metadata only. "": a temporary one, which Close
	// removes; the member then has no data at its next start.
	DataDir string

	// HeartbeatInterval and ElectionTimeout are etcd's: a member that heard
	// nothing from the leader for one to two timeouts has itself elected. Defaults
	// 100 ms and 600 ms, for one data centre.
	HeartbeatInterval, ElectionTimeout time.Duration

	Log *zap.Logger // nil: none
}

const (
	heartbeatDefault = 100 * time.Millisecond
	electionDefault  = 600 * time.Millisecond
	membersMax       = 7 // etcd's own advice
)

func (o EmbeddedOptions) withDefaults() (EmbeddedOptions, error) {
	own, ok := o.Cluster[o.Name]
	switch n := len(o.Cluster); {
	case o.Name == "" || !ok:
		return o, fmt.Errorf("etcd: member %q isn't in the cluster %v", o.Name, o.Cluster)
	case n%2 == 0 || n > membersMax:
		return o, fmt.Errorf("etcd: a cluster of %d members; 1, 3, 5 or 7 are possible (an even number outlives no more failures than one less)", n)
	}
	users := make(map[string]string)
	for name, addr := range o.Cluster {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" || port == "" || port == "0" {
			return o, fmt.Errorf("etcd: the peer address %q of member %s isn't host:port", addr, name)
		}
		if strings.ContainsAny(name, "=,") {
			return o, fmt.Errorf("etcd: member name %q: '=' and ',' can't be in it", name)
		}
		if other, taken := users[addr]; taken {
			return o, fmt.Errorf("etcd: members %s and %s have the same peer address %s", name, other, addr)
		}
		users[addr] = name
	}
	if o.PeerListen == "" {
		o.PeerListen = own
	}
	if o.HeartbeatInterval <= 0 {
		o.HeartbeatInterval = heartbeatDefault
	}
	if o.ElectionTimeout <= 0 {
		o.ElectionTimeout = max(electionDefault, 6*o.HeartbeatInterval)
	}
	if o.ElectionTimeout < 5*o.HeartbeatInterval {
		return o, fmt.Errorf("etcd: an election timeout of %v is less than 5 heartbeat intervals of %v", o.ElectionTimeout, o.HeartbeatInterval)
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o, nil
}
