package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func bytesOf(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		if s, ok := p.(string); ok {
			b.WriteString(s)
			continue
		}
		if err := binary.Write(&b, binary.BigEndian, p); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func TestParseHeader(t *testing.T) {
	long := strings.Repeat("x", 32767)
	for name, c := range map[string]struct {
		frame []byte
		want  Header
		err   error
	}{
		"v1":              {bytesOf(int16(3), int16(1), int32(7), int16(2), "me", "body"), Header{3, 1, 7, []byte("me"), []byte("body")}, nil},
		"v1 null client":  {bytesOf(int16(3), int16(1), int32(7), int16(-1), "body"), Header{3, 1, 7, nil, []byte("body")}, nil},
		"negative length": {bytesOf(int16(3), int16(1), int32(7), int16(-9), "body"), Header{3, 1, 7, nil, []byte("body")}, nil},
		"v1 empty client": {bytesOf(int16(3), int16(1), int32(-7), int16(0)), Header{3, 1, -7, []byte{}, []byte{}}, nil},
		"long client":     {bytesOf(int16(3), int16(1), int32(7), int16(32767), long), Header{3, 1, 7, []byte(long), []byte{}}, nil},
		"v2 no tags":      {bytesOf(int16(3), int16(9), int32(7), int16(-1), "\x00body"), Header{3, 9, 7, nil, []byte("body")}, nil},
		"v2 tags":         {bytesOf(int16(3), int16(9), int32(7), int16(1), "c\x02\x00\x03abc\x81\x01\x00body"), Header{3, 9, 7, []byte("c"), []byte("body")}, nil},
		"ApiVersions v2":  {bytesOf(int16(18), int16(2), int32(1), int16(-1)), Header{18, 2, 1, nil, []byte{}}, nil},
		"ApiVersions v3":  {bytesOf(int16(18), int16(3), int32(1), int16(-1), "\x00\x01\x01\x00"), Header{18, 3, 1, nil, []byte("\x01\x01\x00")}, nil},

		"ApiVersions v99":       {bytesOf(int16(18), int16(99), int32(5), int16(3), "kgo\x00\x01\x01\x00"), Header{18, 99, 5, []byte("kgo"), nil}, ErrUnsupportedVersion},
		"ApiVersions v6 bare":   {bytesOf(int16(18), int16(6), int32(5)), Header{18, 6, 5, nil, nil}, ErrUnsupportedVersion},
		"ApiVersions v-1":       {bytesOf(int16(18), int16(-1), int32(5), int16(300)), Header{18, -1, 5, nil, nil}, ErrUnsupportedVersion},
		"Produce v2":            {bytesOf(int16(0), int16(2), int32(5), int16(0)), Header{0, 2, 5, []byte{}, nil}, ErrUnsupportedVersion},
		"unknown key":           {bytesOf(int16(999), int16(0), int32(5), "anything"), Header{999, 0, 5, nil, nil}, ErrUnknownKey},
		"negative key":          {bytesOf(int16(-1), int16(0), int32(5)), Header{-1, 0, 5, nil, nil}, ErrUnknownKey},
		"ControlledShutdown v0": {bytesOf(int16(7), int16(0), int32(5)), Header{7, 0, 5, nil, nil}, ErrUnknownKey},

		"empty":               {nil, Header{}, ErrTruncated},
		"no correlation id":   {bytesOf(int16(3), int16(1), int16(7)), Header{3, 1, 0, nil, nil}, ErrTruncated},
		"no client id":        {bytesOf(int16(3), int16(1), int32(7)), Header{3, 1, 7, nil, nil}, ErrTruncated},
		"client id too short": {bytesOf(int16(3), int16(1), int32(7), int16(5), "four"), Header{3, 1, 7, nil, nil}, ErrTruncated},
		"v2 without tags":     {bytesOf(int16(3), int16(9), int32(7), int16(-1)), Header{3, 9, 7, nil, nil}, ErrTruncated},
		"tag beyond the end":  {bytesOf(int16(3), int16(9), int32(7), int16(-1), "\x01\x00\x09abc"), Header{3, 9, 7, nil, nil}, ErrTruncated},
		"4 billion tags":      {bytesOf(int16(3), int16(9), int32(7), int16(-1), "\xff\xff\xff\xff\x0f\x00\x00"), Header{3, 9, 7, nil, nil}, ErrTruncated},
		"no varint":           {bytesOf(int16(3), int16(9), int32(7), int16(-1), "\xff\xff\xff\xff\xff\x01"), Header{3, 9, 7, nil, nil}, ErrMalformed},
	} {
		got, err := ParseHeader(c.frame)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v, want %v", name, err, c.err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Every API and version, with the headers that franz-go makes: which header it is must come out right, or the body
// begins at the wrong byte.
func TestParseHeaderOfEveryVersion(t *testing.T) {
	names := []*string{nil, kmsg.StringPtr(""), kmsg.StringPtr("클라이언트\n2")}
	each(t, func(t *testing.T, a API, version int16, fill *filler) {
		for _, name := range names {
			req := fill.request(a.Key, version)
			h, err := ParseHeader(frame(req, name, 77))
			if err != nil {
				t.Fatal(err)
			}
			want := Header{a.Key, version, 77, nil, req.AppendTo([]byte{})}
			if name != nil {
				want.ClientID = []byte(*name)
			}
			if diff := cmp.Diff(want, h); diff != "" {
				t.Error(diff)
			}
			if h.Flexible() != req.IsFlexible() {
				t.Errorf("flexible %v", h.Flexible())
			}
		}
	})
}

func TestHeaderString(t *testing.T) {
	for want, h := range map[string]Header{
		`Metadata version 9, correlation id 7, client id "a\nb"`:                                     {3, 9, 7, []byte("a\nb"), nil},
		`Produce version 2, correlation id -1, client id ""`:                                         {0, 2, -1, nil, nil},
		`api key 999 version 0, correlation id 0, client id ""`:                                      {999, 0, 0, nil, nil},
		`ControlledShutdown (api key 7) version 0, correlation id 0, client id ""`:                   {7, 0, 0, nil, nil},
		`Fetch version 4, correlation id 0, client id "` + strings.Repeat("y", clientIDShown) + `"…`: {1, 4, 0, bytes.Repeat([]byte("y"), 30000), nil},
	} {
		if got := h.String(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestParseHeaderAllocates(t *testing.T) {
	for _, frame := range [][]byte{
		bytesOf(int16(3), int16(9), int32(7), int16(1), "c\x02\x00\x03abc\x81\x01\x00body"),
		bytesOf(int16(0), int16(3), int32(7), int16(-1), "body"),
		bytesOf(int16(18), int16(99), int32(7), int16(-1), "body"),
		bytesOf(int16(3), int16(9), int32(7), int16(-1), "\x01\x00\x09abc"),
	} {
		if n := testing.AllocsPerRun(100, func() { _, _ = ParseHeader(frame) }); n != 0 {
			t.Errorf("%v allocations for %q", n, frame)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	fill := newFiller(1)
	for _, a := range APIs() {
		f.Add(frame(fill.request(a.Key, a.Min), nil, 1))
		f.Add(frame(fill.request(a.Key, a.Max), kmsg.StringPtr("client"), 2))
	}
	f.Add(bytesOf(int16(18), int16(99), int32(5), int16(3), "kgo\x00"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: broker\r\n\r\n"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, err := ParseHeader(frame)
		if err == nil && (!Supported(h.Key, h.Version) || !bytes.HasSuffix(frame, h.Body)) {
			t.Fatalf("%s accepted", h)
		}
		if err == nil && len(h.ClientID)+len(h.Body)+10 > len(frame) {
			t.Fatalf("%s is larger than its frame", h)
		}
		_ = h.String()
	})
}
