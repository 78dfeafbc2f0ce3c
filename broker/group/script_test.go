package group

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"millrace/golden"
)

// The golden scripts in testdata drive a machine line by line:
//
//	# a comment
//	> +3000 tick
//	  changed g CompletingRebalance generation=1 members=2: join phase ended, 0 members missing
//
// A line with ">" is an event: an advance of time in milliseconds (optional), its kind, and key=value words. Flags are words
// without "=". The lines under it are the effects. Records are made durable at once unless `> manual` was said; then
// `> persisted 1` or `> persisted 1 err=NotCoordinator` does it. go test -run TestScripts -update writes what happened.
func TestScripts(t *testing.T) { golden.Run(t, "testdata/*.txt", runScript) }

type script struct {
	t      *testing.T
	m      *Machine
	nowMs  int64
	uuids  int
	tokens int
	manual bool
	load   []func(*Machine) error // the log
	topics testTopics
	out    strings.Builder
}

func runScript(t *testing.T, text string) string {
	s := &script{t: t, m: New(testConfig())}
	s.m.Step(&Loaded{})
	golden.Replay(text, &s.out, s.run)
	return s.out.String()
}

func testConfig() Config {
	c := DefaultConfig()
	c.OffsetMetadataMaxSize = 10
	return c
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

func (w words) or(key, otherwise string) string {
	if v, ok := w[key]; ok {
		return strings.Trim(v, `"`)
	}
	return otherwise
}

func (w words) optional(key string) *string {
	if v, ok := w[key]; ok {
		return new(strings.Trim(v, `"`))
	}
	return nil
}

func (s *script) run(fields []string) {
	if advance, ok := strings.CutPrefix(fields[0], "+"); ok {
		n, err := strconv.Atoi(advance)
		if err != nil {
			s.t.Fatal(err)
		}
		s.nowMs += int64(n)
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
	head := Head{NowMs: s.nowMs, Token: w.or("as", fields[0]+strconv.Itoa(s.tokens))}
	s.step(s.event(fields[0], w, head))
}

// control obeys what is for the script and not for the machine.
func (s *script) control(kind string, w words) bool {
	switch kind {
	case "config":
		c := &s.m.config
		c.MaxSize = int(w.int("max-size", int64(c.MaxSize)))
		c.ConsumerMaxSize = int(w.int("consumer-max-size", int64(c.ConsumerMaxSize)))
		c.InitialRebalanceDelayMs = w.int("delay", c.InitialRebalanceDelayMs)
		c.OffsetsRetentionMs = w.int("retention", c.OffsetsRetentionMs)
		c.OffsetsRetentionCheckIntervalMs = w.int("check", c.OffsetsRetentionCheckIntervalMs)
		s.m = New(*c)
		s.step(&Loaded{Head{NowMs: s.nowMs}})
	case "manual":
		s.manual = true
	case "topics":
		s.setTopics(w)
	case "deadline":
		fmt.Fprintf(&s.out, "  in %d ms\n", s.m.NextDeadline()-s.nowMs)
	case "failover": // all that is in the log, in another machine
		s.step(&Unload{Head{NowMs: s.nowMs}})
		s.m = New(s.m.config)
		s.m.topics = s.topics
		for _, load := range s.load {
			if err := load(s.m); err != nil {
				s.t.Fatal(err)
			}
		}
		s.step(&Loaded{Head{NowMs: s.nowMs}})
	case "snapshot":
		s.load = nil
		for r := range s.m.Snapshot {
			fmt.Fprintf(&s.out, "  %s\n", showRecord(r))
			s.append(Effect{Records: []Record{r}})
		}
	default:
		return false
	}
	return true
}

func (s *script) event(kind string, w words, head Head) Event {
	group := w.or("g", "g")
	switch kind {
	case "join":
		return s.joinEvent(w, head)
	case "sync":
		e := &Sync{Head: head, GroupID: group, MemberID: w.or("member", ""), InstanceID: w.optional("instance"),
			Generation: int32(w.int("gen", 1)), ProtocolType: w.optional("type"), ProtocolName: w.optional("protocol")}
		for pair := range strings.SplitSeq(w["assign"], ",") {
			if member, a, ok := strings.Cut(pair, ":"); ok {
				e.Assignments = append(e.Assignments, Assignment{member, []byte(a)})
			}
		}
		return e
	case "beat":
		return &Heartbeat{head, group, w.or("member", ""), w.optional("instance"), int32(w.int("gen", 1))}
	case "leave":
		e := &Leave{Head: head, GroupID: group}
		for who := range strings.SplitSeq(w["who"], ",") {
			member, instance, static := strings.Cut(who, "@")
			l := LeaveMember{MemberID: member, Reason: w["why"]}
			if static {
				l.InstanceID = &instance
			}
			e.Members = append(e.Members, l)
		}
		return e
	case "cbeat":
		return s.consumerEvent(w, head)
	case "cdescribe":
		return &DescribeConsumer{head, group}
	case "describe":
		return &Describe{head, group}
	case "delete":
		return &Delete{head, group}
	case "list":
		return &List{head, list(w["states"]), list(w["types"])}
	case "topic-deleted":
		return &TopicDeleted{head, w["1"]}
	case "tick":
		return &Tick{head}
	case "unload":
		return &Unload{head}
	case "persisted":
		return &Persisted{Head: head, ID: PersistID(w.int("1", 0)), Err: errorNamed(w["err"])}
	}
	return s.offsetEvent(kind, w, head)
}

func (s *script) joinEvent(w words, head Head) Event {
	s.uuids++
	e := &Join{
		Head: head, GroupID: w.or("g", "g"), MemberID: w.or("member", ""), InstanceID: w.optional("instance"),
		ClientID: w.or("client", "c"), ClientHost: w.or("host", "/1.1.1.1"), ConnectionID: uint64(w.int("conn", 0)),
		SessionTimeoutMs: int32(w.int("session", 10_000)), RebalanceTimeoutMs: int32(w.int("rebalance", 60_000)),
		ProtocolType: w.or("type", "consumer"), RequireMemberID: !w.has("old"), SkipAssignment: w.has("skip"),
		Reason: w["why"], NewMemberUUID: strconv.Itoa(s.uuids),
	}
	for p := range strings.SplitSeq(w.or("protocols", "range(t)"), ",") {
		name, topics, _ := strings.Cut(strings.TrimSuffix(p, ")"), "(")
		if name != "" {
			e.Protocols = append(e.Protocols, Protocol{name, subscription(strings.Split(topics, "+")...)})
		}
	}
	return e
}

func (s *script) offsetEvent(kind string, w words, head Head) Event {
	group := w.or("g", "g")
	switch kind {
	case "commit": // offsets=topic:partition:offset:metadata,…
		e := &Commit{Head: head, GroupID: group, MemberID: w.or("member", ""), InstanceID: w.optional("instance"),
			Generation: int32(w.int("gen", -1)), RetentionMs: w.int("retention", -1), GroupNotFound: w.has("v9"),
			UnsupportedEpochs: !w.has("v9")}
		for o := range strings.SplitSeq(w["offsets"], ",") {
			f := append(strings.Split(o, ":"), "")
			e.Topics = append(e.Topics, CommitTopic{f[0], []CommitPartition{
				{int32(atoi(f[1])), int64(atoi(f[2])), int32(w.int("epoch", -1)), f[3]}}})
		}
		return e
	case "delete-offsets": // offsets=topic:partition,…
		e := &DeleteOffsets{Head: head, GroupID: group}
		for o := range strings.SplitSeq(w["offsets"], ",") {
			if topic, p, ok := strings.Cut(o, ":"); ok {
				e.Topics = append(e.Topics, FetchTopic{topic, []int32{int32(atoi(p))}})
			}
		}
		return e
	case "txn-commit": // as commit, of a producer
		return &TxnCommit{Commit: *s.offsetEvent("commit", w, head).(*Commit), ProducerID: w.int("pid", 1), ProducerEpoch: int16(w.int("pepoch", 0))}
	case "ended": // a marker: of a producer, commit unless abort
		s.load = append(s.load, func(m *Machine) error { m.LoadMarker(w.int("pid", 1), !w.has("abort")); return nil })
		return &TransactionEnded{Head: head, ProducerID: w.int("pid", 1), Commit: !w.has("abort")}
	case "fetch": // offsets=topic:partition,… or all
		e := &FetchOffsets{Head: head, GroupID: group, All: !w.has("offsets"), RequireStable: w.has("stable"),
			MemberID: w.optional("member"), MemberEpoch: int32(w.int("epoch", -1))}
		for o := range strings.SplitSeq(w["offsets"], ",") {
			if topic, p, ok := strings.Cut(o, ":"); ok {
				e.Topics = append(e.Topics, FetchTopic{topic, []int32{int32(atoi(p))}})
			}
		}
		return e
	}
	s.t.Fatalf("unknown event %q", kind)
	return nil
}

func (s *script) step(e Event) {
	effects := bytes.Buffer{}
	var ids []PersistID
	for _, f := range s.m.Step(e) {
		fmt.Fprintf(&effects, "  %s\n", showEffect(f))
		if f.Kind == EffectPersist {
			ids = append(ids, f.ID)
			s.append(f)
		}
	}
	s.out.Write(effects.Bytes())
	if !s.manual {
		for _, id := range ids {
			s.step(&Persisted{Head: Head{NowMs: s.nowMs}, ID: id})
		}
	}
}

// append puts records into the log.
func (s *script) append(f Effect) {
	for _, r := range f.Records {
		s.load = append(s.load, func(m *Machine) error {
			if f.Transactional {
				return m.LoadTransactional(f.ProducerID, r.Key, r.Value)
			}
			return m.Load(r.Key, r.Value)
		})
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// subscription is the metadata of a consumer that reads these topics.
func subscription(topics ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(topics)))
	for _, t := range topics {
		b = appendString(b, t)
	}
	return binary.BigEndian.AppendUint32(b, 0xffffffff)
}

var errorNames = map[string]error{
	"CoordinatorNotAvailable": ErrCoordinatorNotAvailable, "NotCoordinator": ErrNotCoordinator,
	"InvalidGroupID": ErrInvalidGroupID, "IllegalGeneration": ErrIllegalGeneration,
	"InconsistentProtocol": ErrInconsistentProtocol, "UnknownMemberID": ErrUnknownMemberID,
	"InvalidSessionTimeout": ErrInvalidSessionTimeout, "RebalanceInProgress": ErrRebalanceInProgress,
	"MemberIDRequired": ErrMemberIDRequired, "GroupMaxSize": ErrGroupMaxSize, "FencedInstanceID": ErrFencedInstanceID,
	"NonEmptyGroup": ErrNonEmptyGroup, "GroupNotFound": ErrGroupNotFound,
	"SubscribedToTopic":      ErrSubscribedToTopic,
	"OffsetMetadataTooLarge": ErrOffsetMetadataTooLarge, "UnknownServerError": ErrUnknownServerError,
	"InvalidRequest": ErrInvalidRequest, "FencedMemberEpoch": ErrFencedMemberEpoch,
	"UnreleasedInstanceID": ErrUnreleasedInstanceID, "UnsupportedAssignor": ErrUnsupportedAssignor,
	"StaleMemberEpoch": ErrStaleMemberEpoch, "InvalidRegularExpression": ErrInvalidRegularExpression,
	"UnsupportedVersion": ErrUnsupportedVersion,
	"UnstableOffset":     ErrUnstableOffset,
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
