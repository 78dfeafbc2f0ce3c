package console

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// Render appends a whole answer: its lines, then the line that ends it. In text, lines begin with a blank and the last one with OK; in
// JSON each line is an object and the last one has the member "ok".
func Render(dst []byte, e Encoding, a Answer) []byte {
	dst = body(dst, e, a)
	if e == JSON {
		return object(dst, struct {
			OK      bool   `json:"ok"`
			Message string `json:"message"`
		}{true, a.summary()})
	}
	return ending(dst, "OK", a.summary())
}

// RenderMore appends a part of an answer that goes on, such as each picture of WATCH. In text its last line begins with MORE.
func RenderMore(dst []byte, e Encoding, a Answer) []byte {
	dst = body(dst, e, a)
	if e == JSON {
		return dst
	}
	return ending(dst, "MORE", a.summary())
}

// RenderError appends the answer to a command that failed: one line. What a *UsageError carries is told apart in JSON.
func RenderError(dst []byte, e Encoding, err error) []byte {
	if e == Text {
		return ending(dst, "ERR", err.Error())
	}
	answer := struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Usage string `json:"usage,omitempty"`
	}{Error: err.Error()}
	if u := (*UsageError)(nil); errors.As(err, &u) {
		answer.Error, answer.Usage = u.Message, u.Usage
	}
	return object(dst, answer)
}

// ending is the line that a client waits for.
func ending(dst []byte, word, text string) []byte {
	dst = append(dst, word...)
	if text != "" {
		dst = append(append(dst, ' '), oneLine(text)...)
	}
	return append(dst, '\n')
}

func body(dst []byte, e Encoding, a Answer) []byte {
	if e == JSON {
		for _, o := range a.objects() {
			dst = object(dst, o)
		}
		return dst
	}
	p := &printer{}
	a.text(p)
	for line := range bytes.Lines(p.out.Bytes()) {
		dst = append(dst, ' ')
		dst = append(append(dst, bytes.TrimRight(line, " \n")...), '\n')
	}
	return dst
}

// object appends one line of JSON. Nothing is escaped for HTML: this is no web page.
func object(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("console: an answer that isn't JSON: " + err.Error())
	}
	return b.Bytes()
}

// State tells what a line that came from the server means for a client.
type State uint8

const (
	Body    State = iota // a line of an answer
	Part                 // ends a part of an answer that goes on
	Success              // ends an answer
	Failure              // ends an answer; the command failed
)

// Classify looks at one line of an answer, without its line end. The line itself tells which encoding it is in, so that a client needs to
// remember nothing: text begins with a blank or a word, JSON with a brace.
func Classify(line []byte) State {
	if bytes.HasPrefix(line, []byte("{")) {
		return classifyJSON(line)
	}
	word, _, _ := bytes.Cut(line, []byte(" "))
	switch string(word) {
	case "OK":
		return Success
	case "ERR":
		return Failure
	case "MORE":
		return Part
	}
	return Body
}

func classifyJSON(line []byte) State {
	var end struct {
		OK *bool `json:"ok"`
	}
	// Most lines are rows, and rows have no such member: they needn't be parsed.
	if !bytes.Contains(line, []byte(`"ok":`)) || json.Unmarshal(line, &end) != nil || end.OK == nil {
		return Body
	}
	if *end.OK {
		return Success
	}
	return Failure
}

// printer collects lines; tables are aligned each for itself.
type printer struct{ out bytes.Buffer }

func (p *printer) line(text string, v ...any) { fmt.Fprintf(&p.out, text+"\n", v...) }

// table prints rows under a heading. Cells are one line each.
func (p *printer) table(heading string, rows int, cells func(i int) []string) {
	w := tabwriter.NewWriter(&p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(heading, " ", "\t"))
	for i := range rows {
		fmt.Fprintln(w, strings.Join(cells(i), "\t"))
	}
	_ = w.Flush() // into memory
}

func decimal[T int | int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// known prints a number that −1 stands for "none" in.
func known[T int | int32 | int64](n T) string {
	if n < 0 {
		return "-"
	}
	return decimal(n)
}

// name prints text that anybody may have chosen.
func name(s string) string {
	if s == "" {
		return "-"
	}
	return Quote([]byte(s))
}

func ids(list []int32) string {
	if len(list) == 0 {
		return "-"
	}
	parts := make([]string, len(list))
	for i, id := range list {
		parts[i] = decimal(id)
	}
	return strings.Join(parts, ",")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// size prints bytes for people: 512, 1.5KiB, 20MiB.
func size(n int64) string {
	if n < 1024 {
		return known(n)
	}
	units, value := "KMGTPE", float64(n)/1024
	for value >= 1024 {
		units, value = units[1:], value/1024
	}
	return strconv.FormatFloat(value, 'f', precision(value), 64) + units[:1] + "iB"
}

func precision(value float64) int {
	if value < 10 {
		return 1
	}
	return 0
}

// count prints "1 topic", "2 topics".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return decimal(n) + " " + what
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// textOrBase64 is how JSON carries bytes: as text if they are text.
func textOrBase64(b []byte) (text *string, base *string) {
	if b == nil {
		return nil, nil
	}
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return nil, &s
}
