package group

import (
	"slices"
	"strings"
)

// What ListGroups calls the types of groups.
const (
	typeClassic  = "classic"
	typeConsumer = "consumer"
)

func (g *Group) groupType() string {
	if g.consumer != nil {
		return typeConsumer
	}
	return typeClassic
}

func (m *Machine) describe(e *Describe) {
	g := m.groups[e.GroupID]
	if g == nil {
		m.reply(e.Token, refuse(ErrGroupNotFound, "Group %s not found.", e.GroupID), nil)
		return
	}
	if g.consumer != nil {
		m.reply(e.Token, refuse(ErrGroupNotFound, "Group %s is not a classic group.", e.GroupID), nil)
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
	for _, g := range m.sortedGroups() {
		typed := func(t string) bool { return strings.EqualFold(t, g.groupType()) }
		if len(e.Types) > 0 && !slices.ContainsFunc(e.Types, typed) ||
			len(e.States) > 0 && !slices.ContainsFunc(e.States, g.state.named) {
			continue
		}
		listed := ListedGroup{GroupID: g.id, ProtocolType: orEmpty(g.protocolType), State: g.state, Type: g.groupType()}
		if g.consumer != nil {
			listed.ProtocolType = consumerType
		}
		r.Groups = append(r.Groups, listed)
	}
	m.reply(e.Token, nil, r)
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
