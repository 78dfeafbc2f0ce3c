package console

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// word is one word of a line, quotes and escapes taken away.
type word struct {
	text   []byte
	equals []int // where in text the '=' stand that were neither quoted nor escaped
	quoted bool  // any part of it was quoted or escaped
}

// syntaxError is a line that can't be cut into words.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

// lexer cuts a line into words. Quotes may begin anywhere in a word (key="a b"), ' and " mean the same.
type lexer struct {
	line []byte
	at   int
}

// split returns the words of a line. The words' text is a copy: the line may be used again.
func split(line []byte) ([]word, error) {
	l := lexer{line: line}
	var words []word
	for {
		l.blanks()
		if l.at == len(l.line) {
			return words, nil
		}
		w, err := l.word()
		if err != nil {
			return nil, err
		}
		words = append(words, w)
	}
}

// blanks skips what stands between words. Unicode's blanks count too: an input method for Korean or Japanese types U+3000.
func (l *lexer) blanks() {
	for l.at < len(l.line) {
		r, size := utf8.DecodeRune(l.line[l.at:])
		if !unicode.IsSpace(r) {
			return
		}
		l.at += size
	}
}

func (l *lexer) word() (w word, err error) {
	for l.at < len(l.line) {
		c := l.line[l.at]
		switch {
		case c == '"' || c == '\'':
			w.quoted = true
			w.text, err = l.quoted(w.text, c)
		case c == '\\':
			w.quoted = true
			w.text, err = l.escape(w.text)
		case c == '=':
			w.equals = append(w.equals, len(w.text))
			w.text = append(w.text, c)
			l.at++
		default:
			r, size := utf8.DecodeRune(l.line[l.at:])
			if unicode.IsSpace(r) {
				return w, nil
			}
			w.text = append(w.text, l.line[l.at:l.at+size]...)
			l.at += size
		}
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

func (l *lexer) quoted(to []byte, quote byte) ([]byte, error) {
	start := l.at
	for l.at++; l.at < len(l.line); {
		c := l.line[l.at]
		switch c {
		case quote:
			l.at++
			return to, nil
		case '\\':
			var err error
			if to, err = l.escape(to); err != nil {
				return to, err
			}
		default:
			to = append(to, c)
			l.at++
		}
	}
	return to, syntaxError(fmt.Sprintf("the quote %c in column %d is never closed", quote, column(l.line, start)))
}

// escape reads what begins with a backslash. A letter needs a meaning, anything else stands for itself.
func (l *lexer) escape(to []byte) ([]byte, error) {
	rest := l.line[l.at+1:]
	if len(rest) == 0 {
		return to, syntaxError("a backslash at the end of the line has nothing to escape")
	}
	switch c := rest[0]; c {
	case 'n':
		to = append(to, '\n')
	case 'r':
		to = append(to, '\r')
	case 't':
		to = append(to, '\t')
	case 'x', 'u', 'U':
		return l.numbered(to, c)
	default:
		if c >= utf8.RuneSelf || c < ' ' || c >= '0' && c <= '9' || unicode.IsLetter(rune(c)) {
			r, _ := utf8.DecodeRune(rest)
			return to, syntaxError(fmt.Sprintf("\\%s in column %d: expected one of \\n \\r \\t \\\\ \\\" \\' \\xHH \\uHHHH", printable(r), column(l.line, l.at)))
		}
		to = append(to, c)
	}
	l.at += 2
	return to, nil
}

// numbered reads \xHH (a byte), \uHHHH and \UHHHHHHHH (a character; two \u for a surrogate pair, as JSON writes it).
func (l *lexer) numbered(to []byte, kind byte) ([]byte, error) {
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[kind]
	n, ok := l.hex(l.at+2, width)
	start := l.at
	l.at += 2 + width
	r := rune(n)
	if ok && kind == 'u' && utf16.IsSurrogate(r) {
		low, lowOK := l.hex(l.at+2, 4)
		if lowOK && bytes.HasPrefix(l.line[l.at:], []byte(`\u`)) {
			r = utf16.DecodeRune(r, rune(low))
			ok = r != unicode.ReplacementChar
			l.at += 6
		}
	}
	if !ok || kind != 'x' && (n > unicode.MaxRune || !utf8.ValidRune(r)) {
		return to, syntaxError(fmt.Sprintf("\\%c in column %d: expected %d hexadecimal digits that name a character", kind, column(l.line, start), width))
	}
	if kind == 'x' {
		return append(to, byte(n)), nil
	}
	return utf8.AppendRune(to, r), nil
}

func (l *lexer) hex(at, width int) (uint32, bool) {
	if at+width > len(l.line) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(l.line[at:at+width]), 16, 32)
	return uint32(n), err == nil
}

// column counts characters, as the person who typed the line does.
func column(line []byte, at int) int { return utf8.RuneCount(line[:at]) + 1 }

// printable shows a character inside of a message, which must stay one line.
func printable(r rune) string {
	if unicode.IsPrint(r) {
		return string(r)
	}
	return strings.Trim(strconv.QuoteRune(r), "'")
}
