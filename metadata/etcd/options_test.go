package etcd

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	tests := []struct {
		o    Options
		want string // in the error; "": none
	}{
		{Options{Endpoints: []string{"h:1"}}, ""},
		{Options{}, "no endpoint"},
		{Options{Endpoints: []string{"h:1", "http://h:2"}, TLS: &tls.Config{}}, "without TLS"},
		{Options{Endpoints: []string{"h:1"}, Username: "u"}, "needs a password"},
		{Options{Endpoints: []string{"h:1"}, Password: "p"}, "needs a password"},
		{Options{Endpoints: []string{"h:1"}, TxnMax: 1}, "too few"},
	}
	for _, test := range tests {
		_, err := test.o.withDefaults()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.o, err, test.want)
		}
	}
	for prefix, want := range map[string]string{"": "millrace/", "x": "x/", "/y/": "/y/"} {
		if o, _ := (Options{Endpoints: []string{"h:1"}, Prefix: prefix}).withDefaults(); o.Prefix != want {
			t.Errorf("prefix %q becomes %q, want %q", prefix, o.Prefix, want)
		}
	}
}

func TestRecent(t *testing.T) {
	for version, want := range map[string]bool{
		"3.5.8": true, "3.5.21": true, "3.6.0": true, "3.7.3": true, "4.0.0": true, "3.10.0": true, "3.6.0-rc.1": true,
		"3.5.7": false, "3.4.33": false, "2.3.8": false, "": false, "3.5": false, "x.y.z": false,
	} {
		if got := recent(version); got != want {
			t.Errorf("recent(%q) = %v", version, got)
		}
	}
}

func TestTLSFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []TLSFiles{{CAFile: "nowhere"}, {CAFile: empty}, {CertFile: empty}, {CertFile: empty, KeyFile: empty}} {
		if _, err := f.ClientConfig(); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	if c, err := (TLSFiles{}).ClientConfig(); err != nil || c.RootCAs != nil {
		t.Errorf("no files: %v, %v", c, err)
	}
}
