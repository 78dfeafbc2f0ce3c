package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// responseBytesMax bounds what a broker may claim: the Metadata of 100,000 partitions fits many times.
const responseBytesMax = 64 << 20

// Conn is a blocking connection to a broker for what isn't measured. It belongs to one goroutine.
type Conn struct {
	Addr string

	conn        net.Conn
	in          *bufio.Reader
	versions    map[int16]int16 // the broker's newest version of each API
	correlation int32
	timeout     time.Duration
}

// Dial connects and asks which versions the broker speaks. timeout is for this and for each request.
func Dial(addr string, timeout time.Duration) (*Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	c := &Conn{Addr: addr, conn: nc, in: bufio.NewReaderSize(nc, 64<<10), timeout: timeout}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = clientID, "1"
	c.versions = map[int16]int16{req.Key(): 3}
	res, err := c.Do(req)
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	for _, k := range res.(*kmsg.ApiVersionsResponse).ApiKeys {
		c.versions[k.ApiKey] = k.MaxVersion
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Do sends a request at the newest version that both sides know and waits for the answer.
func (c *Conn) Do(req kmsg.Request) (kmsg.Response, error) {
	body, err := c.exchange(req)
	if err != nil {
		return nil, err
	}
	res := req.ResponseKind()
	return res, res.ReadFrom(body)
}

// exchange sends a request and gives the body of its answer.
func (c *Conn) exchange(req kmsg.Request) ([]byte, error) {
	newest, known := c.versions[req.Key()]
	if !known {
		return nil, fmt.Errorf("%s: %s isn't spoken there", c.Addr, kmsg.NameForKey(req.Key()))
	}
	req.SetVersion(min(newest, req.MaxVersion()))
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	c.correlation++
	if _, err := c.conn.Write(AppendRequest(nil, req, c.correlation)); err != nil {
		return nil, err
	}
	frame, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)
	}
	r := Reader{B: frame, Flexible: req.ResponseKind().IsFlexible() && req.Key() != 18} // ApiVersions' never has tags
	if got := r.Int32(); got != c.correlation {
		return nil, fmt.Errorf("%s: answer %d to request %d", kmsg.NameForKey(req.Key()), got, c.correlation)
	}
	r.Tags()
	return r.B, nil
}

func (c *Conn) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > responseBytesMax {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(c.in, body)
	return body, err
}
