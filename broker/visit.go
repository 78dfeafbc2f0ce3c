package broker

import "millrace/jobs"

// visit walks partitions like Produce and Fetch do, for operations that may allocate.
type visit struct {
	jobs.Link
	partitions []*Partition
	step       func(i int, p *Partition, err error)
	done       func()
	at         int
	on         *worker
}

// Visit calls step for each partition in order, on the worker that owns it, and then done. Where the partition is nil
// or cannot be used, step learns the error instead (p is then nil or not to be touched). Neither may block.
func Visit(partitions []*Partition, step func(i int, p *Partition, err error), done func()) {
	(&visit{partitions: partitions, step: step, done: done}).Run()
}

// Run carries on where the executor changed. Behind a Post nothing of v is touched: it may be over.
func (v *visit) Run() {
	for ; v.at < len(v.partitions); v.at++ {
		p := v.partitions[v.at]
		if p == nil {
			v.step(v.at, nil, ErrUnknownPartition)
			continue
		}
		if p.worker != v.on {
			v.on = p.worker
			if p.worker.Post(v) {
				return
			}
			v.on = nil
			v.step(v.at, nil, ErrNotLeader)
			continue
		}
		v.step(v.at, p, p.serving())
	}
	v.done()
}
