package group

import (
	"strconv"
	"strings"
)

// What a client of the property test does, which is what a consumer does.

const clientSessionMs = 6_000

func (c *client) die() {
	*c = client{name: c.name, instance: c.instance}
}

func (w *world) act(c *client) {
	switch {
	case !c.alive || c.waiting != nil:
	case !c.stable && c.generation > 0:
		w.sync(c)
	case !c.stable:
		w.join(c)
	case w.nowMs >= c.dueMs:
		c.dueMs = w.nowMs + clientSessionMs/3
		r := &request{client: c}
		r.event = &Heartbeat{w.head(r), "g", c.memberID, c.instance, c.generation}
		w.ask(c, r)
	}
}

func (w *world) head(r *request) Head { return Head{NowMs: w.nowMs, Token: r} }

func (w *world) join(c *client) {
	w.uuids++
	r := &request{client: c}
	r.event = &Join{
		Head: w.head(r), GroupID: "g", MemberID: c.memberID, InstanceID: c.instance, ClientID: c.name,
		SessionTimeoutMs: clientSessionMs, RebalanceTimeoutMs: 10_000, ProtocolType: "consumer",
		Protocols:       []Protocol{{"range", subscription("t" + strconv.Itoa(w.rand.IntN(2)))}},
		RequireMemberID: w.rand.IntN(4) > 0, SkipAssignment: w.rand.IntN(2) == 0, NewMemberUUID: strconv.Itoa(w.uuids),
	}
	w.ask(c, r)
}

func (w *world) sync(c *client) {
	r := &request{client: c}
	e := &Sync{Head: w.head(r), GroupID: "g", MemberID: c.memberID, InstanceID: c.instance, Generation: c.generation}
	r.event = e
	if w.leaders[c.generation] == c.memberID {
		for member, a := range w.given[c.generation] {
			e.Assignments = append(e.Assignments, Assignment{member, []byte(a)})
		}
	}
	w.ask(c, r)
}

func (w *world) leave(c *client) {
	if c.waiting == nil && c.memberID != "" {
		r := &request{client: c}
		r.event = &Leave{Head: w.head(r), GroupID: "g", Members: []LeaveMember{{MemberID: c.memberID, InstanceID: c.instance}}}
		w.ask(c, r)
		c.die()
	}
}

func (w *world) commit(c *client) {
	if c.waiting == nil && c.stable {
		r := &request{client: c}
		r.event = &Commit{
			Head: w.head(r), GroupID: "g", MemberID: c.memberID, InstanceID: c.instance, Generation: c.generation, RetentionMs: -1,
			Topics: []CommitTopic{{"t0", []CommitPartition{{int32(w.rand.IntN(3)), w.nowMs, 1, c.name}}}},
		}
		w.ask(c, r)
	}
}

// deleteOffsets is asked for by somebody else, of any group.
func (w *world) deleteOffsets(c *client) {
	if c.waiting == nil {
		r := &request{client: c}
		r.event = &DeleteOffsets{w.head(r), "g", []FetchTopic{{"t0", []int32{int32(w.rand.IntN(3))}}, {"t1", []int32{0}}}}
		w.ask(c, r)
	}
}

// answered moves a client on.
func (w *world) answered(r *request, f Effect) {
	c := r.client
	if _, ok := r.event.(*DeleteOffsets); ok {
		return // whatever came of it
	}
	switch f.Err {
	case nil:
	case ErrMemberIDRequired:
		c.memberID = f.Result.(*JoinResult).MemberID
		return
	case ErrUnknownMemberID, ErrFencedInstanceID: // a real client that is fenced stops; here it starts again at once
		c.memberID, c.generation, c.stable = "", 0, false
		return
	case ErrRebalanceInProgress, ErrIllegalGeneration, ErrCoordinatorNotAvailable:
		if _, commit := r.event.(*Commit); !commit {
			c.generation, c.stable = 0, false
		}
		return
	default:
		w.t.Errorf("%T: unexpected error %v", r.event, f.Err)
		return
	}
	switch e := r.event.(type) {
	case *Join:
		w.joined(c, e, f.Result.(*JoinResult))
	case *Sync:
		c.stable, c.dueMs = true, w.nowMs
		// What the leader decided for this very member, or for the one that the static member was before it came back.
		who := c.name
		if c.instance != nil {
			who = *c.instance
		}
		want := "generation " + strconv.Itoa(int(e.Generation)) + " of " + who + "-"
		if got := string(f.Result.(*SyncResult).Assignment); !strings.HasPrefix(got, want) {
			w.t.Errorf("%s got %q in generation %d", c.name, got, e.Generation)
		}
	}
}

func (w *world) joined(c *client, e *Join, r *JoinResult) {
	c.memberID, c.generation = r.MemberID, r.Generation
	if r.SkipAssignment || r.Leader != r.MemberID {
		return
	}
	if leader, ok := w.leaders[r.Generation]; ok && leader != r.MemberID {
		w.t.Errorf("generation %d has two leaders, %s and %s", r.Generation, leader, r.MemberID)
	}
	w.leaders[r.Generation] = r.MemberID
	if w.given[r.Generation] == nil {
		given := map[string]string{}
		for _, x := range r.Members {
			given[x.MemberID] = "generation " + strconv.Itoa(int(r.Generation)) + " of " + x.MemberID
		}
		w.given[r.Generation] = given
	}
}
