package bench

import (
	"fmt"
	"strings"
	"time"
)

// Presets are the shapes that people measure brokers with, by name, so that figures can be held against theirs.
func Presets() []Case {
	preset := func(name, workload string, with func(*Params)) Case {
		w, err := FindWorkload(workload)
		if err != nil {
			panic(err)
		}
		p := w.Defaults()
		with(&p)
		return Case{Name: name, Workload: workload, Params: p}
	}
	return []Case{
		preset("1p1c", "produce", func(p *Params) { // one partition, 100 bytes, as fast as it goes
			p.Partitions, p.Connections, p.Depth, p.RecordBytes, p.BatchBytes = 1, 1, 5, 100, 16<<10
		}),
		preset("1p1c-e2e", "e2e", func(p *Params) {
			p.Partitions, p.Connections, p.RecordBytes, p.BatchBytes = 1, 1, 100, 100
		}),
		preset("16x1k-50k", "e2e", func(p *Params) { // 16 partitions, records of 1 KiB, 50,000 a second
			p.Partitions, p.Connections, p.RecordBytes, p.BatchBytes, p.Rate = 16, 16, 1<<10, 1<<10, 50000
		}),
		preset("100x4p4c", "partitions", func(p *Params) { // 100 partitions, four producers, a consumer of them all
			p.Partitions, p.Connections, p.Rate, p.BatchBytes, p.Depth = 100, 4, 0, 16<<10, 5
		}),
		preset("backlog-drain", "replay", func(*Params) {}),
		preset("acks-0", "produce", func(p *Params) { p.Acks = 0 }),
		preset("acks-1", "produce", func(p *Params) { p.Acks = 1 }),
		preset("acks-all", "produce", func(p *Params) { p.Acks = -1 }),
		preset("lz4", "produce", func(p *Params) { p.Codec, p.Acks = "lz4", -1 }),
		preset("zstd", "produce", func(p *Params) { p.Codec, p.Acks = "zstd", -1 }),
		preset("idempotent", "produce", func(p *Params) { p.Idempotent, p.Acks, p.Depth = true, -1, 5 }),
		preset("1000-connections", "produce", func(p *Params) { p.Connections, p.Depth, p.Partitions = 1000, 1, 64 }),
		preset("producer-perf-test", "produce", func(p *Params) { // the Java producer's defaults
			p.Client, p.RecordBytes, p.BytesMax = Java, 1000, 512<<20
		}),
		preset("start-up", "first", func(*Params) {}),
		preset("idle", "idle", func(p *Params) { p.Run = 5 * time.Second }),
	}
}

// FindPreset finds one by name.
func FindPreset(name string) (Case, error) {
	var names []string
	for _, c := range Presets() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Case{}, fmt.Errorf("no preset %q; there are %s", name, strings.Join(names, ", "))
}
