package txn

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWalk drives a machine with random producers, a log that refuses and is slow, markers that fail, and failovers, and holds
// it to what a transaction promises:
//
//   - each request is answered once;
//   - the markers of one decision agree, and a partition that was added to a transaction gets one, unless the add failed;
//   - what EndTxn was told to commit is committed, and a late EndTxn (KIP-890) ends nothing;
//   - when nothing disturbs any more, everything comes to rest.
func TestWalk(t *testing.T) {
	for seed := range uint64(400) {
		w := &walk{T: t, random: rand.New(rand.NewPCG(seed, 1)), nextID: 1, asked: map[int]Event{}, version: int8(2 * (seed % 2)),
			decided: map[string]string{}, added: map[string]bool{}}
		w.restart()
		for range 300 {
			w.act()
		}
		w.calm()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// walk is one run: one transactional id, whose producers know what they were told.
type walk struct {
	*testing.T
	random  *rand.Rand
	m       *Machine
	nowMs   int64
	version int8
	nextID  int64
	tokens  int
	asked   map[int]Event // by token; not answered yet
	log     []Record
	writes  []Effect // on their way into the log
	markers []Marker // on their way to the leaders

	producers []InitResult      // as they were told, the last is the newest
	decided   map[string]string // by decision and partition: the marker's kind
	added     map[string]bool   // by producer, epoch and partition: durable, and not marked yet
}

func (w *walk) restart() {
	if w.m != nil {
		w.step(&Unload{}, nil)
		if len(w.asked) != 0 {
			w.Errorf("not answered: %v", w.asked)
		}
	}
	// What was on its way may or may not have come to be durable, in its order.
	keep := 0
	if len(w.writes) > 0 {
		keep = w.random.IntN(len(w.writes) + 1)
	}
	for _, f := range w.writes[:keep] {
		w.log = append(w.log, f.Records...)
	}
	w.writes, w.markers = nil, nil
	w.m = New(DefaultConfig())
	for _, r := range w.log {
		if err := w.m.Load(r.Key, r.Value); err != nil {
			w.Fatal(err)
		}
	}
	w.step(&Loaded{}, nil)
}

func (w *walk) act() {
	switch w.random.IntN(14) {
	case 0:
		w.ask(&Init{TransactionalID: "t", TimeoutMs: 1 + w.random.Int32N(2000), ProducerID: None, ProducerEpoch: None})
	case 1:
		p := w.producer()
		w.ask(&Init{TransactionalID: "t", TimeoutMs: 1000, ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch})
	case 2, 3, 4:
		p := w.producer()
		w.ask(&Add{TransactionalID: "t", ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, Version: w.version,
			Partitions: []Partition{{"a", w.random.Int32N(3)}}})
	case 5, 6:
		p := w.producer()
		w.ask(&End{TransactionalID: "t", ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, Version: w.version,
			Commit: w.random.IntN(3) > 0})
	case 7, 8, 9:
		w.persist(w.random.IntN(8) > 0)
	case 10, 11, 12:
		w.mark(w.random.IntN(4) > 0)
	case 13:
		if w.random.IntN(6) == 0 {
			w.restart()
			return
		}
		w.nowMs += w.random.Int64N(600)
		w.step(&Tick{}, nil)
	}
}

// producer is one of the last few, so that old ones still speak.
func (w *walk) producer() InitResult {
	if len(w.producers) == 0 {
		return InitResult{1, 0}
	}
	return w.producers[max(0, len(w.producers)-1-w.random.IntN(3))]
}

func (w *walk) ask(e Event) {
	w.tokens++
	w.asked[w.tokens] = e
	w.step(e, w.tokens)
}

func (w *walk) persist(ok bool) {
	if len(w.writes) == 0 {
		return
	}
	f := w.writes[0]
	w.writes = w.writes[1:]
	if !ok {
		w.step(&Persisted{ID: f.ID, Err: ErrCoordinatorNotAvailable}, nil)
		return
	}
	w.log = append(w.log, f.Records...)
	w.step(&Persisted{ID: f.ID}, nil)
}

func (w *walk) mark(ok bool) {
	if len(w.markers) == 0 {
		return
	}
	k := w.markers[0]
	w.markers = w.markers[1:]
	e := &Marked{TransactionalID: "t", ProducerID: k.ProducerID, ProducerEpoch: k.ProducerEpoch}
	for _, p := range k.Partitions {
		outcome := MarkerWritten
		if !ok && w.random.IntN(2) == 0 {
			outcome = MarkerRetry
		} else {
			w.written(&k, p)
		}
		e.Results = append(e.Results, MarkedPartition{p, outcome})
	}
	w.step(e, nil)
}

// written checks a marker against those of the same decision, and notes it. Of version 2 the epoch names the decision; of
// version 0 the transaction's start does.
func (w *walk) written(k *Marker, p Partition) {
	kind := map[bool]string{true: "commit", false: "abort"}[k.Commit]
	decision := fmt.Sprint(k.ProducerID, "/", k.ProducerEpoch, " ", w.m.byID["t"].startMs)
	if k.Version == 2 {
		decision = fmt.Sprint(k.ProducerID, "/", k.ProducerEpoch)
	}
	if was, ok := w.decided[decision]; ok && was != kind {
		w.Errorf("%s: %s after %s", decision, kind, was)
	}
	w.decided[decision] = kind
	for epoch := range k.ProducerEpoch + 1 {
		delete(w.added, fmt.Sprint(k.ProducerID, "/", epoch, p))
	}
}

func (w *walk) step(e Event, token any) {
	e.Stamp(w.nowMs, token)
	var again bool
	for _, f := range w.m.Step(e) {
		switch f.Kind {
		case EffectReply:
			w.answered(f)
		case EffectPersist:
			w.writes = append(w.writes, f)
		case EffectMarkers:
			w.markers = append(w.markers, f.Marker)
		case EffectProducerID:
			again = true
		}
	}
	if again {
		e.DrawnProducerID(w.nextID)
		w.nextID++
		w.step(e, token)
	}
}

func (w *walk) answered(f Effect) {
	token := f.Token.(int)
	asked, ok := w.asked[token]
	if !ok {
		w.Errorf("token %d answered twice", token)
	}
	delete(w.asked, token)
	if f.Err != nil {
		return
	}
	switch e := asked.(type) {
	case *Init:
		w.producers = append(w.producers, *f.Result.(*InitResult))
	case *Add:
		w.added[fmt.Sprint(e.ProducerID, "/", e.ProducerEpoch, e.Partitions[0])] = true
	case *End:
		w.ended(e, f.Result.(*EndResult))
	}
}

// ended checks an EndTxn that succeeded: it is its own producer's last transaction that ends as it wanted.
func (w *walk) ended(e *End, r *EndResult) {
	if e.Version == 2 {
		if r.ProducerID != e.ProducerID || r.ProducerEpoch != e.ProducerEpoch+1 {
			w.Errorf("%d/%d ends as %+v", e.ProducerID, e.ProducerEpoch, r)
		}
		w.producers = append(w.producers, InitResult(*r))
	}
	if t := w.m.byID["t"]; (t.state == PrepareCommit || t.state == CompleteCommit) != e.Commit {
		w.Errorf("EndTxn commit=%v is answered, and the state is %v", e.Commit, t.state)
	}
}

// calm lets everything that is under way come to its end.
func (w *walk) calm() {
	for i := 0; len(w.writes) > 0 || len(w.markers) > 0 || w.m.byID["t"] != nil && (w.m.byID["t"].busy() || w.m.byID["t"].state == Ongoing); i++ {
		if i > 1000 {
			w.Fatalf("no rest: %+v", w.m.byID["t"])
		}
		w.persist(true)
		w.mark(true)
		w.nowMs += 50
		w.step(&Tick{}, nil)
	}
	if len(w.asked) > 0 {
		w.Errorf("not answered: %v", w.asked)
	}
	for p := range w.added {
		w.Errorf("%s was added and has no marker", p)
	}
}
