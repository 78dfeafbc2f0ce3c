package txn

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/golden"
)

// The golden scripts in testdata drive a machine line by line:
//
//	# a comment
//	> +3000 tick
//	  markers t 1/0 commit a/0
//
// A line with ">" is an event: an advance of time in milliseconds (optional), its kind, and key=value words. Flags are words
// without "=". The lines under it are the effects. Records are made durable at once, and markers written at once, unless
// `> manual` was said; then `> persisted 1`, `> persisted 1 err=NotCoordinator` and `> marked p=a/0 gone` do it. Producer ids
// are drawn from 1 on. go test -run TestScripts -update writes what happened.
func TestScripts(t *testing.T) { golden.Run(t, "testdata/*.txt", runScript) }

type script struct {
	t       *testing.T
	m       *Machine
	nowMs   int64
	tokens  int
	nextID  int64
	manual  bool
	log     []Record
	written map[PersistID][]Record // by hand
	out     strings.Builder
}

func runScript(t *testing.T, text string) string {
	s := &script{t: t, m: New(DefaultConfig()), nextID: 1, written: map[PersistID][]Record{}}
	s.m.Step(&Loaded{})
	golden.Replay(text, &s.out, s.run)
	return s.out.String()
}

// words are the arguments of one event.
type words map[string]string

func (w words) int(key string, otherwise int64) int64 {
	v, ok := w[key]
	if !ok {
		return otherwise
	}
	return int64(atoi(v))
}

func (w words) has(key string) bool { _, ok := w[key]; return ok }

func (w words) or(key, otherwise string) string {
	if v, ok := w[key]; ok {
		return strings.Trim(v, `"`)
	}
	return otherwise
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func (s *script) run(fields []string) {
	if advance, ok := strings.CutPrefix(fields[0], "+"); ok {
		s.nowMs += int64(atoi(advance))
		fields = fields[1:]
	}
	w := words{}
	for _, f := range fields[1:] {
		k, v, _ := strings.Cut(f, "=")
		w[k] = v
	}
	if len(fields) > 1 {
		w["1"] = fields[1]
	}
	if s.control(fields[0], w) {
		return
	}
	s.tokens++
	e := s.event(fields[0], w)
	e.Stamp(s.nowMs, w.or("as", fields[0]+strconv.Itoa(s.tokens)))
	s.step(e)
}

// control obeys what is for the script and not for the machine.
func (s *script) control(kind string, w words) bool {
	switch kind {
	case "manual":
		s.manual = true
	case "auto":
		s.manual = false
	case "deadline":
		fmt.Fprintf(&s.out, "  in %d ms\n", s.m.NextDeadline()-s.nowMs)
	case "epoch": // as if the id had been used that often
		s.m.byID[w.or("id", "t")].epoch = int16(w.int("1", 0))
	case "failover": // all that is in the log, in another machine
		unload, loaded := &Unload{}, &Loaded{}
		unload.Stamp(s.nowMs, nil)
		s.step(unload)
		s.m = New(s.m.config)
		for _, r := range s.log {
			if err := s.m.Load(r.Key, r.Value); err != nil {
				s.t.Fatal(err)
			}
		}
		loaded.Stamp(s.nowMs, nil)
		s.step(loaded)
	case "snapshot":
		s.log = nil
		for r := range s.m.Snapshot {
			fmt.Fprintf(&s.out, "  %s\n", showRecord(r))
			s.log = append(s.log, r)
		}
	default:
		return false
	}
	return true
}

func (s *script) event(kind string, w words) Event {
	id := w.or("id", "t")
	producer, epoch := w.int("pid", 1), int16(w.int("epoch", 0))
	switch kind {
	case "init":
		return &Init{TransactionalID: id, TimeoutMs: int32(w.int("timeout", 60_000)),
			ProducerID: w.int("pid", None), ProducerEpoch: int16(w.int("epoch", None))}
	case "add", "verify":
		return &Add{TransactionalID: id, ProducerID: producer, ProducerEpoch: epoch, Version: int8(w.int("v", 0)),
			Partitions: partitions(w["p"]), VerifyOnly: kind == "verify"}
	case "commit", "abort":
		return &End{TransactionalID: id, ProducerID: producer, ProducerEpoch: epoch, Version: int8(w.int("v", 0)),
			Commit: kind == "commit"}
	case "describe":
		return &Describe{TransactionalID: id}
	case "list":
		return s.list(w)
	case "marked":
		e := &Marked{TransactionalID: id, ProducerID: producer, ProducerEpoch: epoch}
		outcome := MarkerWritten
		switch {
		case w.has("gone"):
			outcome = MarkerGone
		case w.has("retry"):
			outcome = MarkerRetry
		case w.has("fenced"):
			outcome = MarkerFenced
		}
		for _, p := range partitions(w["p"]) {
			e.Results = append(e.Results, MarkedPartition{p, outcome})
		}
		return e
	case "tick":
		return &Tick{}
	case "unload":
		return &Unload{}
	case "persisted":
		if id := PersistID(w.int("1", 0)); !w.has("err") {
			s.log = append(s.log, s.written[id]...)
		}
		return &Persisted{ID: PersistID(w.int("1", 0)), Err: errorNamed(w["err"])}
	}
	s.t.Fatalf("unknown event %q", kind)
	return nil
}

func (s *script) list(w words) Event {
	e := &List{DurationMs: w.int("longer", -1), FilterState: w.has("state")}
	if state, ok := StateNamed(w["state"]); ok {
		e.States = append(e.States, state)
	}
	if w.has("pid") {
		e.ProducerIDs = []int64{w.int("pid", 0)}
	}
	if w.has("like") {
		e.Pattern = regexp.MustCompile(`\A(?:` + w["like"] + `)\z`)
	}
	return e
}

func partitions(list string) (all []Partition) {
	for p := range strings.SplitSeq(list, ",") {
		if topic, index, ok := strings.Cut(p, "/"); ok {
			all = append(all, Partition{topic, int32(atoi(index))})
		}
	}
	return all
}

func (s *script) step(e Event) {
	var follow []Event
	for _, f := range slices.Clone(s.m.Step(e)) {
		fmt.Fprintf(&s.out, "  %s\n", showEffect(f))
		switch f.Kind {
		case EffectProducerID:
			e.DrawnProducerID(s.nextID)
			s.nextID++
			follow = append(follow, e)
		case EffectPersist:
			if s.manual {
				s.written[f.ID] = f.Records
				continue
			}
			s.log = append(s.log, f.Records...)
			follow = append(follow, &Persisted{ID: f.ID})
		case EffectMarkers:
			if !s.manual {
				k := f.Marker
				marked := &Marked{TransactionalID: k.TransactionalID, ProducerID: k.ProducerID, ProducerEpoch: k.ProducerEpoch}
				for _, p := range k.Partitions {
					marked.Results = append(marked.Results, MarkedPartition{p, MarkerWritten})
				}
				follow = append(follow, marked)
			}
		}
	}
	for _, e := range follow {
		e.Stamp(s.nowMs, e.head().Token)
		s.step(e)
	}
}

var errorNames = map[string]error{
	"CoordinatorNotAvailable": ErrCoordinatorNotAvailable, "NotCoordinator": ErrNotCoordinator,
	"InvalidRequest": ErrInvalidRequest, "InvalidTxnState": ErrInvalidTxnState,
	"InvalidProducerIDMapping": ErrInvalidProducerIDMapping, "InvalidTransactionTimeout": ErrInvalidTransactionTimeout,
	"ConcurrentTransactions": ErrConcurrentTransactions, "ProducerFenced": ErrProducerFenced,
	"TransactionalIDNotFound": ErrTransactionalIDNotFound, "TransactionAbortable": ErrTransactionAbortable,
	"UnknownServerError": ErrUnknownServerError,
}

func errorNamed(name string) error {
	if name == "" {
		return nil
	}
	return errorNames[name]
}

func errorName(err error) string {
	for name, e := range errorNames {
		if errors.Is(err, e) {
			return name
		}
	}
	return fmt.Sprint(err)
}
