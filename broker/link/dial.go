package link

import (
	"context"
	"encoding/binary"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Dial makes a connection to a broker's address, host:port. A context that ends gives up.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// dialer is a Dial of plain TCP. Go sets TCP_NODELAY by itself.
var dialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
	Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
}}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, "tcp", address)
}

// clientID is by which a broker knows another one's connections.
const clientID = "millrace"

// greeting is the smallest request there is, a whole frame: ApiVersions version 0. Its correlation id, which is 0, stands
// at greetingIDAt.
var greeting = func() []byte {
	b := []byte{0, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(kmsg.ApiVersions.Int16()))
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(clientID)))
	b = append(b, clientID...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}()

const greetingIDAt = 4 + 2 + 2
