package controller

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/golden"
	"millrace/metadata"
)

// TestScripts runs testdata/*.txt. A script is blocks with an empty line
// between them; a block is comments, one command, a line of dashes, and what comes of
// the command: the deltas, then the answer. The deltas are applied before the next
// block. With -update the scripts are rewritten with what really came.
//
//	register [id] [rack=R] [replace] [life=N] [lease=N] [NAME://HOST:PORT …]
//	remove ID
//	endpoints ID [NAME://HOST:PORT …]
//	create NAME PARTITIONS RF [k=v …]; NAME by-hand 0:1,2 1:2,3 [k=v …]; …
//	partitions NAME COUNT [1,2 2,3 …]; …
//	configs NAME [k=v k= …]; … ("k=" is null; "replace" as the first setting: all others go)
//	delete NAME; id:NAME; id:ID; …
//	producer-ids
//	show
//
// And of replication (replication_script_test.go), where a member is ID or, if not in its
// newest life, ID@LIFE:
//
//	fence MEMBER …            unfence MEMBER            unregister ID
//	drain MEMBER [leave]      cancel-drain MEMBER       only-copies ID
//	announce MEMBER LEASE     settle                    balance [MOST]
//	alter MEMBER TOPIC-N LEADER-EPOCH/PARTITION-EPOCH|now MEMBER,… [ceiling=N]; TOPIC-N …
//	elect preferred|unclean [TOPIC-N …]
//	reassign [fixed] TOPIC-N 1,2,3; TOPIC-N cancel; …
//	reassignments [TOPIC-N …]
//	internal-factor N         grow
func TestScripts(t *testing.T) { golden.Run(t, "testdata/*.txt", runScript) }

func runScript(_ *testing.T, text string) string {
	s := newScript()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		head, _, _ := strings.Cut(block, "\n----")
		var lines []string
		for line := range strings.SplitSeq(head, "\n") {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 { // comments alone
			out = append(out, head)
			continue
		}
		got := strings.TrimSpace(s.run(strings.Join(lines, " ")))
		out = append(out, strings.TrimSpace(head+"\n----\n"+got))
	}
	return strings.Join(out, "\n\n") + "\n"
}

type script struct {
	Policy
	img  *metadata.Image
	life uint64 // of the last registration: they count up
	out  strings.Builder
}

// newScript has settings that may not be "bad", and topic ids that count up.
func newScript() *script {
	var last byte
	return &script{img: metadata.Empty(), Policy: Policy{
		NumPartitions: 3, PartitionsPerRequestMax: 100, PartitionsMax: 150,
		ValidateConfigs: func(_ string, configs map[string]string) error {
			for _, name := range slices.Sorted(maps.Keys(configs)) {
				if configs[name] == "bad" {
					return fmt.Errorf("Invalid value bad for configuration %s", name)
				}
			}
			return nil
		},
		ListConfig: func(_ *metadata.Image, _ metadata.ConfigKind, name string) (string, bool) {
			return "delete", name == "cleanup.policy"
		},
		NewTopicID: func() metadata.TopicID {
			last++
			return metadata.TopicID{15: last}
		},
	}.WithDefaults()}
}

func (s *script) run(line string) string {
	s.out.Reset()
	verb, rest, _ := strings.Cut(line, " ")
	var specs [][]string
	for spec := range strings.SplitSeq(rest, ";") {
		if fields := strings.Fields(spec); len(fields) > 0 {
			specs = append(specs, fields)
		}
	}
	var args []string
	if len(specs) > 0 {
		args = specs[0]
	}
	switch verb {
	case "register":
		s.register(args)
	case "remove":
		deltas, err := s.RemoveBroker(s.img, int32(number(args[0])))
		s.apply(deltas)
		s.answer("broker "+args[0], err)
	case "endpoints":
		deltas, err := s.UpdateEndpoints(s.img, int32(number(args[0])), endpoints(args[1:]))
		s.apply(deltas)
		s.answer("broker "+args[0], err)
	case "create":
		s.create(specs)
	case "partitions":
		s.partitions(specs)
	case "configs":
		s.configs(specs)
	case "delete":
		s.remove(specs)
	case "producer-ids":
		deltas, first, err := s.AllocateProducerIDs(s.img)
		s.apply(deltas)
		s.answer(fmt.Sprintf("first %d", first), err)
	case "show":
		s.show()
	default:
		if !s.replication(verb, args, specs) {
			panic("unknown command: " + line)
		}
	}
	return s.out.String()
}

func (s *script) register(args []string) {
	spec := metadata.BrokerSpec{ID: -1}
	life := s.life + 1
	for _, arg := range args {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "rack":
			spec.Rack = value
		case "replace":
			spec.Replace = true
		case "life":
			life = uint64(number(value))
		case "lease":
			spec.Lease = metadata.LeaseID(number(value))
		default:
			if !strings.Contains(arg, "://") {
				spec.ID = int32(number(arg))
			}
		}
	}
	spec.Endpoints = endpoints(args)
	deltas, b, err := s.RegisterBroker(s.img, spec, life)
	s.life = max(s.life, life)
	s.apply(deltas)
	name := "broker"
	if b != nil {
		name = fmt.Sprintf("broker %d", b.ID)
	}
	s.answer(name, err)
}

func endpoints(args []string) (list []metadata.Endpoint) {
	for _, arg := range args {
		if name, address, ok := strings.Cut(arg, "://"); ok {
			host, port, _ := strings.Cut(address, ":")
			list = append(list, metadata.Endpoint{Name: name, Host: host, Port: int32(number(port)), SecurityProtocol: name})
		}
	}
	return list
}

func (s *script) create(specs [][]string) {
	var topics []metadata.TopicSpec
	for _, f := range specs {
		spec := metadata.TopicSpec{Name: strings.Trim(f[0], `"`), Partitions: -1, ReplicationFactor: -1, Configs: settings(f[1:])}
		if len(f) > 1 && f[1] == "by-hand" {
			for _, arg := range f[2:] {
				if index, ids, ok := strings.Cut(arg, ":"); ok {
					spec.Assignment = append(spec.Assignment, metadata.ReplicaAssignment{Partition: int32(number(index)), Replicas: ints(ids)})
				} else if counts, ok := strings.CutPrefix(arg, "counts="); ok {
					spec.Partitions, spec.ReplicationFactor = ints(counts)[0], int16(ints(counts)[1])
				}
			}
			delete(spec.Configs, "counts")
		} else if len(f) > 2 {
			spec.Partitions, spec.ReplicationFactor = int32(number(f[1])), int16(number(f[2]))
		}
		topics = append(topics, spec)
	}
	deltas, results := s.CreateTopics(s.img, topics)
	s.apply(deltas)
	for _, r := range results {
		s.answer(r.Name, r.Err)
	}
}

func (s *script) partitions(specs [][]string) {
	var list []metadata.PartitionsSpec
	for _, f := range specs {
		spec := metadata.PartitionsSpec{Name: f[0], Count: int32(number(f[1]))}
		for _, ids := range f[2:] {
			spec.Assignment = append(spec.Assignment, ints(ids))
		}
		list = append(list, spec)
	}
	deltas, results := s.CreatePartitions(s.img, list)
	s.apply(deltas)
	for _, r := range results {
		s.answer(r.Name, r.Err)
	}
}

func (s *script) configs(specs [][]string) {
	var list []metadata.ConfigSpec
	for _, f := range specs {
		spec := metadata.ConfigSpec{Name: f[0], Replace: len(f) > 1 && f[1] == "replace",
			Append: map[string]string{}, Subtract: map[string]string{}}
		if id, ok := strings.CutPrefix(f[0], "broker:"); ok {
			spec.Kind, spec.Name = metadata.BrokerConfigs, id
		}
		spec.Set = settings(f[1:])
		for name, value := range spec.Set {
			for sign, items := range map[string]map[string]string{"+": spec.Append, "-": spec.Subtract} {
				if bare, ok := strings.CutPrefix(name, sign); ok {
					delete(spec.Set, name)
					items[bare] = *value
				}
			}
		}
		list = append(list, spec)
	}
	deltas, results := s.AlterConfigs(s.img, list)
	s.apply(deltas)
	for _, r := range results {
		s.answer(r.Name, r.Err)
	}
}

func (s *script) remove(specs [][]string) {
	var refs []metadata.TopicRef
	for _, f := range specs {
		ref := metadata.TopicRef{Name: strings.Trim(f[0], `"`)}
		name, id, byID := strings.Cut(f[0], "id:")
		if byID {
			ref.Name = name
			if t := s.img.Topic(id); t != nil {
				ref.ID = t.ID
			} else {
				ref.ID = metadata.TopicID{0: byte(number(id))}
			}
		}
		refs = append(refs, ref)
	}
	deltas, results := s.DeleteTopics(s.img, refs)
	s.apply(deltas)
	for _, r := range results {
		s.answer(fmt.Sprintf("%s %s", r.Name, shortID(r.ID)), r.Err)
	}
}

func settings(args []string) map[string]*string {
	set := make(map[string]*string)
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg, "="); ok {
			set[name] = nil
			if value != "" {
				set[name] = &value
			}
		}
	}
	return set
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func ints(s string) (list []int32) {
	for part := range strings.SplitSeq(s, ",") {
		if part != "" {
			list = append(list, int32(number(part)))
		}
	}
	return list
}

func shortID(id metadata.TopicID) string { return fmt.Sprintf("#%d", cmp.Or(id[15], id[0])) }

func (s *script) apply(deltas []metadata.Delta) {
	s.img = s.img.Apply(deltas...)
	for _, d := range deltas {
		fmt.Fprintln(&s.out, strings.TrimRight(s.deltaText(d), " "))
	}
}

func (s *script) answer(what string, err error) {
	var e *metadata.Error
	switch {
	case errors.As(err, &e):
		fmt.Fprintf(&s.out, "%s: %v: %s\n", what, e.Kind, e.Message)
	case err != nil:
		panic(fmt.Sprintf("%v is no *metadata.Error", err))
	default:
		fmt.Fprintf(&s.out, "%s: ok\n", what)
	}
}

func (s *script) deltaText(d metadata.Delta) string {
	switch d := d.(type) {
	case metadata.BrokerRegistered:
		return fmt.Sprintf("> broker %d registered %s", d.Broker.ID, brokerText(d.Broker))
	case metadata.BrokerChanged:
		return fmt.Sprintf("> broker %d changed %s", d.Broker.ID, brokerText(d.Broker))
	case metadata.BrokerRemoved:
		return fmt.Sprintf("> broker %d removed", d.ID)
	case metadata.BrokerAlive:
		return fmt.Sprintf("> broker %d alive in life %d with lease %d", d.ID, d.Incarnation, d.Lease)
	case metadata.BrokerSilent:
		return fmt.Sprintf("> broker %d silent", d.ID)
	case metadata.TopicCreated:
		return fmt.Sprintf("> topic %s %s created%s %v", d.Topic.Name, shortID(d.Topic.ID), s.partitionsText(0, d.Topic.Partitions), d.Topic.Configs)
	case metadata.TopicDeleted:
		return fmt.Sprintf("> topic %s %s deleted", d.Name, shortID(d.ID))
	case metadata.PartitionsAdded:
		return fmt.Sprintf("> topic %s %s longer%s", d.Name, shortID(d.ID), s.partitionsText(int(d.First), d.Partitions))
	case metadata.PartitionChanged:
		return fmt.Sprintf("> topic %s %s changed%s", d.Name, shortID(d.ID), s.partitionsText(int(d.Index), []metadata.Partition{d.Partition}))
	case metadata.ConfigChanged:
		return fmt.Sprintf("> topic %s %s configs %v", d.Name, shortID(d.ID), d.Configs)
	case metadata.ResourceConfigChanged:
		return fmt.Sprintf("> resource %d %q configs %v", d.Resource.Kind, d.Resource.Name, d.Configs)
	case metadata.ProducerIDsAllocated:
		return fmt.Sprintf("> producer ids up to %d", d.Next)
	}
	panic(fmt.Sprintf("unknown delta %T", d))
}

func brokerText(b *metadata.Broker) string {
	text := fmt.Sprintf("%v %s", b.Endpoints, b.Rack)
	if b.Fenced {
		text += " fenced"
	}
	if b.Draining {
		text += " draining"
	}
	return text
}

// partitionsText is index:replicas for a partition as created, and whatever
// else there is to say.
func (s *script) partitionsText(first int, partitions []metadata.Partition) string {
	var b strings.Builder
	for i, p := range partitions {
		fmt.Fprintf(&b, " %d:%v", first+i, p.Replicas)
		if p.Leader != p.Replicas[0] {
			fmt.Fprintf(&b, " leader=%d", p.Leader)
		}
		s.set(&b, " isr", p.ISRMembers(), p.Replicas)
		s.set(&b, " elr", p.ELRMembers(), nil)
		if p.Reassigning() {
			fmt.Fprintf(&b, " adding=%v removing=%v", p.Adding, p.Removing)
		}
		if p.MinInSync != s.MinInSyncReplicas {
			fmt.Fprintf(&b, " min=%d", p.MinInSync)
		}
		if p.PartitionEpoch != 0 || p.LossGeneration != 0 {
			fmt.Fprintf(&b, " epochs=%d/%d loss=%d", p.LeaderEpoch, p.PartitionEpoch, p.LossGeneration)
		}
		if p.BaseOffset != 0 || p.OffsetCeiling != metadata.OffsetCeilingStep {
			fmt.Fprintf(&b, " offsets=%d..%d", p.BaseOffset, p.OffsetCeiling)
		}
	}
	return b.String()
}

// set writes members unless they are the usual ones; one whose life is over has a †.
func (s *script) set(b *strings.Builder, name string, members []metadata.Member, usual []int32) {
	var ids []int32
	var texts []string
	void := false
	for _, m := range members {
		text := strconv.Itoa(int(m.Broker))
		if s.img.Void(m) {
			text, void = text+"†", true
		}
		ids, texts = append(ids, m.Broker), append(texts, text)
	}
	if void || !slices.Equal(ids, usual) {
		fmt.Fprintf(b, "%s=[%s]", name, strings.Join(texts, " "))
	}
}

func (s *script) show() {
	for _, b := range s.img.Brokers() {
		fmt.Fprintln(&s.out, strings.TrimRight(fmt.Sprintf("broker %d %s", b.ID, brokerText(b)), " "))
	}
	for _, t := range s.img.Topics() {
		fmt.Fprintf(&s.out, "topic %s %s%s %v\n", t.Name, shortID(t.ID), s.partitionsText(0, t.Partitions), t.Configs)
	}
	fmt.Fprintf(&s.out, "controller %d, %d topics, %d partitions\n", s.img.ControllerID(), s.img.TopicCount(), s.img.PartitionCount())
}
