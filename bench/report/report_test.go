package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"millrace/bench/proc"
)

// sample is a report with everything that a report can have.
func sample(t *testing.T) *Report {
	t.Helper()
	r := New("millrace bench produce", proc.Describe())
	r.AddTarget(Target{Name: "floor", About: "the least"})
	r.AddTarget(Target{Name: "millrace", About: "a broker", Version: "v1", Settings: []string{"a=b"}})
	r.AddTarget(Target{Name: "millrace", About: "again"})
	c := &Case{Name: "produce-64K", Workload: "produce", Client: "raw", Main: "server_cpu_s_per_gb",
		Parameters: map[string]any{"batch": "64K", "depth": 8, "rate": 1.5}, Results: []*Result{}}
	r.Cases = append(r.Cases, c)
	for i := range 5 {
		h := hdrhistogram.New(1000, 1e10, 3)
		for v := range int64(1000) {
			_ = h.RecordValue((v + 1) * 1000 * int64(i+1))
		}
		f := Figures{"server_cpu_s_per_gb": 0.2 + float64(i)/100, "records_per_s": 1000}
		f.SetLatency(h)
		c.Result("floor").Add(f, h)
		c.Result("millrace").Add(Figures{"server_cpu_s_per_gb": (0.2 + float64(i)/100) * 1.5, "rss_bytes": 1 << 24}, nil)
	}
	c.Result("kafka").Error = "it didn't start\nat all"
	return r
}

// TestSchema holds a whole report against schema.json, which is what others read the files by.
func TestSchema(t *testing.T) {
	b, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	check := func(change func(map[string]any)) error {
		var out bytes.Buffer
		if err := sample(t).JSON(&out); err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		change(doc)
		return validate(schema, schema, doc, "$")
	}
	if err := check(func(map[string]any) {}); err != nil {
		t.Errorf("a report doesn't keep to its schema: %v", err)
	}
	first := func(d map[string]any) map[string]any { return d["cases"].([]any)[0].(map[string]any) }
	for name, change := range map[string]func(map[string]any){
		"another schema":        func(d map[string]any) { d["schema"] = "x" },
		"no machine":            func(d map[string]any) { delete(d, "machine") },
		"something more":        func(d map[string]any) { d["more"] = 1.0 },
		"a date of another day": func(d map[string]any) { d["date"] = "yesterday" },
		"an unknown workload":   func(d map[string]any) { first(d)["workload"] = "dance" },
		"a figure that is text": func(d map[string]any) {
			first(d)["results"].([]any)[0].(map[string]any)["median"].(map[string]any)["rss_bytes"] = "much"
		},
		"half a core": func(d map[string]any) { d["machine"].(map[string]any)["cores"] = 0.5 },
	} {
		if check(change) == nil {
			t.Errorf("%s: the schema doesn't mind", name)
		}
	}
}

// validate knows the words of JSON Schema that schema.json uses, and no others.
func validate(root, schema map[string]any, v any, path string) error {
	for word, arg := range schema {
		var err error
		switch word {
		case "$schema", "title", "$defs":
		case "$ref":
			name := strings.TrimPrefix(arg.(string), "#/$defs/")
			err = validate(root, root["$defs"].(map[string]any)[name].(map[string]any), v, path)
		case "type":
			err = validateType(arg.(string), v)
		case "const":
			if v != arg {
				err = fmt.Errorf("is %v, not %v", v, arg)
			}
		case "enum":
			if !slices.Contains(arg.([]any), v) {
				err = fmt.Errorf("is %v, none of %v", v, arg)
			}
		case "pattern":
			if s, ok := v.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(s) {
				err = fmt.Errorf("%q doesn't match %s", s, arg)
			}
		case "minimum":
			if n, ok := v.(float64); ok && n < arg.(float64) {
				err = fmt.Errorf("%v is less than %v", n, arg)
			}
		case "items":
			for i, item := range v.([]any) {
				err = errors.Join(err, validate(root, arg.(map[string]any), item, fmt.Sprintf("%s[%d]", path, i)))
			}
		case "required", "properties", "additionalProperties", "propertyNames":
			err = validateObject(root, schema, word, v, path)
		default:
			err = fmt.Errorf("the test doesn't know the word %s", word)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func validateType(want string, v any) error {
	ok := false
	switch x := v.(type) {
	case string:
		ok = want == "string"
	case float64:
		ok = want == "number" || want == "integer" && x == float64(int64(x))
	case map[string]any:
		ok = want == "object"
	case []any:
		ok = want == "array"
	}
	if !ok {
		return fmt.Errorf("%v (%T) is no %s", v, v, want)
	}
	return nil
}

func validateObject(root, schema map[string]any, word string, v any, path string) error {
	object, ok := v.(map[string]any)
	if !ok {
		return nil // the type says so
	}
	properties, _ := schema["properties"].(map[string]any)
	if word == "required" {
		for _, name := range schema["required"].([]any) {
			if _, ok := object[name.(string)]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
		return nil
	}
	for name, value := range object {
		known, isKnown := properties[name].(map[string]any)
		var err error
		switch {
		case word == "propertyNames":
			err = validate(root, schema[word].(map[string]any), name, path+"."+name)
		case word == "properties" && isKnown:
			err = validate(root, known, value, path+"."+name)
		case word == "additionalProperties" && !isKnown:
			if schema[word] == false {
				return fmt.Errorf("%s isn't known", name)
			}
			err = validate(root, schema[word].(map[string]any), value, path+"."+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMediansAndRatios(t *testing.T) {
	c := sample(t).Cases[0]
	if got := c.Result("floor").Median["server_cpu_s_per_gb"]; got != 0.22 {
		t.Errorf("median %v", got)
	}
	if r, ok := c.Ratio("server_cpu_s_per_gb", "millrace", "floor"); !ok || r < 1.4999 || r > 1.5001 {
		t.Errorf("ratio %v, %v", r, ok)
	}
	for _, names := range [][2]string{{"millrace", "kafka"}, {"nobody", "floor"}} {
		if r, ok := c.Ratio("server_cpu_s_per_gb", names[0], names[1]); ok {
			t.Errorf("%v: a ratio of %v to nothing", names, r)
		}
	}
	for in, want := range map[string]float64{"": 0, "1": 1, "1 2": 1.5, "1 2 9": 2} {
		var v []float64
		for _, f := range strings.Fields(in) {
			var x float64
			_, _ = fmt.Sscan(f, &x)
			v = append(v, x)
		}
		if got := median(v); got != want {
			t.Errorf("median(%s) = %v, want %v", in, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	r, dir := sample(t), t.TempDir()
	if err := WriteAll(dir, r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"produce-64K.svg", "produce-64K-latency.svg"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(b))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	file, err := os.Open(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	back, err := Read(file)
	if err != nil || back.Cases[0].Result("floor").Median["latency_p50_us"] < 1000 {
		t.Errorf("%+v, %v", back, err)
	}
	hgrm, err := os.ReadFile(filepath.Join(dir, "produce-64K-floor.hgrm"))
	if err != nil || !strings.Contains(string(hgrm), "Percentile") || !strings.Contains(string(hgrm), "#[Max") {
		t.Errorf("%v: %s", err, hgrm)
	}
	var b bytes.Buffer
	if err := r.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 11 || len(rows[0]) != 5+len(Known) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestTexts(t *testing.T) {
	r := sample(t)
	var table, page bytes.Buffer
	if err := Table(&table, r.Cases[0]); err != nil {
		t.Fatal(err)
	}
	goals := []Goal{
		{Text: "cheap", Case: "produce-64K", Figure: "server_cpu_s_per_gb", Against: "floor", Limit: 1.6},
		{Text: "cheaper", Case: "produce-64K", Figure: "server_cpu_s_per_gb", Against: "floor", Limit: 1.1},
		{Text: "small", Case: "produce-64K", Figure: "rss_bytes", Limit: 16 << 20},
		{Text: "elsewhere", Case: "fetch", Figure: "rss_bytes", Limit: 1},
		{Text: "like itself", Case: "produce-64K", Figure: "rss_bytes", Base: "produce-64K", Limit: 1},
		{Text: "fast", Case: "produce-64K", Figure: "server_cpu_s_per_gb", Against: "floor", Limit: 3, AtLeast: true},
	}
	if err := Markdown(&page, r, goals, "## Notes\nby hand\n", "performance"); err != nil {
		t.Fatal(err)
	}
	for text, wants := range map[string][]string{
		table.String(): {"×1.50", "0.220 (0.200–0.240)", "kafka: it didn't start", "batch=64K depth=8", "16"},
		page.String(): {"| cheap | ≤ 1.60 × | 1.50 × | reached |", "| cheaper | ≤ 1.10 × | 1.50 × | **missed** |",
			"| small | ≤ 16 RSS MiB | 16 RSS MiB | reached |", "| elsewhere | ", "not measured", "by hand", "performance/produce-64K.svg",
			"| like itself | ≤ 1 × | 1 × | reached |", "| fast | ≥ 3 × | 1.50 × | **missed** |", "`a=b`"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in:\n%s", want, text)
			}
		}
	}
}

// TestPerfLine holds the line against the form that scripts cut kafka-producer-perf-test's output by.
func TestPerfLine(t *testing.T) {
	c := sample(t).Cases[0]
	line := PerfLine(c.Result("floor"), 4, 1024)
	form := regexp.MustCompile(`^4000 records sent, 1000\.0+ records/sec \(0\.98 MB/sec\), [\d.]+ ms avg latency, [\d.]+ ms max ` +
		`latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.$`)
	if !form.MatchString(line) {
		t.Errorf("line: %q", line)
	}
	if line := PerfLine(c.Result("millrace"), 4, 1024); line != "" {
		t.Errorf("without latencies: %q", line)
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		f    Figure
		v    float64
		want string
	}{{Figure{}, 0, "0"}, {Figure{}, 0.12345, "0.123"}, {Figure{}, 1.2345, "1.23"}, {Figure{}, 12.345, "12.3"},
		{Figure{}, 123.45, "123"}, {Figure{}, 1234567.8, "1234568"}, {Figure{Scale: 0.001}, 1500, "1.50"}} {
		if got := tt.f.Format(tt.v); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.v, got, tt.want)
		}
	}
}
