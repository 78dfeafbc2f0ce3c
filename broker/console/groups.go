package console

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"millrace/broker"
	"millrace/broker/group"
	"millrace/metadata"
	"millrace/protocol/console"
)

func (d *Desk) groups() (console.Answer, error) {
	reports, err := d.reports()
	if err != nil {
		return nil, err
	}
	list := make(console.GroupList, len(reports))
	for i := range reports {
		list[i] = reports[i].GroupRow
	}
	return list, nil
}

// reports describes every group of the cluster, sorted by id.
func (d *Desk) reports() ([]console.LagReport, error) {
	var all []console.LagReport
	for _, b := range d.Host.Brokers() {
		type listed struct {
			groups []group.ListedGroup
			err    error
		}
		l := await(func(done func(listed)) {
			b.ListGroups(nil, nil, func(g []group.ListedGroup, err error) { done(listed{g, err}) })
		})
		if l.err != nil {
			return nil, l.err
		}
		for _, g := range l.groups {
			r, err := d.report(b, g.GroupID)
			if errors.Is(err, group.ErrGroupNotFound) || errors.Is(err, group.ErrNotCoordinator) {
				continue // gone since it was listed
			}
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b console.LagReport) int { return cmp.Compare(a.Group, b.Group) })
	return all, nil
}

func (d *Desk) lag(c console.Lag) (console.Answer, error) {
	image := d.Host.Image()
	if offsets := image.Topic(metadata.ConsumerOffsetsTopic); offsets != nil {
		index := broker.CoordinatorPartition(c.Group, len(offsets.Partitions))
		if b := d.Host.Broker(image.LeaderOf(&offsets.Partitions[index])); b != nil {
			r, err := d.report(b, c.Group)
			if !errors.Is(err, group.ErrGroupNotFound) {
				return r, err
			}
		}
	}
	return nil, fmt.Errorf("there is no group %q", c.Group)
}

// asked is a coordinator's answer.
type asked[R any] struct {
	result R
	err    error
}

func ask[R any](b *broker.Broker, groupID string, e group.Event) (R, error) {
	a := await(func(done func(asked[R])) {
		broker.AskCoordinator(b, groupID, e, nil, func(r R, err error) { done(asked[R]{r, err}) })
	})
	return a.result, a.err
}

// report says where a group is in each partition that it has committed an offset for or has assigned to a member.
func (d *Desk) report(b *broker.Broker, id string) (console.LagReport, error) {
	described, err := d.describe(b, id)
	if err != nil {
		return console.LagReport{}, err
	}
	committed, err := ask[*group.OffsetsResult](b, id, &group.FetchOffsets{GroupID: id, All: true})
	if err != nil {
		return console.LagReport{}, err
	}
	described.row.Coordinator, described.row.Lag = b.ID, -1
	r := console.LagReport{GroupRow: described.row}
	rows := map[partition]*console.LagRow{}
	at := func(topic string, index int32) *console.LagRow {
		k := partition{topic, index}
		if rows[k] == nil {
			rows[k] = &console.LagRow{Group: id, Topic: topic, Partition: index, CurrentOffset: -1, EndOffset: -1, Lag: -1}
		}
		return rows[k]
	}
	for _, t := range committed.Topics {
		for _, p := range t.Partitions {
			at(t.Name, p.Partition).CurrentOffset = p.Offset
		}
	}
	for _, m := range described.members {
		for _, p := range m.has {
			row := at(p.topic, p.index)
			row.MemberID, row.Host, row.ClientID = m.id, m.host, m.clientID
		}
	}
	r.Rows = d.lags(rows, &r.GroupRow)
	return r, nil
}

type partition struct {
	topic string
	index int32
}

// description is a group of either protocol.
type description struct {
	row     console.GroupRow
	members []describedMember
}

type describedMember struct {
	id, host, clientID string
	has                []partition
}

func (d *Desk) describe(b *broker.Broker, id string) (g description, err error) {
	classic, err := ask[*group.DescribeResult](b, id, &group.Describe{GroupID: id})
	if errors.Is(err, group.ErrGroupNotFound) {
		return d.describeConsumers(b, id)
	}
	if err != nil {
		return g, err
	}
	g.row = console.GroupRow{Group: id, State: classic.State.String(), Protocol: classic.Protocol, Generation: classic.Generation,
		Members: len(classic.Members)}
	for _, m := range classic.Members {
		g.members = append(g.members, describedMember{m.MemberID, m.ClientHost, m.ClientID, assigned(m.Assignment)})
	}
	return g, nil
}

func (d *Desk) describeConsumers(b *broker.Broker, id string) (g description, err error) {
	r, err := ask[*group.DescribeConsumerResult](b, id, &group.DescribeConsumer{GroupID: id})
	if err != nil {
		return g, err
	}
	image := d.Host.Image()
	g.row = console.GroupRow{Group: id, State: r.State.String(), Protocol: r.Assignor, Generation: r.Epoch, Members: len(r.Members)}
	for _, m := range r.Members {
		x := describedMember{id: m.MemberID, host: m.ClientHost, clientID: m.ClientID}
		for _, t := range m.Assigned {
			topic := image.TopicByID(metadata.TopicID(t.Topic))
			if topic == nil {
				continue
			}
			for _, p := range t.Partitions {
				x.has = append(x.has, partition{topic.Name, p})
			}
		}
		g.members = append(g.members, x)
	}
	return g, nil
}

// lags fills in the ends and sums up.
func (d *Desk) lags(rows map[partition]*console.LagRow, sum *console.GroupRow) []console.LagRow {
	image := d.Host.Image()
	all := make([]console.LagRow, 0, len(rows))
	for k, row := range rows {
		if t := image.Topic(k.topic); t != nil {
			if f, ok := d.figures(t, k.index); ok {
				row.EndOffset = f.HighWatermark
				if row.CurrentOffset >= 0 {
					// An offset beyond the end, or before the start, was committed by hand: it is never a negative lag.
					row.Lag = max(0, f.HighWatermark-max(row.CurrentOffset, f.LogStartOffset))
					sum.Lag = max(0, sum.Lag) + row.Lag
				}
			}
		}
		all = append(all, *row)
	}
	slices.SortFunc(all, func(a, b console.LagRow) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}

// assigned reads the assignment of a consumer (ConsumerProtocolAssignment, any version: version, topics with their
// partitions, user data). Other protocols' assignments are opaque; what can't be read gives nothing.
func assigned(b []byte) (all []partition) {
	if len(b) < 6 {
		return nil
	}
	topics := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	for ; topics > 0; topics-- {
		if len(b) < 2 {
			return nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b) < 2+n+4 {
			return nil
		}
		topic := string(b[2 : 2+n])
		count := int(binary.BigEndian.Uint32(b[2+n:]))
		b = b[2+n+4:]
		if count < 0 || count > len(b)/4 {
			return nil
		}
		for i := range count {
			all = append(all, partition{topic, int32(binary.BigEndian.Uint32(b[4*i:]))})
		}
		b = b[4*count:]
	}
	return all
}
