package group

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongTexts: what fits into a request need not fit into a record, a member id or a log line.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("한", 40_000/3)
	m := New(DefaultConfig())
	m.Step(&Loaded{})
	join := func(change func(*Join)) (*JoinResult, error) {
		e := &Join{GroupID: "g", ClientID: "c", SessionTimeoutMs: 10_000, RebalanceTimeoutMs: 1, ProtocolType: "consumer",
			Protocols: []Protocol{{Name: "range"}}, NewMemberUUID: "123456789012345678901234567890123456", RequireMemberID: true}
		change(e)
		for _, f := range m.Step(e) {
			if f.Kind == EffectReply {
				return f.Result.(*JoinResult), f.Err
			}
		}
		return nil, nil
	}
	tests := []struct {
		what   string
		change func(*Join)
		want   error
	}{
		{"group id", func(e *Join) { e.GroupID = long }, ErrUnknownServerError},
		{"client id", func(e *Join) { e.ClientID = long }, ErrUnknownServerError},
		{"instance id", func(e *Join) { e.InstanceID = &long }, ErrUnknownServerError},
		{"protocol type", func(e *Join) { e.ProtocolType = long }, ErrUnknownServerError},
		{"protocol", func(e *Join) { e.Protocols[0].Name = long }, ErrUnknownServerError},
		{"client id that just fits", func(e *Join) { e.ClientID = long[:32_766] }, ErrMemberIDRequired},
	}
	for _, test := range tests {
		r, err := join(test.change)
		if err != test.want {
			t.Errorf("%s: %v, want %v", test.what, err, test.want)
		}
		if len(r.MemberID) > maxString || !utf8.ValidString(r.MemberID) {
			t.Errorf("%s: member id of %d bytes", test.what, len(r.MemberID))
		}
	}
	e := &Join{GroupID: "g", ClientID: long[:32_766], SessionTimeoutMs: 10_000, ProtocolType: "consumer", Reason: long,
		Protocols: []Protocol{{Name: "range"}}, NewMemberUUID: "1", InstanceID: new(long[:32_700])}
	for _, f := range m.Step(e) {
		if f.Kind == EffectGroupChanged && (len(f.Group.Reason) > 500 || !utf8.ValidString(f.Group.Reason)) {
			t.Errorf("reason of %d bytes", len(f.Group.Reason))
		}
	}
	c := &Commit{GroupID: long, Generation: -1, RetentionMs: -1}
	if f := one(m.Step(c)); f.Err != ErrInvalidGroupID {
		t.Errorf("commit with a long group id: %v", f.Err)
	}
}
