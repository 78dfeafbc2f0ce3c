// Package sim is a whole cluster in one goroutine, on a clock of its own: the brokers' real step machines (packages replica and
// group), the real logs (plog), the real controller (package controller, planning on real images), and around them a network, a
// store of metadata, producers and consumers that are simulated. What happens next is drawn from a seed.
//
//	f := sim.Run(sim.Options{Seed: 17, Steps: 500, Pool: pool}, &tally) // nil, or what went wrong
//	fmt.Println(f.Shrink().Story())
//
// # What happens
//
// A run is a list of actions, one at a time: deliver the second fetch on its way from broker 3 to broker 1, let broker 2 crash,
// 40 ms later. Actions name what they are about so that the list may be shortened and still makes sense; that is how a finding
// of five hundred actions becomes a story of thirty. Everything that isn't in the list is determined by it.
//
// Messages are delayed, reordered, doubled and lost; links are cut in one direction. Processes crash and lose their RAM, pause,
// restart before anybody has noticed; leases end though the broker lives; brokers are fenced early and wrongly; controllers
// change in the middle of a plan; the store goes away; brokers drain and leave; replicas move, there are more or fewer of them,
// min.insync.replicas changes; memory is full. In some runs replicas compact their logs, each by itself.
//
// # What is checked
//
// After each action, by someone who sees everything (oracle.go): what was committed is held by whoever leads or may be elected,
// in that loss generation; an offset has one value, for ever; a loss is declared only when as many brokers have lost their RAM at
// once as min.insync.replicas says; high watermarks rise; entries of ISRs are of the life that is registered; what is
// acknowledged is committed, groups' offsets too; idempotent producers leave no gap and no duplicate; consumers see neither. At
// the end of every second run all faults are taken away, and the cluster has to be whole, and to take writes, within healMs.
//
// # What is a model here, and may hide a bug
//
// The code around the machines: broker (which drives them), central (commands over the store) and the stores. They follow the
// same rules in less code. What brokers remember of producers is kept whole, not five batches (sequences.go).
//
// Package replica has an exploration of its own, with a log and a controller that are written anew: it shares no mistake with them,
// and is faster. Whether either sees anything is told by make mutants.
//
// The files in reading order: world.go, action.go, network.go; process.go, partition.go, coordinator.go, central.go, store.go;
// client.go; oracle.go; heal.go, run.go.
package sim
