package group

import (
	"slices"
	"strings"
)

// groupType is what ListGroups calls a group of the classic protocol.
const groupType = "classic"

func (m *Machine) describe(e *Describe) {
	g := m.groups[e.GroupID]
	if g == nil {
		m.reply(e.Token, ErrGroupNotFound, nil)
		return
	}
	r := &DescribeResult{State: g.state, ProtocolType: orEmpty(g.protocolType), Generation: g.generation}
	if g.state == Stable {
		r.Protocol = orEmpty(g.protocolName)
	}
	r.Members = make([]DescribeMember, len(g.members))
	for i, x := range g.members {
		d := DescribeMember{
			MemberID: x.id, InstanceID: x.instanceID, ClientID: x.clientID, ClientHost: x.clientHost, Assignment: x.assignment,
		}
		if g.state == Stable {
			d.Metadata = x.metadata(r.Protocol)
		}
		r.Members[i] = d
	}
	m.reply(e.Token, nil, r)
}

func (m *Machine) list(e *List) {
	r := &ListResult{}
	typeWanted := len(e.Types) == 0 || slices.ContainsFunc(e.Types, func(t string) bool { return strings.EqualFold(t, groupType) })
	for _, g := range m.sortedGroups() {
		if typeWanted && (len(e.States) == 0 || slices.ContainsFunc(e.States, g.state.named)) {
			r.Groups = append(r.Groups, ListedGroup{
				GroupID: g.id, ProtocolType: orEmpty(g.protocolType), State: g.state, Type: groupType,
			})
		}
	}
	m.reply(e.Token, nil, r)
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
