package console

import (
	"context"
	"time"

	"millrace/metadata"
	"millrace/protocol/console"
)

const (
	// watchEvery is how often WATCH looks whether any figure changed: offsets, groups, connections. They are published
	// anyway, so that being watched costs the brokers' hot path nothing; that is why it polls them. Of changes of the
	// metadata it is told. No two pictures are closer together than this.
	watchEvery = 50 * time.Millisecond
	// watchRowsMax bounds a picture.
	watchRowsMax = 200
)

// watch pushes the state of the cluster at once, then on each change and at least every interval, until the next line.
// A picture that the client had no room for is made up for by the next one, which has its events too.
func (d *Desk) watch(ctx context.Context, s *Session, c console.Watch, slot Slot) (console.Answer, error) {
	news := newsroom{more: make(chan struct{}, 1)}
	defer d.Cluster.Subscribe(news.take)()
	poll := time.NewTicker(watchEvery)
	defer poll.Stop()
	var seen fingerprint
	var shownAt time.Time
	for {
		now, since := d.fingerprint(), time.Since(shownAt)
		if since >= watchEvery && (now != seen || news.any()) || since >= c.Interval {
			events, leftOut := news.collect()
			picture := d.picture()
			picture.Events, picture.EventsLeftOut = events, leftOut
			if !slot.Push(reply(func(dst []byte) []byte { return console.RenderMore(dst, s.format, picture) })) {
				news.giveBack(events, leftOut)
			}
			seen, shownAt = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return console.Done{Message: "end of WATCH"}, nil
		case <-news.more:
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
		for _, p := range b.Replicas() {
			figures := p.Figures()
			f.starts += figures.LogStartOffset
			f.highs += figures.HighWatermark
		}
	}
	return f
}

// picture is the cluster as of now, without what has happened.
func (d *Desk) picture() console.WatchState {
	image := d.Host.Image()
	w := console.WatchState{TimeMs: time.Now().UnixMilli(), Revision: image.Revision(), Brokers: d.brokers()}
	d.watchPartitions(image, &w)
	reports, _ := d.reports() // what a coordinator that still loads would say is in the next picture
	for i := range reports {
		w.Groups = append(w.Groups, reports[i].GroupRow)
		room := min(len(reports[i].Rows), watchRowsMax-len(w.Lags))
		w.Lags = append(w.Lags, reports[i].Rows[:room]...)
		w.LeftOut += len(reports[i].Rows) - room
	}
	return w
}

// watchPartitions shows partitions, those in trouble first if there are too many for a picture. Internal topics are left
// out unless they are in trouble: they change with every commit and tell nothing that the groups don't.
func (d *Desk) watchPartitions(image *metadata.Image, w *console.WatchState) {
	type at struct {
		topic *metadata.Topic
		index int32
	}
	var all, troubled []at
	for _, t := range image.Topics() {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			offline, under := image.LeaderOf(p) == metadata.NoBroker, underReplicated(image, p)
			if offline {
				w.Offline++
			}
			if under {
				w.UnderReplicated++
			}
			if !t.Internal || offline || under {
				all = append(all, at{t, int32(i)})
			}
			if (offline || under) && len(troubled) < watchRowsMax {
				troubled = append(troubled, at{t, int32(i)})
			}
		}
	}
	shown := all
	if len(all) > watchRowsMax {
		shown = troubled
		for i := 0; len(shown) < watchRowsMax; i++ {
			if p := &all[i].topic.Partitions[all[i].index]; image.LeaderOf(p) != metadata.NoBroker && !underReplicated(image, p) {
				shown = append(shown, all[i])
			}
		}
	}
	for _, p := range shown {
		w.Partitions = append(w.Partitions, d.partitionRow(image, p.topic, p.index))
	}
	w.LeftOut += len(all) - len(shown)
}
