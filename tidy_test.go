package millrace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The house rules that a machine can check. A limit that gets in the way is answered by splitting by meaning, not by
// raising the limit.
const (
	fileLinesMax     = 800
	functionLinesMax = 70
	docLinesMin      = 20
	docLinesMax      = 60
)

// imports says which packages of this module each package may import, so that calls run one way: down. A package that
// is missing here may not exist. Test files may import more; they hold nothing up.
var imports = map[string][]string{
	"golden":              {},
	"slab":                {},
	"jobs":                {},
	"config":              {},
	"protocol":            {"slab"},
	"protocol/record":     {},
	"protocol/kafka":      {"protocol", "protocol/record", "slab"},
	"protocol/console":    {},
	"metadata":            {},
	"metadata/controller": {"metadata"},
	"metadata/memory":     {"metadata"},
	"metadata/central":    {"metadata", "metadata/controller", "jobs"},
	"metadata/etcd":       {"metadata"},
	"metadata/storetest":  {"metadata"},
	"broker/plog":         {"slab", "protocol", "protocol/record"},
	"broker/group":        {},
	"broker/replica":      {},
	"broker/txn":          {},
	"broker": {"slab", "jobs", "protocol", "protocol/record", "metadata", "config", "broker/plog",
		"broker/group", "broker/replica", "broker/txn"},
	"broker/sim": {"broker/replica", "broker/plog", "broker/group", "metadata", "metadata/controller", "protocol",
		"protocol/record", "slab"},
	"broker/link":       {"broker", "broker/replica", "broker/txn", "metadata", "protocol", "protocol/kafka"},
	"broker/brokertest": {"broker", "slab", "jobs", "metadata", "metadata/central", "metadata/memory", "config"},
	"broker/api": {"broker", "slab", "jobs", "protocol", "protocol/kafka", "protocol/record", "metadata", "config",
		"broker/group", "broker/plog", "broker/replica", "broker/txn", "metadata/controller"},
	"broker/console": {"broker", "protocol", "protocol/console", "protocol/record", "metadata", "config",
		"broker/group", "broker/plog", "jobs"},
	"reactor": {"slab", "jobs", "protocol"},
	"": {"slab", "jobs", "protocol", "metadata", "metadata/central", "metadata/memory", "metadata/etcd", "config",
		"broker", "broker/api", "broker/console", "broker/group", "broker/link", "protocol/console", "reactor"},
	"cmd/millrace": {"", "config", "protocol/console", "protocol/kafka"},
}

func TestTidy(t *testing.T) {
	docs := map[string]bool{}
	for _, path := range goFiles(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(src), "\n"); lines > fileLinesMax {
			t.Errorf("%s has %d lines, %d at most: split it by meaning", path, lines, fileLinesMax)
		}
		checkFunctions(t, set, file)
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = ""
		}
		if nested(dir) {
			continue
		}
		if _, known := imports[dir]; !known && !isBench(dir) {
			t.Errorf("package %q is not in the import table", dir)
		}
		if !strings.HasSuffix(path, "_test.go") {
			checkImports(t, dir, path, file)
		}
		if filepath.Base(path) == "doc.go" {
			docs[dir] = true
			checkDoc(t, path, set, file)
		}
	}
	for dir := range imports {
		if _, err := os.Stat(filepath.FromSlash(dir + ".")); err == nil && !docs[dir] {
			t.Errorf("package %q has no doc.go", dir)
		}
	}
}

// isBench: the load harness may import its own packages and protocol, whichever they are.
func isBench(dir string) bool { return dir == "bench" || strings.HasPrefix(dir, "bench/") }

// nested says that a folder belongs to a module of its own, which has the limits but not the import table.
func nested(dir string) bool {
	return strings.HasPrefix(dir, "e2e") || strings.HasPrefix(dir, "examples") || strings.HasPrefix(dir, "bench/peers")
}

func goFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" ||
			d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "tmp"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func checkFunctions(t *testing.T, set *token.FileSet, file *ast.File) {
	t.Helper()
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := set.Position(fn.Pos()), set.Position(fn.End())
		if lines := to.Line - from.Line + 1; lines > functionLinesMax {
			t.Errorf("%s:%d: %s has %d lines, %d at most", from.Filename, from.Line, fn.Name.Name, lines,
				functionLinesMax)
		}
	}
}

func checkImports(t *testing.T, dir, path string, file *ast.File) {
	t.Helper()
	for _, spec := range file.Imports {
		name := strings.Trim(spec.Path.Value, `"`)
		if name != "millrace" && !strings.HasPrefix(name, "millrace/") {
			continue
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "millrace"), "/")
		if isBench(dir) && (isBench(name) || name == "protocol") || dir == "cmd/millrace" && isBench(name) {
			continue // the harness talks to sockets, and to nothing of the broker; the command gives it its words
		}
		if !slices.Contains(imports[dir], name) {
			t.Errorf("%s: %q may not import %q", path, dir, name)
		}
	}
}

func checkDoc(t *testing.T, path string, set *token.FileSet, file *ast.File) {
	t.Helper()
	lines := set.Position(file.End()).Line
	if lines < docLinesMin || lines > docLinesMax {
		t.Errorf("%s has %d lines; a doc.go has %d to %d", path, lines, docLinesMin, docLinesMax)
	}
}
