package memory

import (
	"iter"
	"slices"
	"strings"

	"millrace/metadata"
)

// item is a key's value. It is replaced as a whole, never changed.
type item struct {
	value    []byte
	revision int64
	lease    metadata.LeaseID
}

// dir is the tree of keys, cut at each '/'. It makes put and delete cost the
// same however many keys there are, and a prefix that ends in '/' is a
// subtree. One sorted list would make creating n topics cost n² moves; a balanced
// tree would do too, at four times the code.
type dir struct {
	dirs  map[string]*dir
	items map[string]item
}

// split cuts a key into the names of its directories and its own.
func split(key string) (path, name string) {
	i := strings.LastIndexByte(key, '/') + 1
	return key[:i], key[i:]
}

// find returns the directory of path, which is "" or ends in '/'; nil if
// there is none and create is false.
func (d *dir) find(path string, create bool) *dir {
	for path != "" {
		name, rest, _ := strings.Cut(path, "/")
		sub := d.dirs[name]
		if sub == nil {
			if !create {
				return nil
			}
			if d.dirs == nil {
				d.dirs = make(map[string]*dir)
			}
			sub = &dir{}
			d.dirs[name] = sub
		}
		d, path = sub, rest
	}
	return d
}

func (d *dir) get(key string) (item, bool) {
	path, name := split(key)
	sub := d.find(path, false)
	if sub == nil {
		return item{}, false
	}
	it, ok := sub.items[name]
	return it, ok
}

func (d *dir) put(key string, it item) {
	path, name := split(key)
	sub := d.find(path, true)
	if sub.items == nil {
		sub.items = make(map[string]item)
	}
	sub.items[name] = it
}

// remove takes a key out, and each directory that is empty then.
func (d *dir) remove(key string) {
	first, rest, nested := strings.Cut(key, "/")
	if !nested {
		delete(d.items, key)
		return
	}
	sub := d.dirs[first]
	if sub == nil {
		return
	}
	sub.remove(rest)
	if len(sub.dirs) == 0 && len(sub.items) == 0 {
		delete(d.dirs, first)
	}
}

// list returns the keys that start with prefix, in byte order.
func (d *dir) list(prefix string) []metadata.KeyValue {
	path, start := split(prefix)
	sub := d.find(path, false)
	if sub == nil {
		return nil
	}
	var kvs []metadata.KeyValue
	for key, it := range sub.all(path, start) {
		kvs = append(kvs, metadata.KeyValue{Key: key, Value: it.value, Revision: it.revision})
	}
	slices.SortFunc(kvs, func(a, b metadata.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	return kvs
}

// all goes over the keys of d, whose own path is given, that start with start
// after it; in no order.
func (d *dir) all(path, start string) iter.Seq2[string, item] {
	return func(yield func(string, item) bool) {
		for name, it := range d.items {
			if strings.HasPrefix(name, start) && !yield(path+name, it) {
				return
			}
		}
		for name, sub := range d.dirs {
			if !strings.HasPrefix(name, start) {
				continue
			}
			for key, it := range sub.all(path+name+"/", "") {
				if !yield(key, it) {
					return
				}
			}
		}
	}
}
