// Command chaos tortures a cluster of real processes, in a network of its own, with real clients on it, and then reads everything back
// and holds it against what the clients were told.
//
//	make chaos                      two minutes, a seed drawn at random and printed
//	make chaos MINUTES=60 SEED=7    an hour of a schedule that was seen before
//
// # What runs
//
// Three `millrace server` processes, each in a network namespace of its own, joined by a bridge (netns.go). Partitions and loss are rules
// of iptables in the namespaces; delay is a TCP proxy (proxy.go) that connections are turned to, as many kernels have no netem. Where
// namespaces may not be made, the processes share the loopback and the faults of the network are left out, which is said.
//
// Three phases (phases.go): nodes with an etcd in each and a data folder; the same without one, ended by the death of all, after which a
// new cluster begins; and nodes beside an external etcd, a process of this program in a namespace of its own (etcd.go).
//
// # What is done to it
//
// schedule.go deals faults from a deck that the seed shuffles: so each kind has its turn, and a seed replays the order, the nodes and
// the times that faults last. How long the cluster takes to recover is its own, so what else happens when differs from run to run.
// faults.go carries them out.
//
// # What is checked
//
// clients.go produces (acks=all and idempotent; acks=1), reads each partition, and reads in a group; history.go keeps what happened;
// checker.go judges, in Jepsen's words. A record that was acknowledged by all may be missing only below a loss that the servers declared,
// and they may declare one only if two nodes' RAM was away at the same time. A node's counts as away from its kill until every node says
// that all replicas are in sync again (watch.go).
package main
