package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippet is a block of code in the README that says how it is run.
var snippet = regexp.MustCompile("(?s)<!-- run: ([a-z]+) -->\n```[a-z+]*\n(.*?)```")

// Every client snippet of the README runs as it stands there, but for the server's address.
func TestReadmeSnippets(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := Shared(t)
	runners := map[string]func(*testing.T, string){
		"sh": runShell, "python": runPython, "java": runJava, "cpp": runCPP, "node": runNode, "go": runGo, "embed": runEmbedded,
	}
	seen := 0
	for _, m := range snippet.FindAllStringSubmatch(string(text), -1) {
		kind, code := m[1], strings.ReplaceAll(m[2], "127.0.0.1:9092", s.Bootstrap[0])
		run, known := runners[kind]
		if !known {
			t.Errorf("nobody knows how to run %q", kind)
			continue
		}
		seen++
		t.Run(kind, func(t *testing.T) { run(t, code) })
	}
	if seen < len(runners) {
		t.Errorf("%d snippets were found, at least %d are there", seen, len(runners))
	}
}

// inFile writes code into a folder of its own.
func inFile(t *testing.T, name, code string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantOutput(t *testing.T, out Output, want string) {
	t.Helper()
	if !strings.Contains(out.Stdout, want) {
		t.Errorf("it printed %q, which has no %q", out.Stdout, want)
	}
}

func runShell(t *testing.T, code string) {
	needTool(t, "kcat")
	wantOutput(t, Run(t, Program{Args: []string{"sh", "-e", inFile(t, "snippet.sh", code)}}), "hello=world")
}

func runPython(t *testing.T, code string) {
	wantOutput(t, Run(t, Program{Args: []string{Python(t), inFile(t, "snippet.py", code)}}), "b'")
}

func runJava(t *testing.T, code string) {
	path := inFile(t, "Greetings.java", code)
	wantOutput(t, Run(t, Program{Args: append(Java(t), path)}), "=")
}

func runCPP(t *testing.T, code string) {
	path := inFile(t, "snippet.cpp", code)
	program := strings.TrimSuffix(path, ".cpp")
	Run(t, Program{Args: []string{needTool(t, "g++"), "-std=c++17", "-o", program, path, "-lrdkafka++"}})
	wantOutput(t, Run(t, Program{Args: []string{program}}), "sent")
}

func runNode(t *testing.T, code string) {
	wantOutput(t, Run(t, Program{Args: []string{Node(t), inFile(t, "snippet.js", code)}}), "partition")
}

func runGo(t *testing.T, code string) {
	wantOutput(t, Run(t, goProgram(t, ".", code)), "partition")
}

// runEmbedded puts the lines into a program of the server's own module.
func runEmbedded(t *testing.T, code string) {
	Run(t, goProgram(t, "..", "package main\n\nimport \"millrace\"\n\nfunc main() {\n"+code+"\n_, _ = b, err\n}\n"))
}

// goProgram is a program that is run inside of a module, for its dependencies.
func goProgram(t *testing.T, module, code string) Program {
	t.Helper()
	dir, err := os.MkdirTemp(module, "tmp-readme-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return Program{Args: []string{"go", "-C", module, "run", "./" + filepath.Base(dir)}, Timeout: 120e9}
}
