package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/config.md")

func TestReference(t *testing.T) {
	const path = "../docs/config.md"
	text := Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(file) != text {
		t.Errorf("%s is not what the table says; run: go test ./config -run Reference -update", path)
	}
	for _, k := range append(Keys(), TopicKeys()...) {
		if !strings.Contains(text, "| `"+k.Name+"` |") {
			t.Errorf("%s is missing", k.Name)
		}
	}
}
