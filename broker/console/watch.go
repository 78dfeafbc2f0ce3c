package console

import (
	"context"
	"time"

	"millrace/protocol/console"
)

const (
	// watchEvery is how often WATCH looks whether anything changed. It looks at figures that are published anyway, so
	// that being watched costs the brokers' hot path nothing; that is why it polls and is not told.
	watchEvery = 50 * time.Millisecond
	// watchRowsMax bounds a picture.
	watchRowsMax = 200
)

// watch pushes the state of the cluster at once, then on each change and at least every interval, until the next line.
func (d *Desk) watch(ctx context.Context, s *Session, c console.Watch, slot Slot) (console.Answer, error) {
	poll := time.NewTicker(watchEvery)
	defer poll.Stop()
	var seen fingerprint
	var shownAt time.Time
	for {
		if now := d.fingerprint(); now != seen || time.Since(shownAt) >= c.Interval {
			picture := d.picture()
			seen, shownAt = now, time.Now()
			slot.Push(reply(func(dst []byte) []byte { return console.RenderMore(dst, s.format, picture) }))
		}
		select {
		case <-ctx.Done():
			return console.Done{Message: "end of WATCH"}, nil
		case <-poll.C:
		}
	}
}

// fingerprint changes when anything does that a picture shows. Offsets only grow, but for partitions that leave, and
// those change the revision; so sums tell of any change. Committed offsets show as records of __consumer_offsets.
type fingerprint struct {
	revision       int64
	starts, highs  int64
	groups         uint64
	connections    int
	brokersPresent int
}

func (d *Desk) fingerprint() fingerprint {
	f := fingerprint{revision: d.Host.Image().Revision(), groups: d.Host.GroupChanges()}
	for _, b := range d.Host.Brokers() {
		f.brokersPresent++
		f.connections += d.Host.Connections(b.ID)
		for _, p := range b.Partitions() {
			figures := p.Figures()
			f.starts += figures.LogStartOffset
			f.highs += figures.HighWatermark
		}
	}
	return f
}

// picture is the cluster as of now. Internal topics are left out: they change with every commit and tell nothing that
// the groups don't.
func (d *Desk) picture() console.WatchState {
	image := d.Host.Image()
	w := console.WatchState{TimeMs: time.Now().UnixMilli(), Revision: image.Revision(), Brokers: d.brokers()}
	for _, t := range image.Topics() {
		for i := range t.Partitions {
			switch {
			case t.Internal:
			case len(w.Partitions) == watchRowsMax:
				w.LeftOut++
			default:
				w.Partitions = append(w.Partitions, d.partitionRow(t, int32(i)))
			}
		}
	}
	reports, _ := d.reports() // what a coordinator that still loads would say is in the next picture
	for i := range reports {
		w.Groups = append(w.Groups, reports[i].GroupRow)
		room := min(len(reports[i].Rows), watchRowsMax-len(w.Lags))
		w.Lags = append(w.Lags, reports[i].Rows[:room]...)
		w.LeftOut += len(reports[i].Rows) - room
	}
	return w
}
