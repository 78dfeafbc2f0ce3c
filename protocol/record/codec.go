package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is the compression of a batch's records, as the attributes encode it.
type Codec uint8

// Kafka's codecs.
const (
	None Codec = iota
	Gzip
	Snappy
	Lz4
	Zstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String is the name as in Kafka's compression.type.
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// ParseCodec reads a name of String. It returns ErrUnsupportedCompression for
// any other text.
func ParseCodec(name string) (Codec, error) {
	for c, n := range codecNames {
		if n == name {
			return Codec(c), nil
		}
	}
	return None, fmt.Errorf("%w: %q, expected one of %q", ErrUnsupportedCompression, name, codecNames)
}

// expandLimit is more than n bytes of the codec can ever decompress to: the
// format's best case (deflate 1032:1; snappy's copy of 64 bytes in 3; lz4's 255
// per length byte; zstd's block of 128 KiB in 4 bytes). What is claimed beyond it
// is a lie and refused before anything is allocated.
func (c Codec) expandLimit(n int) int64 {
	ratio := [...]int64{None: 1, Gzip: 1032, Snappy: 22, Lz4: 255, Zstd: 32 << 10}[c]
	return int64(n) * ratio
}

// DefaultMaxBytes is the bound on the decompressed records of one batch where
// nothing else is set: 64 times Kafka's default message.max.bytes.
const DefaultMaxBytes = 64 << 20

// keepBytes is how much decompressed space a Scratch keeps for its next batch.
// More was one large batch, and goes back to the collector.
const keepBytes = 4 << 20

// Scratch is the working memory for looking into batches: decompressors and the
// bytes they made. The zero value is ready. One goroutine uses it at a time;
// each use makes what the use before handed out invalid.
type Scratch struct {
	// MaxBytes bounds the decompressed records of a batch; 0 means
	// DefaultMaxBytes. To be set before the first use.
	MaxBytes int

	buf     []byte
	headers []Header
	in      bytes.Reader
	gzip    *gzip.Reader
	lz4     *lz4.Reader
	zstd    *zstd.Decoder
}

// scratches serves the calls that bring none along.
var scratches = sync.Pool{New: func() any { return new(Scratch) }}

func borrow() *Scratch { return scratches.Get().(*Scratch) }

func (s *Scratch) giveBack() {
	if cap(s.buf) > keepBytes {
		s.buf = nil
	}
	clear(s.headers[:cap(s.headers)]) // they would hold on to a batch
	scratches.Put(s)
}

func (s *Scratch) maxBytes() int {
	if s.MaxBytes > 0 {
		return s.MaxBytes
	}
	return DefaultMaxBytes
}

// records returns the batch's records, decompressed into s.buf if need be.
func (s *Scratch) records(b Batch) ([]byte, error) {
	src, codec := b.Records(), b.Codec()
	if codec == None {
		return src, nil
	}
	if cap(s.buf) > keepBytes {
		s.buf = nil
	}
	out, err := s.decompress(codec, s.buf[:0], src)
	if err != nil {
		return nil, err
	}
	s.buf = out
	return out, nil
}

// decompress appends the decompressed src to dst.
func (s *Scratch) decompress(c Codec, dst, src []byte) (out []byte, err error) {
	switch c {
	case Gzip:
		out, err = s.gunzip(dst, src)
	case Snappy:
		out, err = s.unsnappy(dst, src)
	case Lz4:
		out, err = s.unlz4(dst, src)
	case Zstd:
		out, err = s.unzstd(dst, src)
	default:
		return nil, errCodec
	}
	switch {
	case err == nil, errors.Is(err, ErrTooLarge):
		return out, err
	default:
		return nil, fmt.Errorf("%w: %s: %v", errDecompress, c, err)
	}
}

func (s *Scratch) gunzip(dst, src []byte) ([]byte, error) {
	s.in.Reset(src)
	if s.gzip == nil {
		s.gzip = new(gzip.Reader)
	}
	if err := s.gzip.Reset(&s.in); err != nil {
		return nil, err
	}
	return s.readAll(dst, s.gzip)
}

func (s *Scratch) unlz4(dst, src []byte) ([]byte, error) {
	s.in.Reset(src)
	if s.lz4 == nil {
		s.lz4 = lz4.NewReader(nil)
	}
	s.lz4.Reset(&s.in)
	return s.readAll(dst, s.lz4)
}

func (s *Scratch) unzstd(dst, src []byte) ([]byte, error) {
	if s.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(s.maxBytes())))
		if err != nil {
			return nil, err
		}
		s.zstd = d
	}
	out, err := s.zstd.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, ErrTooLarge
	}
	return out, err
}

// readAll appends what r yields to dst, which grows as bytes arrive.
func (s *Scratch) readAll(dst []byte, r io.Reader) ([]byte, error) {
	limit := s.maxBytes()
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if len(dst) > limit {
			return nil, ErrTooLarge
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// xerialMagic opens the framing that Java's SnappyOutputStream puts around snappy: this
// magic, two versions of four bytes, then blocks with a length before each.
// librdkafka and franz-go send one bare block; Java reads both.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeaderBytes = 16

func (s *Scratch) unsnappy(dst, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return s.unsnappyBlock(dst, src)
	}
	if len(src) < xerialHeaderBytes {
		return nil, io.ErrUnexpectedEOF
	}
	var err error
	for src = src[xerialHeaderBytes:]; len(src) > 0; {
		if len(src) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(n) > uint64(len(src)) {
			return nil, io.ErrUnexpectedEOF
		}
		if dst, err = s.unsnappyBlock(dst, src[:n]); err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return dst, nil
}

func (s *Scratch) unsnappyBlock(dst, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if int64(n) > Snappy.expandLimit(len(src)) {
		return nil, snappy.ErrCorrupt
	}
	if len(dst)+n > s.maxBytes() {
		return nil, ErrTooLarge
	}
	at := len(dst)
	if cap(dst)-at < n {
		grown := make([]byte, at, max(at+n, 2*cap(dst)))
		copy(grown, dst)
		dst = grown
	}
	// Decode writes into the space it is given if that is large enough.
	if _, err := snappy.Decode(dst[at:at+n], src); err != nil {
		return nil, err
	}
	return dst[:at+n], nil
}
