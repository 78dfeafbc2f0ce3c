package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// WriteAll writes results.json, results.csv, and for each case its plots and percentile files into a folder, which is
// made if needed.
func WriteAll(dir string, r *Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "results.json"), r.JSON); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "results.csv"), r.CSV); err != nil {
		return err
	}
	for _, c := range r.Cases {
		for _, res := range c.Results {
			if res.latency == nil || res.latency.TotalCount() == 0 {
				continue
			}
			path := filepath.Join(dir, fileName(c.Name+"-"+res.Target)+".hgrm")
			if err := writeFile(path, res.HGRM); err != nil {
				return err
			}
		}
	}
	return WritePlots(dir, r)
}

// WritePlots writes the SVG files of a report: NAME.svg, and NAME-latency.svg where there are histograms.
func WritePlots(dir string, r *Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range r.Cases {
		if err := writeFile(filepath.Join(dir, fileName(c.Name)+".svg"), func(w io.Writer) error { return Bars(w, c) }); err != nil {
			return err
		}
		if !c.hasLatency() {
			continue
		}
		path := filepath.Join(dir, fileName(c.Name)+"-latency.svg")
		if err := writeFile(path, func(w io.Writer) error { return Percentiles(w, c) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *Case) hasLatency() bool {
	for _, r := range c.Results {
		if r.latency != nil && r.latency.TotalCount() > 0 {
			return true
		}
	}
	return false
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return write(f)
}

// fileName makes a name of letters, digits and a few signs.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, s)
}

// JSON writes the report as schema.json describes it.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Read reads a report that JSON wrote. Its histograms are not in there.
func Read(rd io.Reader) (*Report, error) {
	var r Report
	d := json.NewDecoder(rd)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	if r.Schema != SchemaName {
		return nil, fmt.Errorf("schema %q, this reads %q", r.Schema, SchemaName)
	}
	return &r, nil
}

// CSV writes a row for each round of each target of each case, with a column for each known figure.
func (r *Report) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"case", "workload", "client", "target", "round"}
	for _, f := range Known {
		head = append(head, f.Name)
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, cs := range r.Cases {
		for _, res := range cs.Results {
			for i, round := range res.Rounds {
				row := []string{cs.Name, cs.Workload, cs.Client, res.Target, strconv.Itoa(i + 1)}
				for _, f := range Known {
					cell := ""
					if v, ok := round[f.Name]; ok {
						cell = strconv.FormatFloat(v, 'g', 8, 64)
					}
					row = append(row, cell)
				}
				if err := c.Write(row); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// HGRM writes the percentiles of all rounds as HdrHistogram's plotter reads them, in microseconds.
func (r *Result) HGRM(w io.Writer) error {
	_, err := r.latency.PercentilesPrint(w, 5, 1000)
	return err
}
