package kafka

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The tests compare with kmsg on messages filled at random. Everything here is seeded: a failure comes again.

const rounds = 30 // messages per key and version

// cuts is how many lengths of a body to try that are too short: all of them, in some of the rounds.
func cuts(round int, body []byte) int {
	if round%6 > 0 {
		return 0
	}
	return len(body)
}

// filler fills kmsg structures with random values, nulls, empty lists and unknown tags among them.
type filler struct {
	*rand.Rand
	tags bool // put in unknown tagged fields
}

func newFiller(seed uint64) *filler {
	return &filler{Rand: rand.New(rand.NewPCG(seed, 2024)), tags: true}
}

func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.number(v.Type().Bits()))
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(f.Uint64() >> (64 - v.Type().Bits()))
	case reflect.String:
		v.SetString(f.text())
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		if v.SetZero(); f.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		f.fillSlice(v)
	case reflect.Struct:
		f.fillStruct(v)
	default:
		panic(fmt.Sprintf("can't fill %s", v.Type()))
	}
}

func (f *filler) fillSlice(v reflect.Value) {
	n := f.IntN(5) - 1
	if v.Type().Elem().Kind() == reflect.Uint8 && n > 0 {
		n = f.IntN(400) // beyond what one byte of compact length can say
	}
	if v.SetZero(); n < 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(v.Index(i))
	}
}

func (f *filler) fillStruct(v reflect.Value) {
	setDefaults(v.Addr().Interface())
	if tags, ok := v.Addr().Interface().(*kmsg.Tags); ok {
		for range f.IntN(12) - 9 {
			if f.tags {
				tags.Set(uint32(1000+f.IntN(100_000)), []byte(f.text()))
			}
		}
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Name != "Version" {
			f.fill(v.Field(i))
		}
	}
}

func (f *filler) number(bits int) int64 {
	n := int64(f.Uint64()) >> (64 - bits)
	switch f.IntN(6) {
	case 0:
		return -1
	case 1:
		return 0
	case 2:
		return int64(1)<<(bits-1) - 1
	case 3:
		return n % 10
	}
	return n
}

func (f *filler) text() string {
	switch f.IntN(8) {
	case 0:
		return ""
	case 1:
		return "토픽-한글"
	case 2:
		return string(make([]byte, 120+f.IntN(20))) // around one byte of compact length
	}
	b := make([]byte, 1+f.IntN(12))
	for i := range b {
		b[i] = 'a' + byte(f.IntN(26))
	}
	return string(b)
}

// request makes a random request.
func (f *filler) request(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	f.fill(reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	return req
}

// response makes a random response.
func (f *filler) response(key, version int16) kmsg.Response {
	resp := kmsg.ResponseForKey(key)
	f.fill(reflect.ValueOf(resp).Elem())
	resp.SetVersion(version)
	return resp
}

// frame is a request on the wire, without its size, as franz-go frames it.
func frame(req kmsg.Request, clientID *string, correlationID int32) []byte {
	f := kmsg.NewRequestFormatter()
	if clientID != nil {
		f = kmsg.NewRequestFormatter(kmsg.FormatterClientID(*clientID))
	}
	return f.AppendRequest(nil, req, correlationID)[4:]
}

// each runs f for every version of every API that we serve, with its own seed.
func each(t *testing.T, f func(t *testing.T, a API, version int16, fill *filler)) {
	for _, a := range APIs() {
		for v := a.Min; v <= a.Max; v++ {
			t.Run(fmt.Sprintf("%s/v%d", a.Name, v), func(t *testing.T) {
				f(t, a, v, newFiller(uint64(a.Key)<<8|uint64(v)))
			})
		}
	}
}

// header makes the Header of a request that has been encoded without one.
func header(key, version int16, body []byte) Header {
	return Header{Key: key, Version: version, CorrelationID: math.MaxInt32, Body: body}
}
