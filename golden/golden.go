package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Update tells whether the files are to be rewritten.
func Update() bool { return *update }

// Run runs each of the files that a pattern finds, below the folder of the test, as a test of its own: what run makes of
// a file's text is to be that text. With -update it becomes it.
func Run(t *testing.T, pattern string, run func(t *testing.T, text string) (got string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			File(t, file, run(t, string(want)))
		})
	}
}

// File is for a file whose content is not what the test starts from: got is to be in it.
func File(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s differs (%v); run with -update and look at the diff. Got:\n%s", file, err, got)
	}
}

// Replay goes through a script whose events are lines that begin with ">", with their answers indented below them. Everything but
// the old answers is written to out, and event adds the new ones behind its line. words are what stands behind the ">".
func Replay(text string, out *strings.Builder, event func(words []string)) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if words, ok := strings.CutPrefix(line, ">"); ok {
			event(strings.Fields(words))
		}
	}
}
