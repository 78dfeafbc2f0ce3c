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
	err := await(func(done func(error)) { d.Host.StopBroker(c.ID, done) })
	if err != nil {
		return nil, err
	}
	return console.Done{Message: fmt.Sprintf("broker %d is removed, its partitions are led by the others", c.ID)}, nil
}

// brokers describes all brokers of the cluster.
func (d *Desk) brokers() []console.BrokerRow {
	image := d.Host.Image()
	rows := make([]console.BrokerRow, 0, len(image.Brokers()))
	for _, b := range image.Brokers() {
		row := console.BrokerRow{Broker: b.ID, Rack: b.Rack, Incarnation: b.Incarnation,
			Controller: b.ID == image.ControllerID(), Connections: d.Host.Connections(b.ID)}
		if len(b.Endpoints) > 0 {
			row.Host, row.Port = b.Endpoints[0].Host, b.Endpoints[0].Port
		}
		if here := d.Host.Broker(b.ID); here != nil {
			for _, p := range here.Partitions() {
				row.SizeBytes += p.Figures().SizeBytes
			}
		}
		rows = append(rows, row)
	}
	countPartitions(image, rows)
	return rows
}

func countPartitions(image *metadata.Image, rows []console.BrokerRow) {
	byID := map[int32]*console.BrokerRow{}
	for i := range rows {
		byID[rows[i].Broker] = &rows[i]
	}
	for _, t := range image.Topics() {
		for i := range t.Partitions {
			if r := byID[t.Partitions[i].Leader]; r != nil {
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
