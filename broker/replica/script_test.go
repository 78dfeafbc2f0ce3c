package replica_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"millrace/broker/replica"
	"millrace/golden"
)

// The golden scripts in testdata drive a machine line by line:
//
//	# a comment
//	> +30 fetch 2@b off=3 last=1 as=f
//	  answer fetch f: ok high 3 start 0
//
// A line with ">" is an event: an advance of time in milliseconds (optional), its kind, and key=value words. Members are
// broker@incarnation, the latter in hex; the machine is 1@a. The lines under it are the effects, which are carried out on a
// log without bytes. What an event doesn't say of metadata stays as it was. go test -run TestScripts -update writes what
// happened.
func TestScripts(t *testing.T) {
	golden.Run(t, "testdata/*.txt", func(_ *testing.T, text string) string { return runScript(text) })
}

type script struct {
	m        *replica.Machine
	log      *memlog
	metadata replica.Metadata
	position replica.Position // that was fetched from last
	arrived  []record
	nowMs    int64
	out      strings.Builder
}

var scriptSelf = replica.Member{Broker: 1, Incarnation: 0xa}

func scriptConfig() replica.Config {
	return replica.Config{Self: scriptSelf, LagTimeMaxMs: 100, AlterRetryMs: 50, FetchBackoffMs: 20, OffsetCeilingStep: 1000}
}

func newScript() *script {
	s := &script{log: &memlog{}}
	s.m = replica.New(scriptConfig(), s.log)
	s.metadata = replica.Metadata{PartitionEpoch: -1, Leader: scriptSelf, OffsetCeiling: 1000, MinISR: 2,
		Replicas: replicas("1@a,2@b,3@c", ""), ISR: members("1@a,2@b,3@c")}
	return s
}

func runScript(text string) string {
	s := newScript()
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
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (w words) has(key string) bool { _, ok := w[key]; return ok }

func (s *script) run(fields []string) {
	if advance, ok := strings.CutPrefix(fields[0], "+"); ok {
		n, err := strconv.Atoi(advance)
		if err != nil {
			panic(err)
		}
		s.nowMs += int64(n)
		fields = fields[1:]
	}
	w := words{}
	for i, f := range fields[1:] {
		k, v, pair := strings.Cut(f, "=")
		if !pair && i == 0 {
			k, v = "1", f
		}
		w[k] = v
	}
	if e := s.event(fields[0], w); e != nil {
		s.step(e)
	}
}

func (s *script) head() replica.Head { return replica.Head{NowMs: s.nowMs} }

func (s *script) event(kind string, w words) replica.Event {
	switch kind {
	case "resume": // with a log that another broker of the process had
		s.log = &memlog{start: w.int("start", 0)}
		for range w.int("records", 0) {
			s.log.append(record{epoch: int32(w.int("epoch", 0))})
		}
		s.m = replica.Resume(scriptConfig(), s.log, replica.Held{StartOffset: s.log.start, EndOffset: s.log.end(),
			HighWatermark: w.int("high", 0), LossGeneration: int32(w.int("gen", 0))})
	case "metadata":
		s.setMetadata(w)
		s.metadata.Head = s.head()
		return &s.metadata
	case "append":
		return s.append(w)
	case "await":
		return &replica.Await{Head: s.head(), Offset: w.int("1", s.log.end()), DeadlineMs: s.nowMs + w.int("timeout", 1000),
			Token: w["as"]}
	case "fetch":
		return &replica.Fetch{Head: s.head(), From: member(w["1"]), LeaderEpoch: int32(w.int("epoch", int64(s.m.LeaderEpoch()))),
			Offset: w.int("off", 0), LastEpoch: int32(w.int("last", -1)), Token: w["as"]}
	case "altered":
		return &replica.AlterAnswer{Head: s.head(), ID: uint64(w.int("1", 0)), Err: errorNamed(w["err"]),
			PartitionEpoch: int32(w.int("pe", 0))}
	case "log-start":
		s.log.trim(w.int("1", 0))
		return &replica.LogStart{Head: s.head(), Offset: s.log.start}
	case "answer":
		return s.answer(w)
	case "snapshot":
		return &replica.Snapshot{Head: s.head(), LeaderEpoch: int32(w.int("epoch", int64(s.m.LeaderEpoch()))),
			Err: errorNamed(w["err"]), StartOffset: w.int("start", 0), Token: w["as"]}
	case "tick":
		return &replica.Tick{Head: s.head()}
	case "stop":
		return &replica.Stop{Head: s.head()}
	default:
		s.look(kind, w)
	}
	return nil
}

// look prints what can be asked.
func (s *script) look(kind string, w words) {
	switch kind {
	case "admit":
		fmt.Fprintf(&s.out, "  %s\n", errorName(s.m.Admit(w.has("all"), int32(w.int("records", 1)))))
	case "offsets":
		fmt.Fprintf(&s.out, "  %s\n", errorName(s.m.CheckOffsets()))
	case "epoch":
		fmt.Fprintf(&s.out, "  %s\n", errorName(s.m.CheckEpoch(int32(w.int("1", 0)))))
	case "deadline":
		fmt.Fprintf(&s.out, "  in %d ms\n", s.m.NextDeadline()-s.nowMs)
	case "show":
		m := s.m
		fmt.Fprintf(&s.out, "  %v epoch %d/%d loss %d log %d…%d high %d waiting %d in ISR %v\n", m.Role(), m.LeaderEpoch(),
			m.PartitionEpoch(), m.LossGeneration(), m.StartOffset(), m.EndOffset(), m.HighWatermark(), m.Waiting(), m.InISR())
		if p, ok := m.Position(); ok {
			fmt.Fprintf(&s.out, "  fetching %s\n", showPosition(p))
		}
		if m.Role() == replica.Leader {
			fmt.Fprintf(&s.out, "  isr %s\n", showMembers(m.ISR(nil)))
		}
		for _, f := range m.Followers(nil) {
			fmt.Fprintf(&s.out, "  follower %s end %d in ISR %v behind %d ms\n", showMember(f.Member), f.EndOffset, f.InISR, f.BehindMs)
		}
	default:
		panic("unknown event " + kind)
	}
}

func (s *script) setMetadata(w words) {
	e := &s.metadata
	e.Revision = w.int("rev", e.Revision+1)
	e.PartitionEpoch = int32(w.int("pe", int64(e.PartitionEpoch)+1))
	e.LeaderEpoch = int32(w.int("epoch", int64(e.LeaderEpoch)))
	e.LossGeneration = int32(w.int("gen", int64(e.LossGeneration)))
	e.BaseOffset = w.int("base", e.BaseOffset)
	e.OffsetCeiling = w.int("ceiling", e.OffsetCeiling)
	e.MinISR = int(w.int("min", int64(e.MinISR)))
	if w.has("leader") {
		e.Leader = member(w["leader"])
	}
	if w.has("isr") {
		e.ISR = members(w["isr"])
	}
	if w.has("replicas") {
		e.Replicas = replicas(w["replicas"], "")
	}
	if w.has("fenced") {
		for i := range e.Replicas {
			e.Replicas[i].Fenced = strings.Contains(","+w["fenced"]+",", ","+strconv.Itoa(int(e.Replicas[i].Broker))+",")
		}
	}
}

// append is a produce: it asks for admission, appends, and for acks=all waits.
func (s *script) append(w words) replica.Event {
	n, all := w.int("1", 1), w.has("as")
	if err := s.m.Admit(all, int32(n)); err != nil {
		fmt.Fprintf(&s.out, "  refused: %s\n", errorName(err))
		return nil
	}
	for range n {
		s.log.append(record{epoch: s.m.LeaderEpoch()})
	}
	s.step(&replica.Appended{Head: s.head(), EndOffset: s.log.end()})
	if !all {
		return nil
	}
	return &replica.Await{Head: s.head(), Offset: s.log.end(), DeadlineMs: s.nowMs + w.int("timeout", 1000), Token: w["as"]}
}

// answer is a leader's, to the position that was asked for last, unless the script says otherwise.
func (s *script) answer(w words) replica.Event {
	e := &replica.FetchAnswer{Head: s.head(), Position: s.position, Err: errorNamed(w["err"]), Answer: replica.Answer{
		HighWatermark: w.int("high", 0), LogStart: w.int("start", 0), DivergingEpoch: int32(w.int("diverging", -1)),
		DivergingEnd: w.int("end", -1)}}
	e.Position.Offset = w.int("off", e.Position.Offset)
	e.Position.LastEpoch = int32(w.int("last", int64(e.Position.LastEpoch)))
	e.Position.LeaderEpoch = int32(w.int("epoch", int64(e.Position.LeaderEpoch)))
	s.arrived = nil
	for batch := range strings.SplitSeq(w["records"], ",") { // number:epoch
		if n, epoch, ok := strings.Cut(batch, ":"); ok {
			for range (words{"n": n}).int("n", 0) {
				s.arrived = append(s.arrived, record{epoch: int32(words{"e": epoch}.int("e", 0))})
			}
		}
	}
	e.Records = len(s.arrived) > 0
	if w.has("room") { // for so many
		s.arrived = s.arrived[:w.int("room", 0)]
		s.arrived = append(s.arrived, record{epoch: full})
	}
	return e
}

const full = -7 // a record for which there is no memory

func (s *script) step(e replica.Event) {
	appending := false
	for _, f := range s.m.Step(e) {
		fmt.Fprintf(&s.out, "  %s\n", showEffect(f))
		switch f.Kind {
		case replica.EffectAppend:
			appending = true
		case replica.EffectFetch:
			s.position = f.Position
		case replica.EffectBeginEpoch:
			s.log.begin(f.LeaderEpoch)
		case replica.EffectTruncate:
			s.log.truncate(f.Offset)
		case replica.EffectTrim:
			s.log.trim(f.Offset)
		case replica.EffectReset, replica.EffectInstallSnapshot:
			s.log.reset(f.Offset)
		}
	}
	if appending {
		done := &replica.Replicated{Head: s.head()}
		for _, r := range s.arrived {
			if r.epoch == full {
				done.Err = errFull
				break
			}
			s.log.append(r)
		}
		done.EndOffset = s.log.end()
		s.step(done)
	}
}

func member(s string) replica.Member {
	id, incarnation, ok := strings.Cut(s, "@")
	if !ok {
		return replica.NoMember
	}
	n, err := strconv.ParseUint(incarnation, 16, 64)
	if err != nil {
		panic(err)
	}
	return replica.Member{Broker: int32(words{"id": id}.int("id", 0)), Incarnation: n}
}

func members(s string) (list []replica.Member) {
	for part := range strings.SplitSeq(s, ",") {
		if part != "" {
			list = append(list, member(part))
		}
	}
	return list
}

func replicas(s, fenced string) (list []replica.Replica) {
	for _, m := range members(s) {
		list = append(list, replica.Replica{Member: m, Fenced: strings.Contains(fenced, strconv.Itoa(int(m.Broker)))})
	}
	return list
}
