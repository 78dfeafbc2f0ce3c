package broker

// Coordinator hosts the group machine of one partition of __consumer_offsets, on that partition's worker.
type Coordinator struct{ partition *Partition }

func newCoordinator(p *Partition) *Coordinator { return &Coordinator{partition: p} }

func (c *Coordinator) load() {}

func (c *Coordinator) close() {}
