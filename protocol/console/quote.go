package console

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// null is how a missing key or value is written, without quotes.
const null = "null"

// Quote writes bytes as one word that split gives back unchanged: bare if that is safe, else in double quotes. The result has no line
// break and nothing invisible in it; what isn't UTF-8 is written byte by byte (\xHH). nil becomes the word null.
func Quote(text []byte) string {
	if text == nil {
		return null
	}
	if bare(text) {
		return string(text)
	}
	var b strings.Builder
	b.WriteByte('"')
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// bare: letters and digits of any script, and signs that mean nothing to split or to a command.
func bare(text []byte) bool {
	if len(text) == 0 || string(text) == null || !utf8.Valid(text) {
		return false
	}
	for _, r := range string(text) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.,:/@+%", r) {
			return false
		}
	}
	return true
}

// oneLine makes any text fit into one line of an answer.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return text
	}
	return Quote([]byte(text))
}
