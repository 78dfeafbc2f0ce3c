package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryBytes(t *testing.T) {
	machine := func() int64 { return 8 << 30 }
	for text, want := range map[string]int64{
		"50%": 4 << 30, "100 %": 8 << 30, "1GiB": 1 << 30, "1.5g": 3 << 29, "64mb": 64 << 20, "67108864": 64 << 20, "2 TiB": 2 << 40, "65536k": 64 << 20,
		"101%": 0, "": 0, "GiB": 0, "1XiB": 0, "-1": 0, "1": 0, "1e3": 0, "99999999999TiB": 0, "0.0001%": 0, "1.2.3": 0,
	} {
		got, err := memoryBytes(text, machine)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	if n := machineBytes(); n < 64<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}

func TestCgroupBytes(t *testing.T) {
	for _, test := range []struct {
		name, self string
		files      map[string]string
		want       int64
	}{
		{"none", "0::/\n", nil, 0},
		{"v2", "0::/a/b\n", map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "1000\n", "memory.max": "2000\n"}, 1000},
		{"v2, high is lower", "0::/a\n", map[string]string{"a/memory.max": "1000\n", "a/memory.high": "900\n"}, 900},
		{"v2 seen from inside the container", "0::/\n", map[string]string{"memory.max": "512\n"}, 512},
		{"v1", "3:cpu:/x\n4:memory,hugetlb:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "300\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 300},
		{"v1 without a limit", "4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"garbage", "x\n::::\n0::../../..\n", map[string]string{"memory.max": "x"}, 0},
	} {
		root := t.TempDir()
		for name, text := range test.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		self := filepath.Join(root, "self")
		if err := os.WriteFile(self, []byte(test.self), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cgroupBytes(self, root); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
