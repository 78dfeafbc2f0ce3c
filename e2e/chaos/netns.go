package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
)

// network is where nodes live: a namespace for each, a bridge between them that this process is on, too. Or, where that isn't
// permitted, the loopback.
type network struct {
	prefix string // of names, no longer than a device's may be
	subnet string // "10.213.7"; "": the loopback
	hosts  map[string]int
	rules  []rule // those that stand, so that they can be taken back
}

// rule is one of iptables, in a namespace.
type rule struct {
	host string
	args []string // table, chain, match and target
}

// gateway is the last number of this process' address on the bridge.
const gateway = 254

// networks counts those of this process. Each has names of its own, as the kernel takes devices away some time after their namespace.
var networks atomic.Int32

// prefix begins the names of a network, which must not be longer than a device's.
func prefix(number int) string { return fmt.Sprintf("mc%d%c", os.Getpid()%100_000, 'a'+number%26) }

// openNetwork makes the bridge and a namespace for each host. why says what is in the way, if it has to be the loopback.
func openNetwork(hosts []string) (n *network, why error) {
	n = &network{prefix: prefix(int(networks.Add(1))), hosts: map[string]int{}}
	for i, h := range hosts {
		n.hosts[h] = i + 1
	}
	if why = n.make(hosts); why != nil {
		n.close()
		n.subnet = ""
	}
	return n, why
}

func (n *network) make(hosts []string) error {
	for _, tool := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w (Debian: apt-get install iproute2 iptables)", err)
		}
	}
	n.subnet = fmt.Sprintf("10.213.%d", os.Getpid()%250)
	bridge := n.prefix + "br"
	for _, c := range []string{"ip link add " + bridge + " type bridge", "ip addr add " + n.address("") + "/24 dev " + bridge,
		"ip link set " + bridge + " up"} {
		if err := run(c); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		space, outer, inner := n.space(h), n.prefix+h, n.prefix+h+"i"
		for _, c := range []string{"ip netns add " + space, "ip link add " + outer + " type veth peer name " + inner,
			"ip link set " + inner + " netns " + space, "ip link set " + outer + " master " + bridge, "ip link set " + outer + " up",
			"ip -n " + space + " addr add " + n.address(h) + "/24 dev " + inner, "ip -n " + space + " link set " + inner + " up",
			"ip -n " + space + " link set lo up", "ip netns exec " + space + " iptables -w -L -n"} {
			if err := run(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func run(command string) error {
	args := strings.Fields(command)
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (n *network) space(host string) string { return n.prefix + host }

// separate tells whether hosts have namespaces, and so whether the network can fail.
func (n *network) separate() bool { return n.subnet != "" }

// address is a host's; of "" this process'. On the loopback each has one of its own, too.
func (n *network) address(host string) string {
	number := n.hosts[host]
	if host == "" {
		number = gateway
	}
	if !n.separate() {
		return fmt.Sprintf("127.0.%d.%d", 1+os.Getpid()%250, number)
	}
	return fmt.Sprintf("%s.%d", n.subnet, number)
}

// command runs a program on a host. Its process is the program's own.
func (n *network) command(host string, args ...string) *exec.Cmd {
	if n.separate() {
		args = append([]string{"ip", "netns", "exec", n.space(host)}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}

func (n *network) close() {
	for h := range n.hosts {
		_ = run("ip link del " + n.prefix + h) // a namespace outlives its name while a socket in it still tries to say goodbye
		_ = run("ip netns del " + n.space(h))
	}
	_ = run("ip link del " + n.prefix + "br")
}

// add makes a rule of iptables stand: words after the chain, "-t TABLE" before it where it isn't the filter.
func (n *network) add(host, table, chain, words string) error {
	r := rule{host, append([]string{"-t", table, chain}, strings.Fields(words)...)}
	if err := n.iptables("-A", r); err != nil {
		return err
	}
	n.rules = append(n.rules, r)
	return nil
}

func (n *network) iptables(action string, r rule) error {
	words := append([]string{"ip netns exec", n.space(r.host), "iptables -w"}, r.args[:2]...)
	return run(strings.Join(append(append(words, action), r.args[2:]...), " "))
}

// heal takes all rules back.
func (n *network) heal() (err error) {
	for _, r := range n.rules {
		err = errors.Join(err, n.iptables("-D", r))
	}
	n.rules = nil
	return err
}

// cut drops what one host sends to another; "" is this process, and so the clients.
func (n *network) cut(from, to string) error {
	if to == "" {
		return n.add(from, "filter", "OUTPUT", "-d "+n.address("")+" -j DROP")
	}
	return n.add(to, "filter", "INPUT", "-s "+n.address(from)+" -j DROP")
}

// lose drops a part of what a host sends and gets, whoever with.
func (n *network) lose(host string, part float64) error {
	drop := fmt.Sprintf("-m statistic --mode random --probability %.3f -j DROP", part)
	return errors.Join(n.add(host, "filter", "INPUT", "! -i lo "+drop), n.add(host, "filter", "OUTPUT", "! -o lo "+drop))
}

// turn leads a host's connections to another's port through this process' address and port. Those that stand are reset.
func (n *network) turn(from, to string, port, proxy int) error {
	match := fmt.Sprintf("-p tcp -d %s --dport %d ", n.address(to), port)
	return errors.Join(
		n.add(from, "nat", "OUTPUT", fmt.Sprintf("%s-j DNAT --to-destination %s:%d", match, n.address(""), proxy)),
		n.add(from, "filter", "OUTPUT", match+"-j REJECT --reject-with tcp-reset"))
}
