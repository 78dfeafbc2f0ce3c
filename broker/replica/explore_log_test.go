package replica_test

import "slices"

// memlog is a log without bytes: what a machine's effects are carried out on in these tests. It is written from the rules of
// the epoch cache and not from broker/plog, so that it can't share a mistake with it.
type memlog struct {
	start   int64
	records []record // from start on
	epochs  []epochStart
	broken  bool // epochs went back, where broker/plog would panic
}

// record is an epoch and a value that nobody else has.
type record struct {
	epoch int32
	value int64
}

type epochStart struct {
	epoch  int32
	offset int64
}

func (l *memlog) end() int64 { return l.start + int64(len(l.records)) }

func (l *memlog) at(offset int64) record { return l.records[offset-l.start] }

func (l *memlog) begin(epoch int32) {
	if n := len(l.epochs); n > 0 {
		switch last := l.epochs[n-1]; {
		case last.epoch == epoch:
			return
		case last.epoch > epoch:
			l.broken = true
			return
		case last.offset == l.end():
			l.epochs = l.epochs[:n-1]
		}
	}
	l.epochs = append(l.epochs, epochStart{epoch, l.end()})
}

func (l *memlog) append(r record) {
	l.begin(r.epoch)
	l.records = append(l.records, r)
}

func (l *memlog) truncate(to int64) {
	l.records = l.records[:to-l.start]
	l.epochs = slices.DeleteFunc(l.epochs, func(e epochStart) bool { return e.offset >= to })
}

func (l *memlog) trim(to int64) {
	l.records = slices.Clone(l.records[to-l.start:])
	l.start = to
	for len(l.epochs) > 1 && l.epochs[1].offset <= to {
		l.epochs = slices.Delete(l.epochs, 0, 1)
	}
	if len(l.epochs) > 0 {
		l.epochs[0].offset = max(l.epochs[0].offset, to)
	}
}

func (l *memlog) reset(at int64) { *l = memlog{start: at} }

// EpochEnd: see replica.Epochs.
func (l *memlog) EpochEnd(epoch int32) (int32, int64) {
	n := len(l.epochs)
	if n == 0 || epoch < 0 || epoch > l.epochs[n-1].epoch {
		return -1, -1
	}
	found, end := epoch, l.epochs[0].offset
	for i, e := range l.epochs {
		if e.epoch <= epoch {
			found, end = e.epoch, l.end()
			if i+1 < n {
				end = l.epochs[i+1].offset
			}
		}
	}
	return found, end
}

// BatchStart: each record is a batch.
func (l *memlog) BatchStart(offset int64) int64 { return offset }

// EpochAt: see replica.Epochs.
func (l *memlog) EpochAt(offset int64) int32 {
	found := int32(-1)
	for _, e := range l.epochs {
		if e.offset <= offset {
			found = e.epoch
		}
	}
	return found
}
