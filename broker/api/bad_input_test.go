package api_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/golden"
	"millrace/protocol"
)

// What clients can get wrong, API by API, and the codes that Apache Kafka 4.4 answers with. They stand in
// testdata/bad_input.txt, which is what a real one said:
//
//	go test ./broker/api -run BadInput -update -kafka 127.0.0.1:9092
//
// asks one that was started for it (a single broker with id 1, the only user of it). Where we answer otherwise stands in
// otherThanKafka, with the reason.
var kafkaAddr = flag.String("kafka", "", "host:port of an Apache Kafka, whose answers are to be written to testdata")

// otherThanKafka are our own answers where they differ, by the name of the case.
var otherThanKafka = map[string]string{
	// Apache Kafka never answers these.
	"Produce v3 null records":  "u-0=INVALID_RECORD",
	"Produce v9 null records":  "u-0=INVALID_RECORD",
	"Produce v12 null records": "u-0=INVALID_RECORD",
	"Produce v13 null records": "-0=INVALID_RECORD",
	// It is one election.
	"ElectLeaders v2 twice": "=NONE, t-0=ELECTION_NOT_NEEDED",
}

// badInput is one request that something is wrong with.
type badInput struct {
	what    string
	version int16
	request kmsg.Request
	edit    func(body []byte) // makes of the encoded request what kmsg can't encode
}

// peer is who is asked; the answer is "closed" if the connection is.
type peer interface {
	exchange(frame []byte) ([]byte, error)
}

func TestBadInput(t *testing.T) {
	const file = "testdata/bad_input.txt"
	if *kafkaAddr != "" {
		conn, err := net.Dial("tcp", *kafkaAddr)
		if err != nil {
			t.Fatal(err)
		}
		k := &kafkaPeer{t, conn}
		prepared := prepareBadInput(t, k)
		golden.File(t, file, strings.Join(answersTo(t, k, prepared, nil), ""))
		return
	}
	d := newDesk(t, 1)
	prepared := prepareBadInput(t, d)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kafkas := byName(strings.Lines(string(want)))
	ours := byName(slices.Values(answersTo(t, d, prepared, otherThanKafka)))
	for name, got := range ours {
		if otherThanKafka[name] == "" && kafkas[name] != got {
			t.Errorf("%s: %s, Apache Kafka: %s", name, got, kafkas[name])
		}
	}
	if len(ours) != len(kafkas) {
		t.Errorf("%d answers, Apache Kafka gave %d", len(ours), len(kafkas))
	}
}

func byName(lines iter.Seq[string]) map[string]string {
	all := map[string]string{}
	for line := range lines {
		name, codes, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		all[name] = codes
	}
	return all
}

// prepareBadInput makes what the requests are about, and the requests.
func prepareBadInput(t *testing.T, p peer) []badInput {
	create := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range []string{"t", "u"} {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 3, 1
		create.Topics = append(create.Topics, rt)
	}
	resp := talk(t, p, badInput{version: 7, request: create}).(*kmsg.CreateTopicsResponse)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{"g"}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		found := talk(t, p, badInput{version: 4, request: find}).(*kmsg.FindCoordinatorResponse)
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Group, commit.Generation = "g", -1
		rt, rp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		rt.Topic, rt.Partitions = "t", append(rt.Partitions, rp)
		commit.Topics = append(commit.Topics, rt)
		committed := talk(t, p, badInput{version: 8, request: commit}).(*kmsg.OffsetCommitResponse)
		id := talk(t, p, badInput{version: 4, request: kmsg.NewPtrInitProducerIDRequest()}).(*kmsg.InitProducerIDResponse)
		if id.ErrorCode == 0 && found.Coordinators[0].ErrorCode == 0 && committed.Topics[0].Partitions[0].ErrorCode == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no coordinator")
		}
	}
	return badInputs(resp.Topics[0].TopicID)
}

// answersTo asks everything, and shows each answer as a line.
func answersTo(t *testing.T, p peer, cases []badInput, others map[string]string) (lines []string) {
	seen := map[string]bool{}
	for _, c := range cases {
		name := fmt.Sprintf("%s v%d %s", kmsg.NameForKey(c.request.Key()), c.version, c.what)
		if seen[name] {
			t.Fatalf("two cases are called %s", name)
		}
		seen[name] = true
		line := name + ": " + codesIn(talk(t, p, c))
		if want, differs := others[name]; differs && line != name+": "+want {
			t.Errorf("%s, want %s", line, want)
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	return lines
}

// talk asks one request; nil: the connection was closed.
func talk(t *testing.T, p peer, c badInput) kmsg.Response {
	t.Helper()
	f := frame(c.request, c.version)
	if c.edit != nil {
		c.edit(f[len(f)-len(c.request.AppendTo(nil)):])
	}
	answer, err := p.exchange(f)
	if err != nil {
		return nil
	}
	resp := c.request.ResponseKind()
	b := answer[4:] // the correlation id
	if resp.IsFlexible() && resp.Key() != kmsg.ApiVersions.Int16() {
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		t.Fatalf("%s v%d %s: %v", kmsg.NameForKey(c.request.Key()), c.version, c.what, err)
	}
	return resp
}

// exchange is the desk's own end of a connection.
func (d *desk) exchange(frame []byte) ([]byte, error) {
	s := &slot{done: make(chan struct{})}
	d.Serve(d.session, frame, s)
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		d.Fatal("no answer")
	}
	if s.failed != "" {
		return nil, io.EOF
	}
	defer s.reply.Release()
	return slices.Concat(s.reply.Chunks(nil)...)[4:], nil
}

// kafkaPeer is a real Apache Kafka.
type kafkaPeer struct {
	*testing.T
	conn net.Conn
}

func (k *kafkaPeer) exchange(frame []byte) ([]byte, error) {
	_ = k.conn.SetDeadline(time.Now().Add(5 * time.Second)) // it doesn't answer everything
	_, err := k.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	size := make([]byte, 4)
	if err == nil {
		_, err = io.ReadFull(k.conn, size)
	}
	var answer []byte
	if err == nil {
		answer = make([]byte, binary.BigEndian.Uint32(size))
		_, err = io.ReadFull(k.conn, answer)
	}
	if err != nil {
		k.conn.Close()
		var again error
		if k.conn, again = net.Dial("tcp", *kafkaAddr); again != nil {
			k.Fatal(again)
		}
	}
	return answer, err
}

// codesIn shows every code of an answer with what it is about, sorted; the same ones are counted.
func codesIn(resp kmsg.Response) string {
	if resp == nil {
		return "closed"
	}
	counts := map[string]int{}
	gatherCodes(reflect.ValueOf(resp).Elem(), "", counts)
	if len(counts) > 20 { // too many to read: by code
		byCode := map[string]int{}
		for text, n := range counts {
			byCode[text[strings.LastIndex(text, "=")+1:]] += n
		}
		counts = byCode
	}
	var all []string
	for text, n := range counts {
		if n > 1 {
			text += fmt.Sprintf(" ×%d", n)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// identities are the fields that tell what a part of an answer is about.
var identities = []string{"Topic", "Group", "ResourceName", "Key", "MemberID", "Name", "Partition"}

func gatherCodes(v reflect.Value, about string, counts map[string]int) {
	switch v.Kind() {
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				gatherCodes(v.Index(i), about, counts)
			}
		}
	case reflect.Struct:
		for _, name := range identities {
			f := v.FieldByName(name)
			if f.IsValid() && f.Kind() == reflect.Pointer && !f.IsNil() {
				f = f.Elem()
			}
			switch {
			case f.IsValid() && f.Kind() == reflect.String:
				about += f.String()
			case f.IsValid() && f.Kind() == reflect.Int32:
				about += fmt.Sprintf("-%d", f.Int())
			}
		}
		if f := v.FieldByName("ErrorCode"); f.IsValid() {
			counts[about+"="+protocol.Code(f.Int()).String()]++
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "UnknownTags" {
				gatherCodes(v.Field(i), about, counts)
			}
		}
	}
}
