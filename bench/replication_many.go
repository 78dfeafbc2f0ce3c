package bench

import (
	"context"
	"time"

	"millrace/bench/report"
	"millrace/bench/wire"
)

const manyPartitions = 10_000

// many looks at a cluster of very many partitions: how soon they are led, what they cost when idle, how soon the leaders of a killed
// node are others, and how soon all are led again when all processes have been killed and are started anew.
func (r *Replication) many(ctx context.Context, c *report.Case) error {
	c.Parameters["partitions"] = manyPartitions
	r.dropCluster()
	k, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer r.dropCluster()
	conn, err := wire.Dial(k.Nodes[0].Addr, adminTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	if _, err := conn.CreateTopics(wire.TopicSpec{Name: "many", Partitions: manyPartitions, Replicas: 3,
		Configs: map[string]string{"min.insync.replicas": "2"}}); err != nil {
		return err
	}
	for _, n := range k.Nodes {
		if err := n.AwaitHealth(ctx, wholeLimit, func(h *wire.Health) bool { return h.Partitions >= manyPartitions && h.NoLeader == 0 }); err != nil {
			return err
		}
	}
	f := report.Figures{"create_topics_ms": ms(time.Since(began))}
	if err := k.AwaitWhole(ctx, manyPartitions, wholeLimit); err != nil {
		return err
	}
	f["all_in_sync_ms"] = ms(time.Since(began))
	if err := pause(ctx, 3*time.Second); err != nil { // of what is still going on
		return err
	}
	before, span := k.Usage(), time.Duration(r.rounds(4, 10))*time.Second
	if err := pause(ctx, span); err != nil {
		return err
	}
	used := k.Usage().Since(before)
	f["idle_cpu_percent"], f["rss_bytes"] = 100*used.CPU.Seconds()/span.Seconds(), float64(k.Usage().RSSBytes)

	victim, began := k.Nodes[1], time.Now()
	victim.Kill()
	if err := k.Nodes[0].AwaitHealth(ctx, wholeLimit, func(h *wire.Health) bool { return h.Led[victim.ID] == 0 && h.NoLeader == 0 }); err != nil {
		return err
	}
	f["leaders_moved_ms"] = ms(time.Since(began))
	for _, n := range k.Nodes {
		if n.Alive() {
			n.Kill()
		}
	}
	began = time.Now()
	for _, n := range k.Nodes {
		if err := n.Launch(); err != nil {
			return err
		}
	}
	for _, n := range k.Nodes {
		if err := n.AwaitHealth(ctx, wholeLimit, func(h *wire.Health) bool { return h.Partitions >= manyPartitions && h.NoLeader == 0 }); err != nil {
			return err
		}
	}
	f["all_leaders_ms"] = ms(time.Since(began))
	for _, n := range k.Nodes {
		if err := n.AwaitReady(ctx); err != nil {
			return err
		}
	}
	f["all_ready_ms"] = ms(time.Since(began))
	c.Result("millrace").Add(f, nil)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
