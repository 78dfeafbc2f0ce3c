package console

import (
	"fmt"

	"millrace/metadata"
	"millrace/protocol/console"
)

func (d *Desk) createBroker(c console.CreateBroker) (console.Answer, error) {
	type outcome struct {
		id  int32
		err error
	}
	o := await(func(done func(outcome)) {
		d.Host.StartBroker(c.Host, int(c.Port), func(id int32, err error) { done(outcome{id, err}) })
	})
	if o.err != nil {
		return nil, o.err
	}
	for _, row := range d.brokers() {
		if row.Broker == o.id {
			return console.BrokerCreated{Broker: row}, nil
		}
	}
	return nil, fmt.Errorf("broker %d was removed again at once", o.id)
}

func (d *Desk) removeBroker(c console.RemoveBroker) (console.Answer, error) {
	stop := d.Host.StopBroker
	if c.Now {
		stop = d.Host.StopBrokerNow
	}
	if err := await(func(done func(error)) { stop(c.ID, done) }); err != nil {
		return nil, err
	}
	return console.Done{Message: fmt.Sprintf("broker %d is removed, its partitions are led by the others", c.ID)}, nil
}

func (d *Desk) killBroker(c console.KillBroker) (console.Answer, error) {
	lost := d.onlyCopies(c.ID) // as it is before
	if err := d.Host.KillBroker(c.ID); err != nil {
		return nil, err
	}
	return console.BrokerGone{Broker: c.ID, Lost: lost,
		Message: fmt.Sprintf("broker %d is dead, and the only copies of %s with it", c.ID, partitions(len(lost)))}, nil
}

func (d *Desk) startBroker(c console.StartBroker) (console.Answer, error) {
	if err := await(func(done func(error)) { d.Host.RestartBroker(c.ID, done) }); err != nil {
		return nil, err
	}
	return console.Done{Message: fmt.Sprintf("broker %d is there again, without what it had in RAM", c.ID)}, nil
}

// drain tells what has moved by comparing what was with what is.
func (d *Desk) drain(c console.Drain) (console.Answer, error) {
	if c.Cancel {
		if err := await(func(done func(error)) { d.Host.CancelDrain(c.ID, done) }); err != nil {
			return nil, err
		}
		return console.Done{Message: fmt.Sprintf("broker %d stays", c.ID)}, nil
	}
	before, only := d.Host.Image(), len(d.onlyCopies(c.ID))
	if err := await(func(done func(error)) { d.Host.DrainBroker(c.ID, false, done) }); err != nil {
		return nil, err
	}
	left := d.onlyCopies(c.ID)
	moved := max(0, ledBy(before, c.ID)-ledBy(d.Host.Image(), c.ID))
	return console.BrokerGone{Broker: c.ID, Lost: left, Message: fmt.Sprintf(
		"broker %d is drained: %s led by others now, %s copied that only it had, %s without another place",
		c.ID, partitions(moved), partitions(max(0, only-len(left))), partitions(len(left)))}, nil
}

// listOnlyCopies answers for every broker of the cluster.
func (d *Desk) listOnlyCopies(c console.OnlyCopies) (console.Answer, error) {
	if d.Host.Image().Broker(c.ID) == nil {
		return nil, metadata.Errorf(metadata.ErrUnknownBroker, "there is no broker %d", c.ID)
	}
	lost := d.onlyCopies(c.ID)
	return console.BrokerGone{Broker: c.ID, Lost: lost,
		Message: fmt.Sprintf("broker %d has the only copies of %s", c.ID, partitions(len(lost)))}, nil
}

func partitions(n int) string {
	if n == 1 {
		return "1 partition"
	}
	return fmt.Sprintf("%d partitions", n)
}

func ledBy(image *metadata.Image, id int32) (n int) {
	for _, t := range image.Topics() {
		for i := range t.Partitions {
			if image.LeaderOf(&t.Partitions[i]) == id {
				n++
			}
		}
	}
	return n
}

// onlyCopies describes the partitions whose records are lost if the broker goes now.
func (d *Desk) onlyCopies(id int32) (rows []console.PartitionRow) {
	image := d.Host.Image()
	for _, ref := range d.Cluster.OnlyCopies(id) {
		if t := image.Topic(ref.Topic); t != nil && int(ref.Partition) < len(t.Partitions) {
			rows = append(rows, d.partitionRow(image, t, ref.Partition))
		}
	}
	return rows
}

// brokers describes all brokers of the cluster.
func (d *Desk) brokers() []console.BrokerRow {
	image := d.Host.Image()
	rows := make([]console.BrokerRow, 0, len(image.Brokers()))
	for _, b := range image.Brokers() {
		row := console.BrokerRow{Broker: b.ID, Rack: b.Rack, Incarnation: b.Incarnation, State: state(b),
			Controller: b.ID == image.ControllerID(), Connections: d.Host.Connections(b.ID)}
		if len(b.Endpoints) > 0 {
			row.Host, row.Port = b.Endpoints[0].Host, b.Endpoints[0].Port
		}
		if here := d.Host.Broker(b.ID); here != nil {
			for _, p := range here.Replicas() {
				row.SizeBytes += p.Figures().SizeBytes
			}
		}
		rows = append(rows, row)
	}
	countPartitions(image, rows)
	return rows
}

func state(b *metadata.Broker) string {
	switch {
	case b.Fenced:
		return "fenced"
	case b.Draining:
		return "draining"
	}
	return "up"
}

func countPartitions(image *metadata.Image, rows []console.BrokerRow) {
	byID := map[int32]*console.BrokerRow{}
	for i := range rows {
		byID[rows[i].Broker] = &rows[i]
	}
	for _, t := range image.Topics() {
		for i := range t.Partitions {
			if r := byID[image.LeaderOf(&t.Partitions[i])]; r != nil {
				r.Leaders++
			}
			for _, id := range t.Partitions[i].Replicas {
				if r := byID[id]; r != nil {
					r.Replicas++
				}
			}
		}
	}
}
