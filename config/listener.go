package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Listener is one entry of listeners or advertised.listeners: NAME://host:port.
type Listener struct {
	Name             string // upper case, such as PLAINTEXT
	Host             string // without brackets, a zone id kept; "" is every interface (listeners) or the address the client used (advertised)
	Port             int32  // 0: any free port (listeners), the real port (advertised)
	SecurityProtocol string // PLAINTEXT until there is more
}

// Addr is the address as package net takes it: brackets around IPv6.
func (l Listener) Addr() string { return net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))) }

// String is the entry as it stands in a properties file.
func (l Listener) String() string { return l.Name + "://" + l.Addr() }

// ParseListener reads NAME://host:port. IPv6 addresses stand in brackets: [::1]:9092, [fe80::1%eth0]:9092.
func ParseListener(text string) (Listener, error) {
	name, address, found := strings.Cut(strings.TrimSpace(text), "://")
	if !found || name == "" {
		return Listener{}, fmt.Errorf("%q: expected NAME://host:port, such as PLAINTEXT://127.0.0.1:9092", text)
	}
	if !plain(name) {
		return Listener{}, fmt.Errorf("%q: a listener name has letters, digits, '_', '-' and '.' only", text)
	}
	host, port, err := ParseHostPort(address)
	if err != nil {
		return Listener{}, err
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: port}, nil
}

// ParseHostPort reads host:port, [ipv6]:port or :port and returns the host without brackets.
func ParseHostPort(text string) (host string, port int32, err error) {
	text = strings.TrimSpace(text)
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return "", 0, fmt.Errorf("%q: expected host:port", text)
	}
	host, digits := text[:colon], text[colon+1:]
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		// ::1:9092 could be an address of its own, so guessing where the port starts would bind to something else.
		return "", 0, fmt.Errorf("%q is ambiguous: an IPv6 address needs brackets, such as [%s]:9092", text, bareIPv6(text))
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		if _, perr := netip.ParseAddr(strings.Trim(text, "[]")); perr == nil {
			return "", 0, fmt.Errorf("%q: the port is missing, expected %s:9092", text, bracketed(strings.Trim(text, "[]")))
		}
		return "", 0, fmt.Errorf("%q: expected a port from 0 to 65535 after the last colon", text)
	}
	if host == "" {
		return "", int32(n), nil
	}
	host, err = ParseHost(host)
	return host, int32(n), err
}

// bareIPv6 guesses which address was meant, for the message only.
func bareIPv6(text string) string {
	if colon := strings.LastIndexByte(text, ':'); colon > 0 {
		if _, err := netip.ParseAddr(text[:colon]); err == nil {
			return text[:colon]
		}
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return text
	}
	return "::1"
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// ParseHost reads a host that stands alone: a name, an IPv4 address, or an IPv6 address with or without brackets.
// The result has no brackets; a zone id stays.
func ParseHost(text string) (string, error) {
	host := text
	if strings.HasPrefix(host, "[") {
		if !strings.HasSuffix(host, "]") {
			return "", fmt.Errorf("%q: the closing bracket is missing", text)
		}
		host = host[1 : len(host)-1]
		if !strings.Contains(host, ":") {
			return "", fmt.Errorf("%q: brackets are for IPv6 addresses only", text)
		}
	}
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || !plain(a.Zone()) {
			return "", fmt.Errorf("%q is no IPv6 address", text)
		}
		return host, nil
	}
	if host == "" || len(host) > 253 || !plain(host) {
		return "", fmt.Errorf("%q: expected a host name or an IP address", text)
	}
	return host, nil
}

// plain: the letters that names of hosts, interfaces and listeners are made of.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}

// IsMetaAddress tells whether host names no particular address (0.0.0.0, ::), so that a client can't connect to it.
func IsMetaAddress(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().WithZone("").IsUnspecified()
}

// parseListeners reads a whole list and holds its entries against each other.
func parseListeners(items []string) ([]Listener, error) {
	var all []Listener
	for _, item := range items {
		l, err := ParseListener(item)
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if o.Name == l.Name && !onePerFamily(o.Host, l.Host) {
				return nil, fmt.Errorf("the name %s stands twice; each listener needs its own", l.Name)
			}
			if o.Host == l.Host && o.Port == l.Port && l.Port != 0 {
				return nil, fmt.Errorf("%s and %s have the same address", o, l)
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// onePerFamily: Kafka allows one name twice for one IPv4 and one IPv6 address (KIP-797).
func onePerFamily(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap().Is4() != y.Unmap().Is4()
}

// protocolMap reads listener.security.protocol.map: NAME:PROTOCOL,…
func protocolMap(text string) (map[string]string, error) {
	m := map[string]string{}
	for _, item := range splitList(text) {
		name, protocol, found := strings.Cut(item, ":")
		name, protocol = strings.ToUpper(strings.TrimSpace(name)), strings.ToUpper(strings.TrimSpace(protocol))
		if !found || name == "" {
			return nil, fmt.Errorf("%q: expected NAME:PROTOCOL", item)
		}
		switch protocol {
		case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
		default:
			return nil, fmt.Errorf("%q: expected PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL after the colon", item)
		}
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("the listener %s stands twice", name)
		}
		m[name] = protocol
	}
	return m, nil
}
