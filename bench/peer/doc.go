// Package peer starts what is measured and what it is compared with, each as a process of its own on 127.0.0.1, and
// stops it again. Nothing is a prebuilt download: each comes out of a package registry.
//
//	floor     this binary itself, see package bench/floor
//	millrace  the binary at Config.Millrace
//	kfake     Go module, built from the nested module bench/peers/kfake
//	nats      Go module, built from the nested module bench/peers/nats; JetStream, streams in memory
//	kafka     Apache Kafka 4.x: jars from Maven (kafka/pom.xml), one combined node, its log on a tmpfs
//	redis     Debian's redis-server; streams, no persistence
//
// Anything that already runs is measured as External. What is built or fetched is kept in Config.Cache.
//
//	p := peer.ByName("kafka"); p.Prepare(ctx, cfg)     fetch or build, once
//	t, err := p.Start(ctx, cfg, peer.Needs{})          the process, ready to serve
//	t.Bootstrap, t.Usage(), t.Goroutines(); t.Stop()
//
// # Ownership
//
// A Target belongs to whoever started it, who must Stop it: that ends the process (SIGTERM, after ten seconds SIGKILL),
// waits for it and removes its folder. A process that dies by itself is noticed by Alive and by the next Start or
// AwaitReady, which then give the end of its log.
//
// # Invariants
//
//   - Everything listens on 127.0.0.1 only, on ports that were free a moment ago.
//   - Settings that differ from a peer's defaults are in Target.Settings, and so in every report.
package peer
