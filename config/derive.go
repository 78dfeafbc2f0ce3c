package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// derive fills the fields that hang on several configs, or on the machine. The values are good each for itself already.
func (c *Config) derive() error {
	if c.NodeID < 0 {
		c.NodeID = c.brokerID
	}
	problems := c.deriveListeners()
	if text := c.controlListener; text != "" && !strings.EqualFold(text, "none") {
		host, port, err := ParseHostPort(text)
		if err != nil {
			problems = append(problems, c.problem("control.listener", err.Error()))
		}
		c.ControlListener = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	size, err := memoryBytes(c.memoryMax, machineBytes)
	if err != nil {
		problems = append(problems, c.problem("millrace.memory.max", err.Error()))
	}
	c.MemoryMaxBytes = size
	if problem := c.deriveHTTP(); problem != nil {
		problems = append(problems, problem)
	}
	problems = append(problems, c.deriveCluster()...)
	if c.GroupMinSessionTimeoutMs > c.GroupMaxSessionTimeoutMs {
		problems = append(problems, c.problem("group.min.session.timeout.ms",
			fmt.Sprintf("expected no more than group.max.session.timeout.ms, which is %d", c.GroupMaxSessionTimeoutMs)))
	}
	problems = append(problems, c.deriveConsumerGroups()...)
	c.TopicDefaults = c.topicDefaults()
	if t := &c.TopicDefaults; t.MinCompactionLagMs > t.MaxCompactionLagMs {
		problems = append(problems, c.problem("log.cleaner.min.compaction.lag.ms",
			fmt.Sprintf("expected no more than log.cleaner.max.compaction.lag.ms, which is %d", t.MaxCompactionLagMs)))
	}
	return errors.Join(problems...)
}

// deriveHTTP reads http.listener, which must be of the loopback: profiles tell too much to be shown to a network.
func (c *Config) deriveHTTP() error {
	if c.httpListener == "" || strings.EqualFold(c.httpListener, "none") {
		return nil
	}
	host, port, err := ParseHostPort(c.httpListener)
	if err != nil {
		return c.problem("http.listener", err.Error())
	}
	if a, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !a.IsLoopback()) {
		return c.problem("http.listener", "expected an address of the loopback, such as 127.0.0.1:9091: it shows profiles to anyone")
	}
	c.HTTPListener = net.JoinHostPort(host, strconv.Itoa(int(port)))
	return nil
}

// deriveListeners reads the two lists and holds them against each other and the map of protocols.
func (c *Config) deriveListeners() (problems []error) {
	protocols, err := protocolMap(c.protocolMap)
	if err != nil {
		return append(problems, c.problem("listener.security.protocol.map", err.Error()))
	}
	advertised, err := parseListeners(c.advertised)
	if err != nil {
		problems = append(problems, c.problem("advertised.listeners", err.Error()))
	}
	listeners, err := parseListeners(c.listeners)
	if err != nil {
		problems = append(problems, c.problem("listeners", err.Error()))
	}
	if problems != nil {
		return problems
	}
	if !c.IsSet("listeners") && len(advertised) > 0 {
		// As the apache/kafka image does when only KAFKA_ADVERTISED_LISTENERS is given.
		listeners = slices.Clone(advertised)
		for i := range listeners {
			listeners[i].Host = ""
		}
	}
	c.Listeners = slices.DeleteFunc(listeners, c.isController)
	c.AdvertisedListeners = slices.DeleteFunc(advertised, c.isController)
	if len(c.Listeners) == 0 && len(listeners) > 0 {
		problems = append(problems, c.problem("listeners", "expected a listener for clients, all of these are the controller's"))
	}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		l.SecurityProtocol = protocols[l.Name]
		switch l.SecurityProtocol {
		case "PLAINTEXT":
		case "":
			problems = append(problems, c.problem("listener.security.protocol.map", "expected a security protocol for the listener "+l.Name))
		default:
			problems = append(problems, c.problem("listeners", l.Name+" is "+l.SecurityProtocol+", expected PLAINTEXT: there is neither TLS nor SASL yet"))
		}
	}
	return append(problems, c.checkAdvertised(protocols)...)
}

func (c *Config) checkAdvertised(protocols map[string]string) (problems []error) {
	for i := range c.AdvertisedListeners {
		a := &c.AdvertisedListeners[i]
		a.SecurityProtocol = protocols[a.Name]
		if IsMetaAddress(a.Host) {
			problems = append(problems, c.problem("advertised.listeners",
				"no client can connect to "+a.Host+"; expected an address that clients reach, or leave it out and they are told the one they came by"))
		}
		if !slices.ContainsFunc(c.Listeners, func(l Listener) bool { return l.Name == a.Name }) {
			problems = append(problems, c.problem("advertised.listeners", "expected a name that stands in listeners, "+a.Name+" doesn't"))
		}
	}
	return problems
}

// isController: KRaft's own listeners, which have no counterpart here.
func (c *Config) isController(l Listener) bool {
	return l.Name == "CONTROLLER" || slices.ContainsFunc(c.controllerNames, func(n string) bool { return strings.EqualFold(n, l.Name) })
}

// deriveConsumerGroups holds the times of consumer groups against their bounds.
func (c *Config) deriveConsumerGroups() (problems []error) {
	within := func(name string, value, low, high int32) {
		minimum, maximum := strings.Replace(name, "consumer.", "consumer.min.", 1), strings.Replace(name, "consumer.", "consumer.max.", 1)
		switch {
		case low > high:
			problems = append(problems, c.problem(minimum, fmt.Sprintf("expected no more than %s, which is %d", maximum, high)))
		case value < low:
			problems = append(problems, c.problem(name, fmt.Sprintf("expected at least %s, which is %d", minimum, low)))
		case value > high:
			problems = append(problems, c.problem(name, fmt.Sprintf("expected no more than %s, which is %d", maximum, high)))
		}
	}
	within("group.consumer.session.timeout.ms", c.GroupConsumerSessionTimeoutMs, c.GroupConsumerMinSessionTimeoutMs,
		c.GroupConsumerMaxSessionTimeoutMs)
	within("group.consumer.heartbeat.interval.ms", c.GroupConsumerHeartbeatIntervalMs, c.GroupConsumerMinHeartbeatIntervalMs,
		c.GroupConsumerMaxHeartbeatIntervalMs)
	if c.GroupConsumerHeartbeatIntervalMs >= c.GroupConsumerSessionTimeoutMs {
		problems = append(problems, c.problem("group.consumer.heartbeat.interval.ms",
			fmt.Sprintf("expected less than group.consumer.session.timeout.ms, which is %d", c.GroupConsumerSessionTimeoutMs)))
	}
	if len(c.GroupConsumerAssignors) == 0 {
		problems = append(problems, c.problem("group.consumer.assignors", "expected at least one"))
	}
	return problems
}
