package console

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// Any line is a command, nothing, or an error of one line; and a word comes back from its own quotation.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"CREATE_BROKER 127.0.0.1 9092", "create_broker [::1] 0", "CREATE_TOPIC t 6 1 a=b", `PRODUCE t key="a \"b" 'c\n' header=x="y=z"`, `PRODUCE t \ud83d\ude00\xff\U0001f600`,
		"CONSUME t 0 -5 3", "LAG 'g h'", "WATCH 1e3", "HELP x", "FORMAT json", "# x", "GET / HTTP/1.1", "PRODUCE t \"", "\\", "=", "a==b", "'' ''", "　x　", "\\\n@",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := Parse(line)
		if err != nil {
			if c != nil || !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q: %v %q", line, c, err)
			}
		}
		words, err := split(line)
		if err != nil {
			return
		}
		for _, w := range words {
			back, err := split([]byte(Quote(w.text)))
			if w.text == nil {
				w.text = []byte{}
			}
			if err != nil || len(back) != 1 && len(w.text) > 0 || len(back) == 1 && len(w.text) > 0 && !bytes.Equal(back[0].text, w.text) {
				t.Fatalf("%q: quoted %s, back %v, %v", w.text, Quote(w.text), back, err)
			}
		}
	})
}

// Any record that CONSUME prints is one line, and PRODUCE takes it back.
func FuzzRecord(f *testing.F) {
	f.Add([]byte("key"), []byte("value"), "h", []byte("v"), false)
	f.Add([]byte(""), []byte("null"), "a=b", []byte("=\n"), true)
	f.Add([]byte("\xff\u2028"), []byte("OK \\\"'#"), "", []byte(""), false)
	f.Fuzz(func(t *testing.T, key, value []byte, headerKey string, headerValue []byte, nulls bool) {
		r := RecordRow{Partition: 1, Offset: 2, TimestampMs: 3, Key: append([]byte{}, key...), Value: append([]byte{}, value...)}
		r.Headers = []Header{{headerKey, append([]byte{}, headerValue...)}, {headerKey, nil}}
		if nulls {
			r.Key, r.Value = nil, nil
		}
		answer := Render(nil, Text, RecordList{Records: []RecordRow{r}})
		lines := strings.SplitAfter(string(answer), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d lines: %q", len(lines), answer)
		}
		checkRoundTrip(t, r, []byte(lines[0]))
		Render(nil, JSON, RecordList{Records: []RecordRow{r}})
	})
}
