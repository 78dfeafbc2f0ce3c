package broker

import "millrace/slab"

// Memory is what the process' memory for records is used for; all its brokers share it.
func (b *Broker) Memory() slab.Stats { return b.deps.Slabs.Stats() }
