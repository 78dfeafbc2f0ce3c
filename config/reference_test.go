package config

import (
	"strings"
	"testing"

	"millrace/golden"
)

func TestReference(t *testing.T) {
	text := Reference()
	golden.File(t, "../docs/config.md", text)
	for _, k := range append(Keys(), TopicKeys()...) {
		if !strings.Contains(text, "| `"+k.Name+"` |") {
			t.Errorf("%s is missing", k.Name)
		}
	}
}
