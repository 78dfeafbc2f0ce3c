package storetest

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"millrace/metadata"
)

func testRange(_ *testing.T, s *fixture) {
	if kvs, _ := s.list(""); len(kvs) != 0 {
		s.Fatalf("an empty store holds %v", kvs)
	}
	first := s.must(put("a/1", "x"), put("a/2", "y"), put("b", "z"), put("a", "0"))
	second := s.must(put("a/2", "Y"), put("empty", ""))
	if second <= first {
		s.Fatalf("revision %d after %d", second, first)
	}
	tests := []struct {
		prefix string
		want   []string
	}{
		{"", []string{"a", "a/1", "a/2", "b", "empty"}},
		{"a", []string{"a", "a/1", "a/2"}},
		{"a/", []string{"a/1", "a/2"}},
		{"a/2", []string{"a/2"}},
		{"c/", nil},
		{"a/2/", nil},
	}
	for _, test := range tests {
		kvs, revision := s.list(test.prefix)
		var keys []string
		for _, kv := range kvs {
			keys = append(keys, kv.Key)
		}
		if !slices.Equal(keys, test.want) || revision < second {
			s.Errorf("Range(%q) = %v at %d, want %v at %d or later", test.prefix, keys, revision, test.want, second)
		}
	}
	kvs, _ := s.list("a/")
	if kvs[0].Revision != first || kvs[1].Revision != second || string(kvs[1].Value) != "Y" {
		s.Errorf("Range(a/) = %v, want revisions %d and %d", kvs, first, second)
	}
}

func testRangeOrder(_ *testing.T, s *fixture) {
	keys := []string{"t/a.b/1", "t/a", "t/a/1", "t/a-b", "t/ab", "t/a.b", "u", "t/a_b", "t/B"}
	for _, key := range keys {
		s.must(put(key, ""))
	}
	slices.Sort(keys)
	kvs, _ := s.list("")
	for i, kv := range kvs {
		if kv.Key != keys[i] {
			s.Fatalf("key %d is %q, want %q", i, kv.Key, keys[i])
		}
	}
}

func testCommitTable(_ *testing.T, s *fixture) {
	revision := s.must(put("k", "1"))
	tests := []struct {
		name     string
		compares []metadata.Compare
		ops      []metadata.Op
		err      error
		want     []string
	}{
		{"absent", []metadata.Compare{{Key: "new"}}, []metadata.Op{put("new", "x")}, nil, []string{"k=1", "new=x"}},
		{"not absent", []metadata.Compare{{Key: "k"}}, []metadata.Op{put("k", "2")}, metadata.ErrConflict, []string{"k=1", "new=x"}},
		{"not there", []metadata.Compare{{Key: "z", Revision: revision}}, []metadata.Op{put("k", "2")}, metadata.ErrConflict, []string{"k=1", "new=x"}},
		{"one of two fails", []metadata.Compare{{Key: "k", Revision: revision}, {Key: "new", Revision: revision}},
			[]metadata.Op{put("k", "2")}, metadata.ErrConflict, []string{"k=1", "new=x"}},
		{"same", []metadata.Compare{{Key: "k", Revision: revision}}, []metadata.Op{put("k", "2"), del("new")}, nil, []string{"k=2"}},
		{"changed since", []metadata.Compare{{Key: "k", Revision: revision}}, []metadata.Op{put("k", "3")}, metadata.ErrConflict, []string{"k=2"}},
		{"deleted since", []metadata.Compare{{Key: "new"}}, []metadata.Op{del("k")}, nil, nil},
	}
	for _, test := range tests {
		if _, err := s.commit(metadata.Txn{Compares: test.compares, Ops: test.ops}); !errors.Is(err, test.err) {
			s.Errorf("%s: error %v, want %v", test.name, err, test.err)
		}
		s.wantContent(test.want...)
	}
}

// testAtomic lists while pairs of keys are written together: they are never seen
// apart.
func testAtomic(t *testing.T, s *fixture) {
	const rounds = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			v := strconv.Itoa(i)
			if _, err := s.commit(metadata.Txn{Ops: []metadata.Op{put("a", v), put("b", v)}}); err != nil {
				t.Error(err)
			}
		}
	})
	for range rounds {
		kvs, _, err := s.Range(s.ctx(), "")
		if err != nil {
			t.Fatal(err)
		}
		if len(kvs) != 0 && (len(kvs) != 2 || string(kvs[0].Value) != string(kvs[1].Value) || kvs[0].Revision != kvs[1].Revision) {
			t.Errorf("half a transaction: %v", kvs)
		}
	}
	wg.Wait()
}

func testWithoutEffect(_ *testing.T, s *fixture) {
	before := s.must(put("k", "v"))
	for _, ops := range [][]metadata.Op{nil, {del("nope")}, {delPrefix("nope/")}} {
		revision, err := s.commit(metadata.Txn{Compares: []metadata.Compare{{Key: "k", Revision: before}}, Ops: ops})
		if err != nil || revision < before {
			s.Errorf("Commit(%v) = %d, %v, want %d or later", ops, revision, err, before)
		}
	}
	if kvs, _ := s.list(""); len(kvs) != 1 || kvs[0].Revision != before {
		s.Errorf("the store holds %v", kvs)
	}
}

// testCommitRaces has several writers raise one counter, each comparing with
// what it read: no increment is lost.
func testCommitRaces(t *testing.T, s *fixture) {
	const writers, increments = 4, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < increments; {
				kvs, _, err := s.Range(s.ctx(), "n")
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				var seen int64
				if len(kvs) > 0 {
					n, _ = strconv.Atoi(string(kvs[0].Value))
					seen = kvs[0].Revision
				}
				_, err = s.commit(metadata.Txn{
					Compares: []metadata.Compare{{Key: "n", Revision: seen}}, Ops: []metadata.Op{put("n", strconv.Itoa(n+1))},
				})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, metadata.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.wantContent("n=" + strconv.Itoa(writers*increments))
}

func testDeletePrefix(_ *testing.T, s *fixture) {
	from := s.must(put("p/1", ""), put("p/1/x", ""), put("p/10", ""), put("p", ""), put("q/1", "")) + 1
	w := s.watch(from)
	s.wantContent("p=", "p/1=", "p/1/x=", "p/10=", "q/1=")
	s.must(delPrefix("p/1/"))
	s.wantContent("p=", "p/1=", "p/10=", "q/1=")
	revision := s.must(delPrefix("p/"), put("q/2", ""))
	s.wantContent("p=", "q/1=", "q/2=")
	var keys []string
	for _, ev := range w.reach(revision) {
		if ev.Deleted != (ev.Key[0] == 'p') {
			s.Errorf("event %+v", ev)
		}
		keys = append(keys, ev.Key)
	}
	slices.Sort(keys[1:])
	if want := []string{"p/1/x", "p/1", "p/10", "q/2"}; !slices.Equal(keys, want) {
		s.Errorf("events of %q, want %q", keys, want)
	}
}

func testTxnMax(_ *testing.T, s *fixture) {
	n := s.TxnMax()
	if n == 0 {
		n = 1000
	}
	var t metadata.Txn
	for i := range n {
		key := "k/" + strconv.Itoa(i)
		t.Compares = append(t.Compares, metadata.Compare{Key: key})
		t.Ops = append(t.Ops, put(key, "v"))
	}
	if _, err := s.commit(t); err != nil {
		s.Fatalf("a transaction of %d ops and as many compares: %v", n, err)
	}
	if kvs, _ := s.list("k/"); len(kvs) != n {
		s.Errorf("%d keys, want %d", len(kvs), n)
	}
}
