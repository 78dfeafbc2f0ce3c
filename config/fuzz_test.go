package config

import (
	"strings"
	"testing"
)

// Whatever a file holds, it is read or refused; each entry's line lies within the file.
func FuzzProperties(f *testing.F) {
	for _, s := range []string{"", "a=b\n", "# c\\\na: b \\\r\n  c\r", "num.partitions = 3\n\n!x\nlisteners=PLAINTEXT://[::1]:1,\\\n  B://:2", "a\\u00e9=\\u12", "\ufeffa=${b}", "=", "\\", "a\\", "\x00", "key\\=x=1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pairs, problems := parseProperties(text)
		lines := 1 + strings.Count(string(text), "\n") + strings.Count(string(text), "\r")
		if len(pairs)+len(problems) > lines {
			t.Fatalf("%d entries in %d lines", len(pairs)+len(problems), lines)
		}
		for _, p := range pairs {
			if p.line < 1 || p.line > lines {
				t.Fatalf("%q stands in line %d of %d", p.name, p.line, lines)
			}
		}
		l := &loader{config: &Config{}, report: &Report{}}
		l.properties("f", text)
		if l.config.resolve() == nil {
			l.advise()
			l.config.DescribeAll()
		}
	})
}

// What is accepted as a listener is printed so that it is accepted again, the same.
func FuzzListener(f *testing.F) {
	for _, s := range []string{"PLAINTEXT://127.0.0.1:9092", "A://[::1]:0", "A://[fe80::1%lo]:1", "A://::1:9", "://", "A://:", "A://[]:1", "a://[::]:65535", "A://[::1%25]:1", "A://[::1% 0]:0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseListener(text)
		if err != nil {
			return
		}
		if strings.ContainsAny(l.Host, "[] /") || l.Port < 0 || l.Port > 65535 {
			t.Fatalf("%q: %+v", text, l)
		}
		again, err := ParseListener(l.String())
		if err != nil || again != l {
			t.Fatalf("%q: %v comes back as %v, %v", text, l, again, err)
		}
	})
}

// Topic configs come from any client.
func FuzzTopic(f *testing.F) {
	f.Add("retention.ms", "1")
	f.Add("cleanup.policy", "compact,,")
	f.Add("min.cleanable.dirty.ratio", "0x1p-2")
	f.Add("leader.replication.throttled.replicas", "0:1,*")
	f.Fuzz(func(t *testing.T, name, value string) {
		overrides := map[string]string{name: value}
		_, err := Default().Topic(overrides)
		if err2 := Default().ValidateTopic(map[string]*string{name: &value}); (err == nil) != (err2 == nil) {
			t.Fatalf("%v, but %v", err, err2)
		}
		Default().DescribeTopicAll(overrides)
	})
}
