package metadata

import (
	"errors"
	"strings"
	"testing"
)

func TestValidateTopicName(t *testing.T) {
	tests := []struct {
		name string
		ok   bool
	}{
		{"a", true}, {"A.b_c-9", true}, {"...", true}, {"-", true}, {"__consumer_offsets", true},
		{strings.Repeat("x", 249), true}, {strings.Repeat("x", 250), false},
		{"", false}, {".", false}, {"..", false}, {"a b", false}, {"a/b", false}, {"ö", false}, {"주제", false},
		{"a\x00", false}, {"a:b", false}, {"a\n", false}, {"\xff", false},
	}
	for _, test := range tests {
		err := ValidateTopicName(test.name)
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrInvalidTopic) {
			t.Errorf("ValidateTopicName(%q) = %v, want ok %v", test.name, err, test.ok)
		}
	}
}

// FuzzValidateTopicName: a legal name is a path element, and prints as it is.
func FuzzValidateTopicName(f *testing.F) {
	for _, s := range []string{"a.b", "..", "", "a/b", "주제"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if ValidateTopicName(name) == nil && (strings.ContainsAny(name, "/ %\\\"'\n") || len(name) > 249 || name == "") {
			t.Errorf("%q is legal", name)
		}
	})
}

func TestIsInternal(t *testing.T) {
	for name, want := range map[string]bool{
		"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true, "__other": false, "a": false,
	} {
		if got := IsInternal(name); got != want {
			t.Errorf("IsInternal(%q) = %v", name, got)
		}
	}
}

func TestTopicID(t *testing.T) {
	seen := make(map[TopicID]bool)
	for range 1000 {
		id := NewTopicID()
		if s := id.String(); s[0] == '-' || len(s) != 22 || id.IsZero() || seen[id] {
			t.Fatalf("NewTopicID() = %s", s)
		}
		seen[id] = true
		if back, err := ParseTopicID(id.String()); err != nil || back != id {
			t.Errorf("ParseTopicID(%v) = %v, %v", id, back, err)
		}
	}
	for _, s := range []string{"", "x", strings.Repeat("A", 21) + "B", strings.Repeat("A", 23), strings.Repeat("*", 22), strings.Repeat("A", 24)} {
		if id, err := ParseTopicID(s); err == nil {
			t.Errorf("ParseTopicID(%q) = %v", s, id)
		}
	}
}

func TestErrorf(t *testing.T) {
	err := error(Errorf(ErrTopicExists, "Topic '%s' already exists.", "a"))
	if !errors.Is(err, ErrTopicExists) || errors.Is(err, ErrInvalidTopic) || err.Error() != "Topic 'a' already exists." {
		t.Errorf("%v", err)
	}
}
