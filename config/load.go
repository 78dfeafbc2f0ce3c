package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Input is where configs come from, the weakest first.
type Input struct {
	File      string   // a .properties file, "" none
	Environ   []string // os.Environ(); KAFKA_* and MILLRACE_* are looked at
	Overrides []string // name=value, from the command line
}

// Report is what the operator should hear about a configuration that is good.
type Report struct {
	Warnings []string  // one line each
	Ignored  []Ignored // accepted, without effect
}

// Ignored is a name that was given a value that nobody reads.
type Ignored struct {
	Name, Origin, Reason string
}

// loader gathers what the sources say.
type loader struct {
	config   *Config
	report   *Report
	problems []error
}

// Load reads all sources: the environment stands above the file (MILLRACE_ above KAFKA_), the overrides above both. The error is one
// line for each value that can't be used (*ValueError, joined) or tells why the file can't be read; there is no Config then, but the
// Report is there in any case.
func Load(in Input) (*Config, *Report, error) {
	l := &loader{config: &Config{}, report: &Report{}}
	if in.File != "" {
		if err := l.file(in.File); err != nil {
			return nil, l.report, err
		}
	}
	l.environ(in.Environ)
	for _, o := range in.Overrides {
		name, value, found := strings.Cut(o, "=")
		if !found {
			l.problems = append(l.problems, fmt.Errorf("command line: %q: expected name=value", o))
			continue
		}
		l.add(strings.TrimSpace(name), value, "command line")
	}
	if err := errors.Join(append(l.problems, l.config.resolve())...); err != nil {
		return nil, l.report, err
	}
	l.advise()
	return l.config, l.report, nil
}

// maxFileBytes: a configuration larger than this is some other file, given by mistake.
const maxFileBytes = 1 << 20

func (l *loader) file(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("can't read the configuration: %w", err)
	}
	if info.Size() > maxFileBytes {
		return fmt.Errorf("%s: %d bytes; expected a .properties file of at most %d", path, info.Size(), maxFileBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("can't read the configuration: %w", err)
	}
	l.properties(path, text)
	return nil
}

func (l *loader) properties(path string, text []byte) {
	lines := map[string]int{}
	pairs, problems := parseProperties(text)
	for _, p := range problems {
		l.problems = append(l.problems, fmt.Errorf("%s:%w", path, p))
	}
	for _, p := range pairs {
		origin := fmt.Sprintf("%s:%d", path, p.line)
		if before := lines[p.name]; before > 0 {
			l.warn("%s: %s stands in line %d already; this one counts", origin, p.name, before)
		}
		lines[p.name] = p.line
		l.add(p.name, p.value, origin)
	}
}

// add sorts one setting into what works, what is ignored and what nobody knows.
func (l *loader) add(name, value, origin string) {
	if k := brokerKeys[name]; k != nil {
		l.config.set(name, setting{value, StaticBroker, origin})
		if k.Effect != Works {
			l.ignore(name, origin, k.Effect.String())
		}
		return
	}
	if g, known := ignoredName(name); known {
		if g.security {
			l.warn("%s: %s is ignored: %s", origin, name, g.reason)
			return
		}
		l.ignore(name, origin, g.reason)
		return
	}
	l.warn("%s: there is no config %q%s", origin, name, didYouMean(name))
}

func (l *loader) ignore(name, origin, reason string) {
	l.report.Ignored = append(l.report.Ignored, Ignored{name, origin, reason})
}

func (l *loader) warn(text string, args ...any) {
	l.report.Warnings = append(l.report.Warnings, fmt.Sprintf(text, args...))
}

// advise warns of settings that are good each for itself and will hurt together.
func (l *loader) advise() {
	c := l.config
	if c.TopicDefaults.MaxMessageBytes > c.SocketRequestMaxBytes {
		l.warn("message.max.bytes=%d: a request of that size is refused, socket.request.max.bytes is %d", c.TopicDefaults.MaxMessageBytes, c.SocketRequestMaxBytes)
	}
	if host, _, err := ParseHostPort(c.ControlListener); err == nil && (host == "" || IsMetaAddress(host)) {
		l.warn("control.listener=%s: anyone who reaches this machine can command the server, there is no authentication", c.ControlListener)
	}
}
