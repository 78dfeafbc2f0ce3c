package console

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UsageError is a line that is no good command. Error is one line that says what was expected.
type UsageError struct {
	Message string
	Usage   string // "CREATE_BROKER <IP> <Port>", "" if it isn't known which command was meant
	HangUp  bool   // the line comes from something that doesn't speak this language: answer and close the connection
}

func (e *UsageError) Error() string {
	if e.Usage == "" {
		return e.Message
	}
	return e.Message + "; usage: " + e.Usage
}

// Parse reads one line (with or without its line end). A blank line or a comment (#) is no command and gets no answer: both results
// are nil then. The error is a *UsageError. The line isn't kept.
func Parse(line []byte) (Command, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return nil, nil
	}
	if looksLikeHTTP(line) {
		return nil, &UsageError{Message: "this is Millrace's control port, it doesn't speak HTTP", HangUp: true}
	}
	words, err := split(line)
	if err != nil {
		return nil, &UsageError{Message: err.Error()}
	}
	name := canonical(string(words[0].text))
	d := lookup(name)
	if d == nil {
		return nil, unknown(name, words[1:])
	}
	a := &args{words: words[1:]}
	command := d.parse(a)
	if a.problem == "" && len(a.words) > 0 {
		a.problem = fmt.Sprintf("%s is one word too many", show(a.words[0]))
	}
	if a.problem != "" {
		return nil, &UsageError{Message: a.problem, Usage: d.usage()}
	}
	return command, nil
}

// looksLikeHTTP: a web page that is open on this machine can make a browser post lines to the port; the first ones betray it.
func looksLikeHTTP(line []byte) bool {
	first, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(bytes.ToUpper(first)) {
	case "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI":
		return bytes.Contains(rest, []byte("HTTP/"))
	case "HOST:":
		return true
	}
	return false
}

// canonical: commands are known in any case, and with - in the place of _.
func canonical(name string) string { return strings.ReplaceAll(strings.ToUpper(name), "-", "_") }

// show is a word in a message, shortened.
func show(w word) string {
	text := w.text
	if len(text) > 60 {
		text = append(append([]byte{}, text[:60]...), "..."...)
	}
	if len(text) == 0 {
		return `""`
	}
	return Quote(text)
}

// args hands out the words of a line one after the other. The first problem stays; what is handed out after it is of no use.
type args struct {
	words   []word
	problem string
}

func (a *args) fail(text string, v ...any) {
	if a.problem == "" {
		a.problem = fmt.Sprintf(text, v...)
	}
}

// next takes the next word that isn't an option.
func (a *args) next() (word, bool) {
	if len(a.words) == 0 {
		return word{}, false
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w, true
}

// text takes a word that must be there and not be empty.
func (a *args) text(what string) string {
	w, ok := a.next()
	if !ok {
		a.fail("%s is missing", what)
	} else if len(w.text) == 0 {
		a.fail("%s is empty", what)
	}
	return string(w.text)
}

// flag takes a word that may be left out, and can be nothing else.
func (a *args) flag(name string) bool {
	w, ok := a.next()
	if ok && !strings.EqualFold(string(w.text), name) {
		a.fail("%s isn't expected, only %s may stand there", show(w), name)
	}
	return ok
}

// number takes a word that must be there and lie within the limits.
func (a *args) number(what string, least, most int64) int64 {
	w, ok := a.next()
	if !ok {
		a.fail("%s is missing, expected %s", what, limits(least, most))
		return 0
	}
	return a.parseNumber(what, w, least, most)
}

// numberOr is number for a word that may be left out.
func (a *args) numberOr(what string, otherwise, least, most int64) int64 {
	if len(a.words) == 0 {
		return otherwise
	}
	return a.number(what, least, most)
}

func (a *args) parseNumber(what string, w word, least, most int64) int64 {
	n, err := strconv.ParseInt(string(w.text), 10, 64)
	if err != nil || n < least || n > most {
		a.fail("%s is %s, expected %s", what, show(w), limits(least, most))
	}
	return n
}

func limits(least, most int64) string {
	if most == maxInt64 {
		return fmt.Sprintf("a number from %d", least)
	}
	return fmt.Sprintf("a number from %d to %d", least, most)
}

const (
	maxInt16 = 1<<15 - 1
	maxInt32 = 1<<31 - 1
	maxInt64 = 1<<63 - 1
)

// options takes all words of the form name=value away, wherever they stand, and hands them to take. take returns false for a name that it
// doesn't know; the word stays then. Quoting the = keeps a word from being an option.
func (a *args) options(take func(name string, value word) bool) {
	var left []word
	for _, w := range a.words {
		if len(w.equals) == 0 || !take(string(w.text[:w.equals[0]]), w.after(0)) {
			left = append(left, w)
		}
	}
	a.words = left
}

// after is what follows the i-th free '='.
func (w word) after(i int) word {
	cut := w.equals[i] + 1
	rest := word{text: w.text[cut:], quoted: w.quoted}
	for _, e := range w.equals[i+1:] {
		rest.equals = append(rest.equals, e-cut)
	}
	return rest
}

// bytes is a key or value: the bare word null is null.
func (w word) bytes() []byte {
	if !w.quoted && string(w.text) == null {
		return nil
	}
	return append([]byte{}, w.text...)
}

func parseCreateBroker(a *args) Command {
	w, ok := a.next()
	host := string(w.text)
	if !ok {
		a.fail("the IP address is missing")
	} else if bare, ok := hostName(host); !ok {
		a.fail("the IP address is %s, expected one such as 127.0.0.1, ::1 or 0.0.0.0, or a host name", show(w))
	} else {
		host = bare
	}
	return CreateBroker{Host: host, Port: int32(a.number("the port", 0, 65535))}
}

func (a *args) broker() int32 { return int32(a.number("the broker's id", 0, maxInt32)) }

func parseRemoveBroker(a *args) Command {
	return RemoveBroker{ID: a.broker(), Now: a.flag("now")}
}
func parseKillBroker(a *args) Command  { return KillBroker{ID: a.broker()} }
func parseStartBroker(a *args) Command { return StartBroker{ID: a.broker()} }
func parseDrain(a *args) Command       { return Drain{ID: a.broker(), Cancel: a.flag("cancel")} }
func parseOnlyCopies(a *args) Command  { return OnlyCopies{ID: a.broker()} }

func parseCreateTopic(a *args) Command {
	var configs map[string]string
	a.options(func(name string, value word) bool {
		if _, twice := configs[name]; twice {
			a.fail("%s stands twice", name)
		}
		if configs == nil {
			configs = map[string]string{}
		}
		configs[name] = string(value.text)
		return true
	})
	return CreateTopic{
		Name:              a.text("the topic's name"),
		Partitions:        int32(a.numberOr("the number of partitions", -1, 1, maxInt32)),
		ReplicationFactor: int16(a.numberOr("the replication factor", -1, 1, maxInt16)),
		Configs:           configs,
	}
}

func parseDeleteTopic(a *args) Command   { return DeleteTopic{Name: a.text("the topic's name")} }
func parseDescribeTopic(a *args) Command { return DescribeTopic{Name: a.text("the topic's name")} }
func parseLag(a *args) Command           { return Lag{Group: a.text("the group's name")} }

func parseElect(a *args) Command {
	e := Elect{Topic: a.text("the topic's name"), Partition: int32(a.number("the partition", 0, maxInt32))}
	if w, ok := a.next(); ok {
		switch strings.ToLower(string(w.text)) {
		case "preferred":
		case "unclean":
			e.Unclean = true
		default:
			a.fail("the election is %s, expected preferred or unclean", show(w))
		}
	}
	return e
}

func parseReassign(a *args) Command {
	r := Reassign{Topic: a.text("the topic's name"), Partition: int32(a.number("the partition", 0, maxInt32))}
	w, ok := a.next()
	switch {
	case !ok:
		a.fail("the brokers' ids are missing, expected such as 1,2,3, or cancel")
	case !strings.EqualFold(string(w.text), "cancel"):
		for id := range strings.SplitSeq(string(w.text), ",") {
			n, err := strconv.ParseInt(id, 10, 32)
			if err != nil || n < 0 {
				a.fail("the brokers' ids are %s, expected such as 1,2,3, or cancel", show(w))
				return nil
			}
			r.Replicas = append(r.Replicas, int32(n))
		}
	}
	return r
}

func parseProduce(a *args) Command {
	p := Produce{Partition: -1, TimestampMs: -1}
	a.options(func(name string, value word) bool {
		switch strings.ToLower(name) {
		case "partition":
			p.Partition = int32(a.parseNumber("partition", value, 0, maxInt32))
		case "key":
			p.Key = value.bytes()
		case "timestamp":
			p.TimestampMs = a.parseNumber("timestamp", value, 0, maxInt64)
		case "header":
			h := Header{Key: string(value.text)}
			if len(value.equals) > 0 {
				h = Header{Key: string(value.text[:value.equals[0]]), Value: value.after(0).text}
			}
			p.Headers = append(p.Headers, h)
		case "offset":
			// Part of what CONSUME prints, so that its lines can be sent again; the log decides.
		default:
			return false
		}
		return true
	})
	p.Topic = a.text("the topic's name")
	value, ok := a.next()
	if !ok {
		a.fail("the value is missing")
	}
	if len(a.words) > 0 {
		a.fail("%s after the value: put quotes around a text with blanks", show(a.words[0]))
	}
	p.Value = value.bytes()
	return p
}

func parseConsume(a *args) Command {
	return Consume{
		Topic:     a.text("the topic's name"),
		Partition: int32(a.number("the partition", 0, maxInt32)),
		From:      a.position(),
		Max:       int32(a.numberOr("the number of records", DefaultConsumeMax, 1, MaxConsumeMax)),
	}
}

func (a *args) position() Position {
	w, ok := a.next()
	if !ok {
		a.fail("the offset is missing, expected a number, start, end or -n")
		return Position{}
	}
	switch strings.ToLower(string(w.text)) {
	case "start":
		return Position{Base: Start}
	case "end":
		return Position{Base: End}
	}
	n, err := strconv.ParseInt(string(w.text), 10, 64)
	if err != nil {
		a.fail("the offset is %s, expected a number, start, end or -n for the last n", show(w))
	}
	if n < 0 {
		return Position{Base: End, Offset: n}
	}
	return Position{Offset: n}
}

func parseWatch(a *args) Command {
	w, ok := a.next()
	if !ok {
		return Watch{Interval: DefaultWatchInterval}
	}
	seconds, err := strconv.ParseFloat(string(w.text), 64)
	if inside := seconds >= MinWatchInterval.Seconds() && seconds <= MaxWatchInterval.Seconds(); err != nil || !inside {
		a.fail("the interval is %s, expected seconds from %g to %g", show(w), MinWatchInterval.Seconds(), MaxWatchInterval.Seconds())
		return nil
	}
	return Watch{Interval: time.Duration(seconds * float64(time.Second))}
}

func parseHelp(a *args) Command {
	w, ok := a.next()
	if !ok {
		return Help{}
	}
	name := canonical(string(w.text))
	if lookup(name) == nil {
		a.fail("%s", unknown(name, nil).Message)
	}
	return Help{About: name}
}

func parseFormat(a *args) Command {
	w, _ := a.next()
	switch strings.ToLower(string(w.text)) {
	case "json":
		return Format{Format: JSON}
	case "text":
		return Format{Format: Text}
	}
	a.fail("expected text or json")
	return nil
}
