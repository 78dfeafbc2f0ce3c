package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (d Done) text(*printer)   {}
func (d Done) objects() []any  { return nil }
func (d Done) summary() string { return d.Message }

func (b BrokerCreated) text(*printer)  {}
func (b BrokerCreated) objects() []any { return []any{b.Broker} }
func (b BrokerCreated) summary() string {
	return fmt.Sprintf("broker %d listens on %s", b.Broker.Broker, b.Broker.address())
}

func (l BrokerList) text(p *printer) {
	p.table("BROKER ADDRESS RACK LEADERS REPLICAS CONNECTIONS SIZE STATE CONTROLLER INCARNATION", len(l), func(i int) []string {
		b := &l[i]
		return []string{decimal(b.Broker), b.address(), name(b.Rack), decimal(b.Leaders), decimal(b.Replicas), known(b.Connections), size(b.SizeBytes), name(b.State), yes(b.Controller), b.incarnation()}
	})
}
func (l BrokerList) objects() []any  { return objects(l) }
func (l BrokerList) summary() string { return count(len(l), "broker") }

func (b *BrokerRow) address() string {
	host := b.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + decimal(b.Port)
}

func (b *BrokerRow) incarnation() string { return fmt.Sprintf("%016x", b.Incarnation) }

// MarshalJSON adds the incarnation, as text.
func (b BrokerRow) MarshalJSON() ([]byte, error) {
	type plain BrokerRow
	return json.Marshal(struct {
		plain
		Incarnation string `json:"incarnation"`
	}{plain(b), b.incarnation()})
}

func (b BrokerGone) text(p *printer) {
	if len(b.Lost) > 0 {
		p.partitions(b.Lost, true)
	}
}
func (b BrokerGone) objects() []any {
	b.Lost = notNil(b.Lost)
	return []any{b}
}
func (b BrokerGone) summary() string { return b.Message }

func (t TopicCreated) text(*printer)  {}
func (t TopicCreated) objects() []any { return []any{t.Topic} }
func (t TopicCreated) summary() string {
	return fmt.Sprintf("topic %s has %s, id %s", name(t.Topic.Topic), count(t.Topic.Partitions, "partition"), t.Topic.ID)
}

func (l TopicList) text(p *printer) {
	p.table("TOPIC PARTITIONS REPLICATION RECORDS SIZE INTERNAL ID", len(l), func(i int) []string {
		t := &l[i]
		return []string{name(t.Topic), decimal(t.Partitions), decimal(t.ReplicationFactor), known(t.Records), size(t.SizeBytes), yes(t.Internal), t.ID}
	})
}
func (l TopicList) objects() []any  { return objects(l) }
func (l TopicList) summary() string { return count(len(l), "topic") }

func (d TopicDescription) text(p *printer) {
	p.line("topic %s, id %s, %s, replication factor %d", name(d.Topic), d.ID, count(d.Partitions, "partition"), d.ReplicationFactor)
	for _, c := range d.Configs {
		p.line("%s=%s", c.Name, Quote([]byte(c.Value)))
	}
	p.partitions(d.Rows, false)
}
func (d TopicDescription) objects() []any {
	d.Configs, d.Rows = notNil(d.Configs), notNil(d.Rows)
	return []any{d}
}
func (d TopicDescription) summary() string { return count(len(d.Rows), "partition") }

func (p *printer) partitions(rows []PartitionRow, withTopic bool) {
	heading := "PARTITION LEADER EPOCH REPLICAS ISR ELR LOSSES START-OFFSET HIGH-WATERMARK END-OFFSET SIZE"
	if withTopic {
		heading = "TOPIC " + heading
	}
	p.table(heading, len(rows), func(i int) []string {
		r := &rows[i]
		cells := []string{decimal(r.Partition), known(r.Leader), decimal(r.LeaderEpoch), r.replicas(), ids(r.ISR), ids(r.ELR), decimal(r.LossGeneration), known(r.StartOffset), known(r.HighWatermark), known(r.EndOffset), size(r.SizeBytes)}
		if withTopic {
			cells = append([]string{name(r.Topic)}, cells...)
		}
		return cells
	})
}

// replicas marks those that a reassignment adds with + and those that it takes off with -.
func (r *PartitionRow) replicas() string {
	if len(r.Adding)+len(r.Removing) == 0 {
		return ids(r.Replicas)
	}
	parts := make([]string, len(r.Replicas))
	for i, id := range r.Replicas {
		parts[i] = decimal(id)
		if slices.Contains(r.Adding, id) {
			parts[i] += "+"
		}
		if slices.Contains(r.Removing, id) {
			parts[i] += "-"
		}
	}
	return strings.Join(parts, ",")
}

func (r Produced) text(*printer)  {}
func (r Produced) objects() []any { return []any{r} }
func (r Produced) summary() string {
	return fmt.Sprintf("topic=%s partition=%d offset=%d timestamp=%d", name(r.Topic), r.Partition, r.Offset, r.TimestampMs)
}

// text writes each record so that PRODUCE takes the line back.
func (l RecordList) text(p *printer) {
	for i := range l.Records {
		r := &l.Records[i]
		p.out.WriteString("partition=" + decimal(r.Partition) + " offset=" + decimal(r.Offset))
		if r.TimestampMs >= 0 {
			p.out.WriteString(" timestamp=" + decimal(r.TimestampMs))
		}
		if r.Key != nil {
			p.out.WriteString(" key=" + Quote(r.Key))
		}
		for _, h := range r.Headers {
			p.out.WriteString(" header=" + Quote([]byte(h.Key)))
			if h.Value != nil {
				p.out.WriteString("=" + Quote(h.Value))
			}
		}
		p.out.WriteString(" " + Quote(r.Value) + "\n")
	}
}
func (l RecordList) objects() []any { return objects(l.Records) }
func (l RecordList) summary() string {
	return fmt.Sprintf("%s, next offset %d, high watermark %d", count(len(l.Records), "record"), l.NextOffset, l.HighWatermark)
}

// MarshalJSON writes keys, values and header values as text; those that aren't UTF-8 as base64 under another name.
func (r RecordRow) MarshalJSON() ([]byte, error) {
	type header struct {
		Key    string  `json:"key"`
		Value  *string `json:"value"`
		Base64 *string `json:"value_base64,omitempty"`
	}
	o := struct {
		Partition   int32    `json:"partition"`
		Offset      int64    `json:"offset"`
		TimestampMs int64    `json:"timestamp_ms"`
		Key         *string  `json:"key"`
		KeyBase64   *string  `json:"key_base64,omitempty"`
		Value       *string  `json:"value"`
		ValueBase64 *string  `json:"value_base64,omitempty"`
		Headers     []header `json:"headers,omitempty"`
	}{Partition: r.Partition, Offset: r.Offset, TimestampMs: r.TimestampMs}
	o.Key, o.KeyBase64 = textOrBase64(r.Key)
	o.Value, o.ValueBase64 = textOrBase64(r.Value)
	for _, h := range r.Headers {
		value, base := textOrBase64(h.Value)
		o.Headers = append(o.Headers, header{h.Key, value, base})
	}
	return json.Marshal(o)
}

func (l GroupList) text(p *printer) {
	p.table("GROUP STATE PROTOCOL GENERATION MEMBERS COORDINATOR LAG", len(l), func(i int) []string {
		g := &l[i]
		return []string{name(g.Group), g.State, name(g.Protocol), known(g.Generation), decimal(g.Members), known(g.Coordinator), known(g.Lag)}
	})
}
func (l GroupList) objects() []any  { return objects(l) }
func (l GroupList) summary() string { return count(len(l), "group") }

func (l LagReport) text(p *printer) { p.lags(l.Rows) }
func (l LagReport) objects() []any {
	l.Rows = notNil(l.Rows)
	return []any{l}
}
func (l LagReport) summary() string {
	return fmt.Sprintf("group %s is %s, %s, lag %s", name(l.Group), l.State, count(l.Members, "member"), known(l.Lag))
}

// lags has the columns of kafka-consumer-groups, since people know them.
func (p *printer) lags(rows []LagRow) {
	p.table("GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID", len(rows), func(i int) []string {
		r := &rows[i]
		return []string{name(r.Group), name(r.Topic), decimal(r.Partition), known(r.CurrentOffset), known(r.EndOffset), known(r.Lag), name(r.MemberID), name(r.Host), name(r.ClientID)}
	})
}

func (s ServerStatus) text(p *printer) {
	up := (time.Duration(s.UptimeMs) * time.Millisecond).Round(time.Second)
	rows := [][]string{
		{"version", s.Version},
		{"cluster id", name(s.ClusterID)},
		{"controller", known(s.ControllerID)},
		{"metadata revision", decimal(s.MetadataRevision)},
		{"up", up.String()},
		{"brokers", decimal(s.Brokers)},
		{"topics", decimal(s.Topics)},
		{"partitions", decimal(s.Partitions) + ", " + decimal(s.OfflinePartitions) + " offline, " + decimal(s.UnderReplicated) + " under-replicated"},
		{"groups", decimal(s.Groups)},
		{"connections", decimal(s.Connections)},
		{"goroutines", decimal(s.Goroutines)},
		{"records", size(s.RecordBytes)},
		{"memory", size(s.MemoryUsedBytes) + " of " + size(s.MemoryMaxBytes)},
	}
	p.table("FIGURE VALUE", len(rows), func(i int) []string { return rows[i] })
}
func (s ServerStatus) objects() []any  { return []any{s} }
func (s ServerStatus) summary() string { return "" }

func (w WatchState) text(p *printer) {
	BrokerList(w.Brokers).text(p)
	if len(w.Partitions) > 0 {
		p.line("")
		p.partitions(w.Partitions, true)
	}
	if len(w.Groups) > 0 {
		p.line("")
		GroupList(w.Groups).text(p)
	}
	if len(w.Lags) > 0 {
		p.line("")
		p.lags(w.Lags)
	}
	if w.LeftOut > 0 {
		p.line("... and %d more", w.LeftOut)
	}
	if w.Offline+w.UnderReplicated > 0 {
		p.line("")
		p.line("%s offline, %s under-replicated", count(w.Offline, "partition"), decimal(w.UnderReplicated))
	}
	if len(w.Events) > 0 {
		p.line("")
	}
	for i := range w.Events {
		p.line("%s %s", clock(w.Events[i].TimeMs), w.Events[i].sentence())
	}
	if w.EventsLeftOut > 0 {
		p.line("... and %d more changes", w.EventsLeftOut)
	}
}
func (w WatchState) objects() []any {
	w.Brokers, w.Partitions, w.Groups, w.Lags = notNil(w.Brokers), notNil(w.Partitions), notNil(w.Groups), notNil(w.Lags)
	w.Events = notNil(w.Events)
	return []any{w}
}
func (w WatchState) summary() string {
	return fmt.Sprintf("%s revision %d, a line ends WATCH", clock(w.TimeMs), w.Revision)
}

func (e *WatchEvent) sentence() string {
	switch e.Event {
	case BrokerRegistered:
		return fmt.Sprintf("broker %d is registered", e.Broker)
	case BrokerFenced:
		return fmt.Sprintf("broker %d is fenced: it isn't heard of", e.Broker)
	case BrokerUnfenced:
		return fmt.Sprintf("broker %d is back", e.Broker)
	case BrokerDraining:
		return fmt.Sprintf("broker %d drains", e.Broker)
	case BrokerStays:
		return fmt.Sprintf("broker %d drains no more", e.Broker)
	case BrokerRemoved:
		return fmt.Sprintf("broker %d is removed", e.Broker)
	case RecordsLost:
		return fmt.Sprintf("%s: the records are LOST, loss generation %d; %s", e.partition(), e.LossGeneration, e.state())
	default:
		return e.partition() + ": " + e.state()
	}
}

func (e *WatchEvent) partition() string { return name(e.Topic + "-" + decimal(e.Partition)) }

func (e *WatchEvent) state() string {
	leader := "nobody leads"
	if e.Leader >= 0 {
		leader = fmt.Sprintf("broker %d leads", e.Leader)
	}
	return fmt.Sprintf("%s, epoch %d, ISR %s", leader, e.LeaderEpoch, ids(e.ISR))
}

func (h HelpText) infos() []Info {
	var some []Info
	for _, i := range Commands() {
		if h.About == "" || h.About == i.Name {
			some = append(some, i)
		}
	}
	return some
}

func (h HelpText) text(p *printer) {
	for _, i := range h.infos() {
		p.line("%s\n    %s", i.Usage, i.Doc)
	}
	if h.About == "" {
		p.line("%s", notes)
	}
}

func (h HelpText) objects() (all []any) {
	for _, i := range h.infos() {
		all = append(all, struct {
			Command string `json:"command"`
			Usage   string `json:"usage"`
			Doc     string `json:"doc"`
		}{i.Name, i.Usage, i.Doc})
	}
	return all
}
func (h HelpText) summary() string { return count(len(h.infos()), "command") }

// notes end HELP.
const notes = `
Commands are known in any case. Text with blanks, quotes or = stands in quotes, ' or ". In and outside of quotes
\n \r \t \\ \" \' \xHH \uHHHH mean what they do in other languages. A line that begins with # is a comment.
An answer ends with a line that begins with OK or ERR (MORE between the pictures of WATCH); its other lines begin with a blank.
After FORMAT json each line is a JSON object, and the one that ends an answer has the member "ok".`

// objects makes one JSON object of each row.
func objects[T any](rows []T) []any {
	all := make([]any, len(rows))
	for i := range rows {
		all[i] = rows[i]
	}
	return all
}

// notNil: an empty list is [] in JSON and never null.
func notNil[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
