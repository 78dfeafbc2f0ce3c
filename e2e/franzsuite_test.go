package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// leftOut are franz-go's broker tests that are not run here, and why. What the client's tests skip by themselves, for want of an API in
// ApiVersions, is listed too, so that nothing is skipped unnoticed and an entry that is no longer true fails.
var leftOut = map[string]string{
	"TestConsumeRegexShareSkipsInternal":       "share groups",
	"TestShareGroup":                           "share groups",
	"TestShareGroupETL":                        "share groups",
	"TestShareGroupAckOnClose":                 "share groups",
	"TestShareGroupOffsetsAdmin":               "share groups",
	"TestSCRAMAuth":                            "SASL",
	"TestSCRAMAuthBadCredentials":              "SASL",
	"TestOAuthAuth":                            "SASL",
	"TestIssueProduceBrokerTooOldFailsRecords": "wants a broker that advertises no Produce 0-2; we do, as Apache Kafka does, for old librdkafka",
}

// franz-go's own tests, of the version that we depend on, against the shared server: replication factor 1, 50,000 records. They produce,
// chain consumer groups with all assignors, and look for lost, doubled and reordered records.
func TestFranzOwnSuite(t *testing.T) { franzSuite(t, Shared(t).List(), 1) }

// The same against three processes, with replication factor 3.
func TestFranzOwnSuiteReplicated(t *testing.T) {
	c := startCluster(t, embedded(t))
	franzSuite(t, strings.Join(c.seeds(), ","), 3)
}

func franzSuite(t *testing.T, seeds string, replicas int) {
	program, dir := buildFranzSuite(t)
	out, err := Program{
		Args: []string{program, "-test.v", "-test.timeout=300s"},
		Env: []string{"KGO_SEEDS=" + seeds, fmt.Sprint("KGO_TEST_RF=", replicas), "KGO_TEST_RECORDS=50000",
			"KGO_LOG_LEVEL=none"},
		Timeout: 320 * time.Second,
		Dir:     dir,
	}.run()
	report := regexp.MustCompile(`^\s*--- (PASS|SKIP|FAIL): (\S+)`)
	passed, skipped := 0, []string{}
	for lines := bufio.NewScanner(strings.NewReader(out.Stdout)); lines.Scan(); {
		found := report.FindStringSubmatch(lines.Text())
		switch {
		case found == nil:
		case found[1] == "PASS":
			passed++
		case found[1] == "SKIP":
			skipped = append(skipped, found[2])
		default:
			t.Errorf("failed: %s", found[2])
		}
	}
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, clip(out.Stdout), clip(out.Stderr))
	}
	checkLeftOut(t, skipped)
	t.Logf("%d tests of franz-go passed", passed)
}

// checkLeftOut holds what was skipped against the list.
func checkLeftOut(t *testing.T, skipped []string) {
	t.Helper()
	for _, name := range skipped {
		if leftOut[name] == "" && !External() {
			t.Errorf("%s was skipped, and the list does not say why", name)
		}
	}
	for name, why := range leftOut {
		if slices.Contains(skipped, name) {
			t.Logf("left out: %s: %s", name, why)
		} else if !External() {
			t.Errorf("%s was run, though the list says it can't be: %s", name, why)
		}
	}
}

// buildFranzSuite compiles the client's tests from a copy of its module, since the module cache is read-only.
func buildFranzSuite(t *testing.T) (program, dir string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/twmb/franz-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "franz-go")
	if err := os.CopyFS(copied, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(copied) })
	program, dir = filepath.Join(copied, "kgo.test"), filepath.Join(copied, "pkg", "kgo")
	build := exec.Command("go", "test", "-c", "-trimpath", "-o", program, ".") // -trimpath: the build cache knows it again in another folder
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program, dir
}
