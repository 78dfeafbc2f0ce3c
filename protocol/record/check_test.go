package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestNext(t *testing.T) {
	good := build(t, Options{}, testMs)
	with := func(f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b)
		return b
	}
	length := func(n int32) []byte {
		return with(func(b []byte) { binary.BigEndian.PutUint32(b[atLength:], uint32(n)) })
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"good":                {good, nil},
		"nothing":             {nil, ErrTruncated},
		"11 bytes":            {good[:11], ErrTruncated},
		"16 bytes":            {good[:16], ErrTruncated},
		"header only":         {good[:HeaderBytes], ErrTruncated},
		"one byte short":      {good[:len(good)-1], ErrTruncated},
		"length too large":    {length(math.MaxInt32), ErrTruncated},
		"length of a header":  {length(HeaderBytes - lengthBytes), nil},
		"length below header": {length(HeaderBytes - lengthBytes - 1), ErrCorrupt},
		"length negative":     {length(-1), ErrCorrupt},
		"length minimal":      {length(math.MinInt32), ErrCorrupt},
		"magic 0":             {with(func(b []byte) { b[atMagic] = 0 }), ErrUnsupportedMagic},
		"magic 1, cut":        {with(func(b []byte) { b[atMagic] = 1 })[:17], ErrUnsupportedMagic},
		"magic 3":             {with(func(b []byte) { b[atMagic] = 3 }), ErrCorrupt},
		"magic −1":            {with(func(b []byte) { b[atMagic] = 0xff }), ErrCorrupt},
		"HTTP":                {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ErrCorrupt},
	} {
		b, rest, err := Next(c.in)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if err != nil && (b != nil || len(rest) != len(c.in)) {
			t.Errorf("%s: a batch of %d and %d bytes left beside an error", name, len(b), len(rest))
		}
	}
}

func TestSingle(t *testing.T) {
	good := build(t, Options{}, testMs)
	two := append(bytes.Clone(good), good...)
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"one":            {good, nil},
		"none":           {nil, ErrInvalidRecord},
		"two":            {two, ErrInvalidRecord},
		"one and a half": {two[:len(two)-10], ErrInvalidRecord},
		"half":           {good[:40], ErrInvalidRecord},
		"old format":     {append(make([]byte, 16), 1), ErrInvalidRecord},
	} {
		if _, err := Single(c.in); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// What a client may not send, one fault at a time.
func TestCheckRefuses(t *testing.T) {
	good := build(t, Options{}, testMs, testMs+1, testMs+2)
	packed := build(t, Options{Codec: Lz4}, testMs, testMs+1, testMs+2)
	be := binary.BigEndian
	set32 := func(at int, v int32) func(Batch) {
		return func(b Batch) { be.PutUint32(b[at:], uint32(v)) }
	}
	for name, c := range map[string]struct {
		in   Batch
		want error
	}{
		"base offset":           {patched(good, func(b Batch) { b.SetBaseOffset(1) }), errBaseOffset},
		"wrong CRC":             {func() Batch { b := Batch(bytes.Clone(good)); b[len(b)-1]++; return b }(), errCRC},
		"wrong CRC, compressed": {func() Batch { b := Batch(bytes.Clone(packed)); b[len(b)-1]++; return b }(), errCRC},
		"no records":            {patched(good, func(b Batch) { set32(atCount, 0)(b); set32(atLastOffsetDelta, -1)(b) }), errCount},
		"negative count":        {patched(good, set32(atCount, -3)), errCount},
		"count below delta":     {patched(good, set32(atCount, 2)), errCount},
		"count above delta":     {patched(good, set32(atCount, 4)), errCount},
		"delta negative":        {patched(good, set32(atLastOffsetDelta, -2)), errCount},
		"delta overflows": {patched(good, func(b Batch) {
			set32(atLastOffsetDelta, math.MaxInt32)(b)
			set32(atCount, math.MinInt32)(b)
		}), errCount},
		"control":           {patched(good, func(b Batch) { b[atAttributes+1] |= attrControl }), errControl},
		"no sequence":       {patched(good, func(b Batch) { be.PutUint64(b[atProducerID:], 7) }), errSequence},
		"no sequence, id 0": {patched(good, func(b Batch) { be.PutUint64(b[atProducerID:], 0) }), errSequence},
		"codec 5":           {patched(good, func(b Batch) { b[atAttributes+1] |= 5 }), ErrUnsupportedCompression},
		"codec 7":           {patched(good, func(b Batch) { b[atAttributes+1] |= 7 }), ErrUnsupportedCompression},
		"one more claimed": {patched(good, func(b Batch) {
			set32(atCount, 4)(b)
			set32(atLastOffsetDelta, 3)(b)
		}), errRecord},
		"one less claimed": {patched(good, func(b Batch) {
			set32(atCount, 2)(b)
			set32(atLastOffsetDelta, 1)(b)
		}), errRemaining},
		"millions claimed": {patched(good, func(b Batch) {
			set32(atCount, 1<<24)(b)
			set32(atLastOffsetDelta, 1<<24-1)(b)
		}), errImplausible},
		"millions claimed, compressed": {patched(packed, func(b Batch) {
			set32(atCount, 1<<24)(b)
			set32(atLastOffsetDelta, 1<<24-1)(b)
		}), errImplausible},
		"garbage in doubtful lz4": {patched(packed, func(b Batch) {
			b.SetMaxTimestamp(-1, false)
			b[HeaderBytes]++
		}), errDecompress},
		"records end early in doubtful lz4": {patched(packed, func(b Batch) {
			b.SetMaxTimestamp(-1, false)
			set32(atCount, 4)(b)
			set32(atLastOffsetDelta, 3)(b)
		}), errRecord},
	} {
		before := bytes.Clone(c.in)
		if err := c.in.Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if !bytes.Equal(before, c.in) {
			t.Errorf("%s: a refused batch was changed", name)
		}
	}
}

// One malformed record, put together by hand, per line.
func TestCheckRecords(t *testing.T) {
	for name, c := range map[string]struct {
		records []byte
		count   int32
		want    error
	}{
		"smallest":                 {[]byte{12, 0, 0, 0, 1, 1, 0}, 1, nil},
		"two":                      {[]byte{12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0}, 2, nil},
		"empty key and value":      {[]byte{12, 0, 0, 0, 0, 0, 0}, 1, nil},
		"null by any negative":     {[]byte{12, 0, 0, 0, 3, 5, 0}, 1, nil},
		"attributes are ignored":   {[]byte{12, 255, 0, 0, 1, 1, 0}, 1, nil},
		"long form of a varint":    {[]byte{14, 0, 0, 0x80, 0, 1, 1, 0}, 1, nil},
		"header":                   {[]byte{20, 0, 0, 0, 1, 1, 2, 2, 'h', 2, 'v'}, 1, nil},
		"header, null value":       {[]byte{18, 0, 0, 0, 1, 1, 2, 2, 'h', 1}, 1, nil},
		"header, empty key":        {[]byte{16, 0, 0, 0, 1, 1, 2, 0, 1}, 1, nil},
		"header, null key":         {[]byte{16, 0, 0, 0, 1, 1, 2, 1, 1}, 1, errRecord},
		"negative header count":    {[]byte{12, 0, 0, 0, 1, 1, 1}, 1, errRecord},
		"many headers":             {[]byte{20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f}, 1, errRecord},
		"size 0":                   {[]byte{0, 0, 0, 0, 1, 1, 0}, 1, errRecord},
		"size negative":            {[]byte{1, 0, 0, 0, 1, 1, 0}, 1, errRecord},
		"size below content":       {[]byte{10, 0, 0, 0, 1, 1, 0}, 1, errRecord},
		"size above content":       {[]byte{14, 0, 0, 0, 1, 1, 0, 0}, 1, errRecord},
		"size above batch":         {[]byte{14, 0, 0, 0, 1, 1, 0}, 1, errRecord},
		"size of 6 bytes":          {[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0, 0}, 1, errRecord},
		"key length of 6 bytes":    {[]byte{22, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 0}, 1, errRecord},
		"key longer than all":      {[]byte{12, 0, 0, 0, 6, 1, 0}, 1, errRecord},
		"size is all there is":     {[]byte{0x8c, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, 1, errRecord},
		"key beyond the record":    {[]byte{12, 0, 0, 0, 8, 1, 0}, 1, errRecord},
		"key of 2³¹−1":             {[]byte{20, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1, 0}, 1, errRecord},
		"value beyond the record":  {[]byte{12, 0, 0, 0, 1, 8, 0}, 1, errRecord},
		"value in the next record": {[]byte{12, 0, 0, 0, 1, 2, 0, 12, 0, 0, 2, 1, 1, 0}, 2, errRecord},
		"first delta 1":            {[]byte{12, 0, 0, 2, 1, 1, 0}, 1, errOffsetDelta},
		"same delta twice":         {[]byte{12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0}, 2, errOffsetDelta},
		"deltas fall":              {[]byte{12, 0, 0, 2, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0}, 2, errOffsetDelta},
		"byte left":                {[]byte{12, 0, 0, 0, 1, 1, 0, 0}, 1, errRemaining},
		"time delta of 10 bytes":   {[]byte{30, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 1, 1, 0}, 1, nil},
		"time delta of 11 bytes":   {[]byte{32, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 129, 0, 0, 1, 1, 0}, 1, errRecord},
	} {
		b := slices.Clip(wrap(None, c.count, c.records))
		err := b.Check()
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		// Each agrees, but for the offsets, which are none of its business.
		err = b.Each(nil, func(Record) error { return nil })
		if refuses := c.want != nil && c.want != errOffsetDelta; (err != nil) != refuses {
			t.Errorf("%s: Each: %v", name, err)
		}
	}
}

// Case A01: a max_timestamp that is missing or wrong is set by Check, with the
// CRC; one that is right stays, byte for byte.
func TestCheckSetsMaxTimestamp(t *testing.T) {
	stamps := []int64{testMs + 50, testMs, testMs + 200, testMs + 20}
	trueMax := testMs + 200
	for _, codec := range codecs {
		good := build(t, Options{Codec: codec}, stamps...)
		for name, c := range map[string]struct{ claimed, want int64 }{
			"right":      {trueMax, trueMax},
			"missing":    {NoTimestamp, trueMax},
			"below base": {testMs, trueMax},
			"zero":       {0, trueMax},
			"minimal":    {math.MinInt64, trueMax},
			// A compressed batch is not opened for a plausible lie.
			"of another record": {testMs + 50, map[bool]int64{true: trueMax, false: testMs + 50}[codec == None]},
			"too high":          {trueMax + 1, map[bool]int64{true: trueMax, false: trueMax + 1}[codec == None]},
		} {
			b := patched(good, func(b Batch) { b.SetMaxTimestamp(c.claimed, false) })
			if err := b.Check(); err != nil {
				t.Errorf("%s, %s: %v", codec, name, err)
				continue
			}
			if b.MaxTimestamp() != c.want || b.CRC() != b.ComputeCRC() {
				t.Errorf("%s, %s: max %d, want %d; CRC %x, want %x", codec, name, b.MaxTimestamp(), c.want, b.CRC(), b.ComputeCRC())
			}
			if c.want == trueMax && !bytes.Equal(b, good) {
				t.Errorf("%s, %s: more than max_timestamp and CRC differ", codec, name)
			}
		}
		b := patched(good, func(b Batch) { b.SetMaxTimestamp(7, true) })
		if err := b.Check(); err != nil || b.MaxTimestamp() != 7 || !b.IsLogAppendTime() {
			t.Errorf("%s: LogAppendTime: %v, max %d", codec, err, b.MaxTimestamp())
		}
	}
}

// A first record without a timestamp makes the base −1, and a missing
// max_timestamp look right.
func TestCheckBaseWithoutTimestamp(t *testing.T) {
	for _, codec := range codecs {
		b := build(t, Options{Codec: codec}, NoTimestamp, testMs)
		b.SetMaxTimestamp(NoTimestamp, false)
		if err := b.Check(); err != nil || b.MaxTimestamp() != testMs {
			t.Errorf("%s: %v, max %d", codec, err, b.MaxTimestamp())
		}
	}
}

// Setting the timestamp clears attribute bits that mean nothing; leaving it
// leaves them.
func TestUnknownAttributes(t *testing.T) {
	b := patched(build(t, Options{Codec: Gzip, Idempotent: true, Transactional: true}, testMs), func(b Batch) {
		b[atAttributes], b[atAttributes+1] = 0xff, b[atAttributes+1]|0xc0
	})
	before := bytes.Clone(b)
	if err := b.Check(); err != nil || !bytes.Equal(before, b) {
		t.Errorf("Check: %v, attributes %x", err, uint16(b.Attributes()))
	}
	if b.SetMaxTimestamp(testMs, true); uint16(b.Attributes()) != 0x59 || b.CRC() != b.ComputeCRC() {
		t.Errorf("got attributes %x", uint16(b.Attributes()))
	}
}

// Records without a timestamp: −1 everywhere is right as it is.
func TestCheckNoTimestamp(t *testing.T) {
	for _, codec := range codecs {
		b := build(t, Options{Codec: codec}, NoTimestamp, NoTimestamp)
		before := bytes.Clone(b)
		if err := b.Check(); err != nil || !bytes.Equal(before, b) {
			t.Errorf("%s: %v, max %d", codec, err, b.MaxTimestamp())
		}
	}
}

func TestChecksAllocateNothing(t *testing.T) {
	stamps := make([]int64, 200)
	for i := range stamps {
		stamps[i] = testMs + int64(i)
	}
	good := build(t, Options{}, stamps...)
	wrong := patched(good, func(b Batch) { b.SetMaxTimestamp(-1, false) })
	hostile := patched(good, func(b Batch) { b[HeaderBytes]++ })
	zstd := build(t, Options{Codec: Zstd}, stamps...)
	scratch := new(Scratch)
	work := Batch(make([]byte, len(good)))
	for name, f := range map[string]func(){
		"Single and Check": func() {
			b, err := Single(good)
			if err != nil || b.Check() != nil {
				t.Fatal("refused")
			}
		},
		"setting max_timestamp": func() {
			copy(work, wrong)
			if work.Check() != nil {
				t.Fatal("refused")
			}
		},
		"refusing": func() {
			if hostile.Check() == nil {
				t.Fatal("accepted")
			}
		},
		"Check of a compressed one": func() {
			if zstd.Check() != nil {
				t.Fatal("refused")
			}
		},
		"Each": func() {
			n := 0
			if err := good.Each(scratch, func(Record) error { n++; return nil }); err != nil || n != 200 {
				t.Fatal(n, err)
			}
		},
		"by time": func() {
			if o, _, found, err := good.FirstAtOrAfter(nil, testMs+150, 0, 1000); o != 150 || !found || err != nil {
				t.Fatal(o, found, err)
			}
			if o, _, found, err := good.FirstOfMaxTimestamp(nil, 0, 1000); o != 199 || !found || err != nil {
				t.Fatal(o, found, err)
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
