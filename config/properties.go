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
// character). The library tells no line numbers and reads a continuation right after the key as an empty value, so it is handed one
// joined line at a time and does the separators and escapes.
func parseProperties(text []byte) (pairs []pair, problems []error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	for line := 1; len(text) > 0; {
		joined, rest, lines := logicalLine(text)
		p, err := loader.LoadBytes(joined)
		if err != nil {
			problems = append(problems, fmt.Errorf("%d: %s", line, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "properties: "), "Line 1: ")))
		} else if keys := p.Keys(); len(keys) > 0 {
			value, _ := p.Get(keys[0])
			pairs = append(pairs, pair{keys[0], strings.TrimSpace(value), line})
		}
		text = rest
		line += lines
	}
	return pairs, problems
}

// logicalLine cuts off a line and joins what continues it: a line whose end has an odd number of backslashes goes on with the next
// one, without that one's leading blanks. A comment never goes on.
func logicalLine(text []byte) (joined, rest []byte, lines int) {
	comment := false
	for rest = text; ; {
		line := rest
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			rest = nil
		} else {
			line, rest = rest[:end], bytes.TrimPrefix(rest[end:], []byte("\r"))
			rest = bytes.TrimPrefix(rest, []byte("\n"))
		}
		lines++
		trimmed := bytes.TrimLeft(line, " \t\f")
		if lines == 1 {
			comment = len(trimmed) > 0 && (trimmed[0] == '#' || trimmed[0] == '!')
		}
		slashes := len(line) - len(bytes.TrimRight(line, `\`))
		if comment || slashes%2 == 0 {
			return append(joined, trimmed...), rest, lines
		}
		joined = append(joined, trimmed[:len(trimmed)-1]...)
		if len(rest) == 0 {
			return joined, rest, lines
		}
	}
}
