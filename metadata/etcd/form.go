//go:build !noembed

package etcd

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.uber.org/zap"
)

// A member without data has to find out what it is: one of a new cluster's, or an
// old one's that lost its memory. Starting etcd with what the command line says
// would make it the former in both cases. An etcd that forgot what it
// acknowledged and whom it voted for, under the same identity, can lose committed
// metadata, and stops its neighbours with a panic.
//
// So each start without data draws a nonce, and members tell each other theirs.
// A new cluster is made of one nonce from every member: its token, and with it
// every member's identity, is a hash of all of them. No other start can have
// that token. And who finds a running cluster that his nonce is no part of is
// taken in as a new member, after his former self was removed.

// memberStatus is what a member answers to GET /millrace/status.
type memberStatus struct {
	Name    string            `json:"name"`
	Cluster map[string]string `json:"cluster"`          // as it was configured
	Nonce   string            `json:"nonce,omitempty"`  // "": it has data
	Chosen  map[string]string `json:"chosen,omitempty"` // the nonces that its cluster is made of
	Member  bool              `json:"member"`           // it has data, or etcd runs
	Leaving bool              `json:"leaving"`          // it is about to stop
}

// step is what a member without data does next.
type step struct {
	chosen map[string]string // start a new cluster of these
	join   []string          // ask one of these members
	// neither: wait
}

// decide is the rule. others has the answers of those that answered.
func decide(me memberStatus, others map[string]memberStatus) step {
	var members []string
	nonces := map[string]string{me.Name: me.Nonce}
	for name := range me.Cluster {
		other, ok := others[name]
		switch {
		case name == me.Name || !ok:
		case other.Chosen[me.Name] == me.Nonce:
			return step{chosen: other.Chosen}
		case other.Member || other.Nonce == "":
			members = append(members, name)
		default:
			nonces[name] = other.Nonce
		}
	}
	if len(members) > 0 {
		slices.Sort(members)
		return step{join: members}
	}
	if len(nonces) == len(me.Cluster) {
		return step{chosen: nonces}
	}
	return step{}
}

// token is the new cluster's: nobody else's.
func token(chosen map[string]string) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		fmt.Fprintf(h, "%s=%s\n", name, chosen[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// origin is how a member comes to be.
type origin struct {
	what    string // for the log
	token   string
	initial string   // etcd's initial-cluster
	joins   bool     // an existing cluster
	restart bool     // from its data
	id      types.ID // as which it joins; 0: whatever comes
}

// form finds out what this member, which has no data, is to be.
func (e *Embedded) form(ctx context.Context) (origin, error) {
	nonce := rand.Text()
	e.setStatus(func(s *memberStatus) { s.Nonce, s.Chosen, s.Member = nonce, nil, false })
	if len(e.options.Cluster) == 1 {
		chosen := map[string]string{e.options.Name: nonce}
		return e.found(chosen), nil
	}
	var why error
	for said := time.Now(); ; {
		others, errs := e.askAll(ctx)
		me := e.getStatus()
		for name, other := range others {
			if !maps.Equal(other.Cluster, me.Cluster) || other.Name != name {
				return origin{}, fmt.Errorf("etcd: member %s at %s was started as %q of the cluster %v, and this is %s of %v",
					name, me.Cluster[name], other.Name, other.Cluster, me.Name, me.Cluster)
			}
		}
		next := decide(me, others)
		if next.chosen != nil {
			return e.found(next.chosen), nil
		}
		why = waiting(errs, others)
		for _, name := range next.join {
			o, err := e.askToJoin(ctx, name, nonce)
			if err == nil {
				return o, nil
			}
			why = fmt.Errorf("member %s runs without us and can't take us in: %w", name, err)
		}
		if time.Since(said) > formNoticeEvery {
			said = time.Now()
			e.log.Info("etcd waits for the cluster's other members", zap.Error(why))
		}
		if !pause(ctx, formPollEvery) {
			return origin{}, fmt.Errorf("etcd: %s found neither a cluster nor all of its members: %w. %s", me.Name, why, adviceForm)
		}
	}
}

const (
	adviceForm = "A new cluster needs all its members once, at the same time. A member that lost its data needs a majority of the others running. " +
		"If a majority lost theirs, the metadata is gone: stop all members, and start them without data"
	adviceRemoved = "This member's data is of a former self that was removed from the cluster. Remove the folder, and start again: it will be taken in as a new member"
)

func waiting(errs map[string]error, others map[string]memberStatus) error {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		lines = append(lines, fmt.Sprintf("%s doesn't answer (%v)", name, errs[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		lines = append(lines, name+" answers")
	}
	return errors.New(strings.Join(lines, ", "))
}

// found makes this member one of a new cluster's.
func (e *Embedded) found(chosen map[string]string) origin {
	e.setStatus(func(s *memberStatus) { s.Chosen, s.Member = chosen, true })
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e.options.Cluster)) {
		parts = append(parts, name+"="+e.peerURL(name))
	}
	return origin{what: "new cluster", token: token(chosen), initial: strings.Join(parts, ",")}
}

// askAll asks every other member for its status.
func (e *Embedded) askAll(ctx context.Context) (map[string]memberStatus, map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, formAskTimeout)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	answers, errs := make(map[string]memberStatus), make(map[string]error)
	for name := range e.options.Cluster {
		if name == e.options.Name {
			continue
		}
		wg.Go(func() {
			var s memberStatus
			err := e.request(ctx, name, frontPath+"status", nil, &s)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs[name] = err
			} else {
				answers[name] = s
			}
		})
	}
	wg.Wait()
	return answers, errs
}

// request is one to a member; with a body it is a POST.
func (e *Embedded) request(ctx context.Context, name, path string, body, reply any) error {
	method := http.MethodGet
	var text []byte
	if body != nil {
		method = http.MethodPost
		text, _ = json.Marshal(body) // strings only
	}
	r, err := http.NewRequestWithContext(ctx, method, e.peerURL(name)+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := e.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, frontBodyMax))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, strings.Trim(string(text), "\"\n"))
	}
	return json.Unmarshal(text, reply)
}

type joinRequest struct{ Name, Nonce string }

type joinReply struct {
	Initial string // etcd's initial-cluster
	ID      uint64 // as which the member was added
}

func (e *Embedded) askToJoin(ctx context.Context, member, nonce string) (origin, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var reply joinReply
	if err := e.request(ctx, member, frontPath+"join", joinRequest{e.options.Name, nonce}, &reply); err != nil {
		return origin{}, err
	}
	e.setStatus(func(s *memberStatus) { s.Member = true })
	for { // etcd asks any member whether it is known, and gives up if that one is behind
		if _, without := e.whoKnows(ctx, types.ID(reply.ID)); without == 0 || !pause(ctx, joinPollEvery) {
			break
		}
	}
	return origin{what: "joined a running cluster", initial: reply.Initial, joins: true, id: types.ID(reply.ID)}, nil
}

// whoKnows counts the other members that have id among the cluster's members, and
// those that haven't.
func (e *Embedded) whoKnows(ctx context.Context, id types.ID) (knows, without int) {
	for name := range e.options.Cluster {
		if name == e.options.Name {
			continue
		}
		one, done := context.WithTimeout(ctx, formAskTimeout)
		var members []membership.Member
		err := e.request(one, name, "/members", nil, &members)
		done()
		switch {
		case err != nil: // it isn't there
		case slices.ContainsFunc(members, func(m membership.Member) bool { return m.ID == id }):
			knows++
		default:
			without++
		}
	}
	return knows, without
}

// answer serves the front.
func (e *Embedded) answer(method, path string, body []byte) (code int, reply any) {
	switch {
	case method == http.MethodGet && path == "status":
		return http.StatusOK, e.getStatus()
	case method == http.MethodPost && path == "join":
		var r joinRequest
		if err := json.Unmarshal(body, &r); err != nil {
			return http.StatusBadRequest, err.Error()
		}
		admitted, err := e.admit(r)
		if err != nil {
			e.log.Debug("a member can't be taken in", zap.String("member", r.Name), zap.Error(err))
			return http.StatusServiceUnavailable, err.Error()
		}
		return http.StatusOK, admitted
	}
	return http.StatusNotFound, "no such thing"
}

// admit takes a member in that lost its data. The removal of its former self
// comes first, so when it is allowed to start, a majority of those that
// remember knows that the former self has no vote any more.
func (e *Embedded) admit(r joinRequest) (joinReply, error) {
	e.admitting.Lock()
	defer e.admitting.Unlock()
	ctx, cancel := context.WithTimeout(e.ctx, 2*joinChange+formAskTimeout)
	defer cancel()
	server := e.running.Load()
	if _, ok := e.options.Cluster[r.Name]; !ok || r.Name == e.options.Name || r.Nonce == "" {
		return joinReply{}, fmt.Errorf("%q isn't another member of this cluster", r.Name)
	}
	if server == nil || server.Leader() == 0 {
		return joinReply{}, errors.New("etcd has no leader here")
	}
	var s memberStatus
	if err := e.request(ctx, r.Name, frontPath+"status", nil, &s); err != nil {
		return joinReply{}, fmt.Errorf("asking back: %w", err)
	}
	if s.Member || s.Nonce != r.Nonce {
		return joinReply{}, fmt.Errorf("whoever has the address of %s isn't the one who asks to join", r.Name)
	}
	url := e.peerURL(r.Name)
	for _, m := range server.Cluster().Members() {
		if slices.Contains(m.PeerURLs, url) {
			e.log.Info("removing a member from etcd that lost its data", zap.String("member", r.Name), zap.Stringer("id", m.ID))
			one, done := context.WithTimeout(ctx, joinChange)
			_, err := server.RemoveMember(one, uint64(m.ID))
			done()
			if err != nil {
				return joinReply{}, fmt.Errorf("removing the former %s: %w", r.Name, err)
			}
		}
	}
	urls, err := types.NewURLs([]string{url})
	if err != nil {
		return joinReply{}, err
	}
	now := time.Now()
	added := membership.NewMember("", urls, "", &now)
	one, done := context.WithTimeout(ctx, joinChange)
	defer done()
	members, err := server.AddMember(one, *added)
	if err != nil {
		return joinReply{}, fmt.Errorf("adding %s: %w", r.Name, err)
	}
	e.log.Info("added a member to etcd", zap.String("member", r.Name), zap.Stringer("id", added.ID))
	return joinReply{Initial: e.initial(members), ID: uint64(added.ID)}, nil
}

// initial is etcd's initial-cluster for a member that joins. One that was added
// and hasn't started yet has no name in etcd.
func (e *Embedded) initial(members []*membership.Member) string {
	var parts []string
	for _, m := range members {
		for _, url := range m.PeerURLs {
			name := m.Name
			for configured := range e.options.Cluster {
				if e.peerURL(configured) == url {
					name = configured
				}
			}
			parts = append(parts, name+"="+url)
		}
	}
	return strings.Join(parts, ",")
}
