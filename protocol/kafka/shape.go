package kafka

import (
	"bytes"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The layout of a request's body at one version, as a tree that walk follows. It is learned from kmsg's own encoder:
// set a field, encode, and see what changed on the wire. Written by hand it would be the second place that knows the
// protocol, and a line for each field of each API; so an API more costs one line in the table and nothing here.
// The tests hold every shape to random messages of its API and version.

type shapeKind uint8

const (
	shapeFixed  shapeKind = iota // a number, a flag, a uuid
	shapeString                  // two bytes of length, or compact
	shapeBytes                   // four bytes of length, or compact
	shapeArray                   // a count and elements
	shapeStruct                  // fields, and tagged fields where flexible
	shapeOption                  // a struct that may be null: a byte that is −1 then, and the struct
)

// shape is one value on the wire.
type shape struct {
	kind     shapeKind
	nullable bool
	flexible bool
	wireMin  int // the least bytes that it takes on the wire, 1 at least
	// memory is what the value takes in kmsg's structure. The bytes of strings, elements and what a pointer points to,
	// the pointee, come on top.
	memory, pointee int
	of              []shape // a struct's fields in wire order, an array's one element, or an option's struct
}

// shapes holds what has been learned, by key and version. To learn a shape takes some 20 µs, so it is left until the
// first request of its kind comes; two that come at once learn the same.
var shapes = func() (all [keyMax + 1][]atomic.Pointer[shape]) {
	for _, a := range table {
		all[a.Key] = make([]atomic.Pointer[shape], a.Max+1)
	}
	return all
}()

// requestShape returns the shape of a request's body. The version must be one that we serve.
func requestShape(key, version int16) *shape {
	at := &shapes[key][version]
	if s := at.Load(); s != nil {
		return s
	}
	s := learn(key, version)
	at.Store(s)
	return s
}

func learn(key, version int16) *shape {
	req := kmsg.RequestForKey(key)
	setDefaults(req)
	req.SetVersion(version)
	p := prober{req: req, flexible: req.IsFlexible()}
	s := p.structure(reflect.ValueOf(req).Elem())
	return &s
}

func setDefaults(v any) {
	if d, ok := v.(interface{ Default() }); ok {
		d.Default()
	}
}

// prober learns from one request, whose arrays hold one element wherever it is looking.
type prober struct {
	req      kmsg.Request
	flexible bool
}

// with encodes the request with a field set to this value, and leaves it so.
func (p *prober) with(field, value reflect.Value) []byte {
	field.Set(value)
	return p.req.AppendTo(nil)
}

// structure learns the fields of v. Tagged fields show by more bytes than their own and are left out: walk passes over
// all tags alike. Fields of other versions don't show.
func (p *prober) structure(v reflect.Value) shape {
	s := shape{kind: shapeStruct, flexible: p.flexible, memory: int(v.Type().Size())}
	_, top := v.Addr().Interface().(kmsg.Request)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "UnknownTags" || top && name == "Version" {
			continue
		}
		if f, there := p.field(v.Field(i)); there {
			s.of = append(s.of, f)
			s.wireMin += f.wireMin
		}
	}
	if p.flexible {
		s.wireMin++
	}
	return s
}

// field learns one field, and reports whether this version has it and it isn't tagged.
func (p *prober) field(f reflect.Value) (s shape, there bool) {
	before := reflect.New(f.Type()).Elem()
	before.Set(f)
	defer func() { f.Set(before) }()
	switch f.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Uint16, reflect.Int32, reflect.Int64, reflect.Array:
		return p.fixed(f)
	case reflect.String:
		return p.text(f, reflect.ValueOf(""), reflect.ValueOf("x"))
	case reflect.Pointer:
		switch f.Type().Elem().Kind() {
		case reflect.Struct:
			return p.option(f)
		case reflect.String:
		default:
			panic(fmt.Sprintf("kafka: no shape for %s in %T", f.Type(), p.req))
		}
		return p.text(f, reflect.ValueOf(new(string)), reflect.ValueOf(kmsg.StringPtr("x")))
	case reflect.Slice:
		if f.Type().Elem().Kind() == reflect.Uint8 {
			s, there = p.text(f, reflect.ValueOf([]byte{}), reflect.ValueOf([]byte{'x'}))
			s.kind = shapeBytes
			return s, there
		}
		return p.array(f)
	case reflect.Struct:
		s = p.structure(f)
		return s, len(s.of) > 0
	}
	panic(fmt.Sprintf("kafka: no shape for %s in %T", f.Type(), p.req))
}

// fixed turns one bit over. A field that is there changes in place; a tagged one, whose default isn't sent, appears.
func (p *prober) fixed(f reflect.Value) (shape, bool) {
	size := int(f.Type().Size())
	plain := p.req.AppendTo(nil)
	changed := p.with(f, flipped(f))
	return shape{kind: shapeFixed, wireMin: size, memory: size}, len(changed) == len(plain) && !bytes.Equal(changed, plain)
}

func flipped(f reflect.Value) reflect.Value {
	v := reflect.New(f.Type()).Elem()
	v.Set(f)
	switch f.Kind() {
	case reflect.Bool:
		v.SetBool(!f.Bool())
	case reflect.Uint16:
		v.SetUint(f.Uint() ^ 1)
	case reflect.Array:
		v.Index(0).SetUint(f.Index(0).Uint() ^ 1)
	default:
		v.SetInt(f.Int() ^ 1)
	}
	return v
}

// text compares the field empty, with one byte, and null. Null takes as many bytes as empty does, but for a tagged
// field, which then isn't sent.
func (p *prober) text(f, empty, one reflect.Value) (shape, bool) {
	s := shape{kind: shapeString, flexible: p.flexible, wireMin: 1, memory: int(f.Type().Size())}
	if f.Kind() == reflect.Pointer {
		s.pointee = int(f.Type().Elem().Size())
	}
	short, long := p.with(f, empty), p.with(f, one)
	null := short
	if f.Kind() != reflect.String {
		null = p.with(f, reflect.Zero(f.Type()))
		s.nullable = !bytes.Equal(short, null)
	}
	return s, len(long) == len(short)+1 && len(null) == len(short)
}

// array compares the field with no element, one, two, and null, and then learns the element.
func (p *prober) array(f reflect.Value) (shape, bool) {
	var wire [3][]byte
	for n := range wire {
		wire[n] = p.with(f, p.elements(f.Type(), n))
	}
	width := len(wire[2]) - len(wire[1])
	if width == 0 || len(wire[1])-len(wire[0]) != width {
		return shape{}, false
	}
	s := shape{kind: shapeArray, flexible: p.flexible, wireMin: 1, memory: int(f.Type().Size())}
	s.nullable = !bytes.Equal(wire[0], p.with(f, reflect.Zero(f.Type())))
	f.Set(p.elements(f.Type(), 1))
	element, there := p.field(f.Index(0))
	if !there {
		panic(fmt.Sprintf("kafka: no shape for the elements of %s in %T", f.Type(), p.req))
	}
	s.of = []shape{element}
	return s, true
}

// option compares the field null and with a struct of defaults, which has nothing of variable length. A tagged field brings
// more bytes than its own.
func (p *prober) option(f reflect.Value) (shape, bool) {
	null := p.with(f, reflect.Zero(f.Type()))
	value := reflect.New(f.Type().Elem())
	setDefaults(value.Interface())
	set := p.with(f, value)
	if len(set) == len(null) {
		return shape{}, false
	}
	inner := p.structure(value.Elem())
	s := shape{kind: shapeOption, nullable: true, flexible: p.flexible, wireMin: 1, memory: int(f.Type().Size()),
		pointee: inner.memory, of: []shape{inner}}
	return s, len(set) == len(null)+inner.wireMin
}

// elements makes a slice of n elements with their default values.
func (p *prober) elements(t reflect.Type, n int) reflect.Value {
	v := reflect.MakeSlice(t, n, n)
	for i := range n {
		setDefaults(v.Index(i).Addr().Interface())
	}
	return v
}
