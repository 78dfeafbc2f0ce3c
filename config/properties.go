package config

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/magiconair/properties"
)

// pair is one entry of a properties file.
type pair struct {
	name, value string
	line        int // of its first character, from 1
}

// parseProperties reads the format of java.util.Properties, in UTF-8, without ${} expansion (a password may hold any
// character). The library does not tell lines, so it is handed one logical line at a time.
func parseProperties(text []byte) (pairs []pair, problems []error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	line := 1
	for len(text) > 0 {
		logical, lines := logicalLine(text)
		p, err := loader.LoadBytes(logical)
		if err != nil {
			problems = append(problems, fmt.Errorf("%d: %s", line, strings.TrimPrefix(err.Error(), "properties: ")))
		} else if keys := p.Keys(); len(keys) > 0 {
			value, _ := p.Get(keys[0])
			pairs = append(pairs, pair{keys[0], strings.TrimSpace(value), line})
		}
		text = text[len(logical):]
		line += lines
	}
	return pairs, problems
}

// logicalLine cuts off a line with all that continue it: lines whose end has an odd number of backslashes. A comment goes on for one
// line only.
func logicalLine(text []byte) (logical []byte, lines int) {
	comment := false
	if first := bytes.TrimLeft(text, " \t\f"); len(first) > 0 {
		comment = first[0] == '#' || first[0] == '!'
	}
	for at := 0; at < len(text); {
		end := bytes.IndexAny(text[at:], "\r\n")
		if end < 0 {
			return text, lines + 1
		}
		end += at
		next := end + 1
		if text[end] == '\r' && next < len(text) && text[next] == '\n' {
			next++
		}
		lines++
		slashes := end - len(bytes.TrimRight(text[at:end], `\`)) - at
		if comment || slashes%2 == 0 {
			return text[:next], lines
		}
		at = next
	}
	return text, lines
}
