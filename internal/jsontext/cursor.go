// Package jsontext walks through JSON that comes from outside, at a bounded cost, and says where
// each part of it stands. Nothing is made of a value that the caller does not ask for, so that a
// text full of short elements costs no more than to read it.
package jsontext

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berth-sched/berth/internal/errtext"
)

// mostDepth is how many values may stand in each other.
const mostDepth = 100

// An Error is why a text is no JSON, or not what was asked for, or more than its bounds allow.
type Error struct {
	// Line and Column count from 1, Column in bytes.
	Line, Column int
	// Field is the key of the innermost object at hand.
	Field, Reason string
	TooLarge      bool
	// Err is that of the reader, if that is why.
	Err error
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	return errtext.Join(errtext.Place("", e.Line, e.Column), e.Field, e.Reason)
}

// A Cursor stands before a value of a text. Its first error stays, and ends all that goes on.
type Cursor struct {
	text      []byte
	at, depth int
	line      int    // of the first byte
	column    int    // of the first byte
	field     []byte // the last key
	keys      []span // of the objects that have not ended
	err       *Error
	seen      int // bytes of which the ends of lines are counted
	ends      int // of lines in these
}

type span struct{ from, to int32 }

// New is a Cursor before the first value of a text that begins at a line and a column.
func New(text []byte, line, column int) *Cursor {
	return &Cursor{text: text, line: line, column: column}
}

// Err is the first error, an *Error; nil: there was none.
func (c *Cursor) Err() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// Failed reports whether there was an error.
func (c *Cursor) Failed() bool { return c.err != nil }

// Line is the line of what comes next. Amortized O(bytes between).
func (c *Cursor) Line() int {
	if c.at < c.seen {
		c.seen, c.ends = 0, 0
	}
	c.ends += bytes.Count(c.text[c.seen:c.at], []byte{'\n'})
	c.seen = c.at
	return c.line + c.ends
}

// Fail notes an error about what comes next, unless there was one.
func (c *Cursor) Fail(format string, of ...any) { c.fail(false, format, of...) }

// FailTooLarge is Fail about what is beyond a bound.
func (c *Cursor) FailTooLarge(format string, of ...any) { c.fail(true, format, of...) }

func (c *Cursor) fail(tooLarge bool, format string, of ...any) {
	if c.err != nil {
		return
	}
	c.at = min(c.at, len(c.text))
	column := c.at - bytes.LastIndexByte(c.text[:c.at], '\n')
	if c.Line() == c.line {
		column += c.column - 1
	}
	c.err = &Error{
		Line: c.Line(), Column: column, Field: errtext.Short(string(c.field)),
		Reason: fmt.Sprintf(format, of...), TooLarge: tooLarge,
	}
}

// Kind is the first byte of the next value: one of { [ " t f n, and 0 for a number. At the end of
// the text, and at what begins no value, there is an error.
func (c *Cursor) Kind() byte {
	switch b := c.peek(); {
	case c.err != nil:
		return 0
	case b == '-' || '0' <= b && b <= '9':
		return 0
	case b == 0 && c.at >= len(c.text):
		c.Fail("the text ends early")
		return 0
	case bytes.IndexByte([]byte(`{["tfn`), b) < 0:
		c.Fail("not JSON: %q", b)
		return 0
	default:
		return b
	}
}

// peek steps over blanks, and is the next byte; 0: the text is at its end.
func (c *Cursor) peek() byte {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\n', '\t', '\r':
		default:
			return b
		}
	}
	return 0
}

// want steps over a byte that has to come next.
func (c *Cursor) want(b byte) bool {
	switch have := c.peek(); {
	case c.err != nil:
		return false
	case have == b:
		c.at++
		return true
	case c.at >= len(c.text):
		c.Fail("the text ends early")
	default:
		c.Fail("not JSON: %q where %q is to be", have, b)
	}
	return false
}

// enter steps into an object or a list.
func (c *Cursor) enter(begin byte, what string) bool {
	if kind := c.Kind(); c.err == nil && kind != begin {
		c.Fail("not %s", what)
	}
	if c.err == nil && c.depth == mostDepth {
		c.fail(true, "more than %d values in each other", mostDepth)
	}
	if c.err != nil {
		return false
	}
	c.at++
	c.depth++
	return true
}

// more reports whether an object or a list has another part, and steps over the comma before it or
// the end.
func (c *Cursor) more(first bool, end byte) bool {
	b := c.peek()
	switch {
	case c.err != nil:
		return false
	case b == end:
		c.at++
		c.depth--
		return false
	case first:
		return true
	}
	return c.want(',')
}

// Object tells the members of an object by their keys. The callback reads the value, or it is
// skipped. What is no object, and a key that is there twice, are errors. A null is an object
// without members.
func (c *Cursor) Object(member func(key []byte)) {
	if c.null() || !c.enter('{', "an object") {
		return
	}
	around, base := c.field, len(c.keys)
	for first := true; c.more(first, '}'); first = false {
		c.peek()
		from := c.at
		key := c.text0(true)
		end := c.at
		if c.err != nil || !c.want(':') {
			return
		}
		c.field = key
		c.keys = append(c.keys, span{int32(from) + 1, int32(end) - 1})
		if c.isTwice(base) {
			c.Fail("it is there twice")
			return
		}
		c.peek()
		value := c.at
		member(key)
		if c.err == nil && c.at == value {
			c.Skip()
		}
	}
	c.checkKeys(base)
	c.keys, c.field = c.keys[:base], around
}

// fewKeys is up to how many keys of an object are compared one by one.
const fewKeys = 16

// keyOf is a key as it stands in the text.
func (c *Cursor) keyOf(s span) []byte { return c.text[s.from:s.to] }

func (c *Cursor) isTwice(base int) bool {
	keys, key := c.keys[base:len(c.keys)-1], c.keyOf(c.keys[len(c.keys)-1])
	if len(keys) > fewKeys {
		return false
	}
	return slices.ContainsFunc(keys, func(s span) bool { return bytes.Equal(c.keyOf(s), key) })
}

// checkKeys looks for keys that are there twice among many.
func (c *Cursor) checkKeys(base int) {
	keys := c.keys[base:]
	if c.err != nil || len(keys) <= fewKeys {
		return
	}
	slices.SortFunc(keys, func(a, b span) int { return bytes.Compare(c.keyOf(a), c.keyOf(b)) })
	for i := 1; i < len(keys); i++ {
		if bytes.Equal(c.keyOf(keys[i-1]), c.keyOf(keys[i])) {
			c.field = c.keyOf(keys[i])
			c.Fail("it is there twice")
			return
		}
	}
}

// List tells the elements of a list by their number. The callback reads the element, or it is
// skipped. What is no list is an error. A null is a list without elements.
func (c *Cursor) List(element func(i int)) {
	if c.null() || !c.enter('[', "a list") {
		return
	}
	around := c.field
	for i := 0; c.more(i == 0, ']'); i++ {
		c.field = around
		c.peek()
		value := c.at
		element(i)
		if c.err == nil && c.at == value {
			c.Skip()
		}
	}
	c.field = around
}

// null steps over a null.
func (c *Cursor) null() bool { return c.err == nil && c.peek() == 'n' && c.word("null") }

func (c *Cursor) word(w string) bool {
	if !bytes.HasPrefix(c.text[c.at:], []byte(w)) {
		return false
	}
	c.at += len(w)
	return true
}

// Text reads a string; a null is the empty one.
func (c *Cursor) Text() string {
	if c.null() {
		return ""
	}
	return string(c.Bytes())
}

// Bytes reads a string, as it stands in the text unless it has escapes.
func (c *Cursor) Bytes() []byte {
	if kind := c.Kind(); c.err == nil && kind != '"' {
		c.Fail("not a string")
	}
	if c.err != nil {
		return nil
	}
	return c.text0(true)
}

// text0 reads a string; without keep one with escapes is nothing.
func (c *Cursor) text0(keep bool) []byte {
	if !c.want('"') {
		return nil
	}
	from, plain := c.at, true
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == '"':
			raw := c.text[from:c.at]
			c.at++
			if !plain {
				text, ok := unquote(raw, keep)
				if !ok {
					c.at = from
					c.Fail("not JSON: a string that is not UTF-8, or has an escape that is none")
				}
				return text
			}
			return raw
		case b == '\\':
			plain = false
			c.at++
		case b < ' ':
			c.Fail("not JSON: %q in a string", b)
			return nil
		case b >= utf8.RuneSelf:
			plain = false
		}
	}
	c.Fail("the text ends early")
	return nil
}

// Int reads a whole number of up to 18 digits.
func (c *Cursor) Int() int64 {
	if kind := c.Kind(); c.err == nil && kind != 0 {
		c.Fail("not a number")
	}
	from := c.at
	c.number()
	if c.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(c.text[from:c.at]), 10, 64)
	if err != nil {
		c.at = from
		c.Fail("not a whole number, or too large: %s", errtext.Short(string(c.text[from:])))
	}
	return n
}

// Tenths reads a number of up to 12 digits before the point as tenths, of which more are cut off.
func (c *Cursor) Tenths() int64 {
	if kind := c.Kind(); c.err == nil && kind != 0 {
		c.Fail("not a number")
	}
	from := c.at
	c.number()
	if c.err != nil {
		return 0
	}
	whole, part, _ := strings.Cut(string(c.text[from:c.at]), ".")
	n, err := strconv.ParseInt(whole+(part + "0")[:1], 10, 64)
	if err != nil || len(whole) > 12 {
		c.at = from
		c.Fail("not a number without an exponent, or too large")
		return 0
	}
	return n
}

// Bool reads true or false; a null is false.
func (c *Cursor) Bool() bool {
	switch kind := c.Kind(); {
	case c.err != nil || c.null():
	case kind == 't' && c.word("true"):
		return true
	case kind == 'f' && c.word("false"):
	default:
		c.Fail("neither true nor false")
	}
	return false
}

// number steps over a number.
func (c *Cursor) number() {
	digits := func() bool {
		from := c.at
		for c.at < len(c.text) && '0' <= c.text[c.at] && c.text[c.at] <= '9' {
			c.at++
		}
		return c.at > from
	}
	c.skipByte("-")
	from := c.at
	ok := digits() && (c.text[from] != '0' || c.at == from+1)
	if ok && c.skipByte(".") {
		ok = digits()
	}
	if ok && c.skipByte("eE") {
		c.skipByte("+-")
		ok = digits()
	}
	if !ok {
		c.Fail("not JSON: not a number")
	}
}

func (c *Cursor) skipByte(of string) bool {
	if c.at < len(c.text) && bytes.IndexByte([]byte(of), c.text[c.at]) >= 0 {
		c.at++
		return true
	}
	return false
}

// Skip steps over a value.
func (c *Cursor) Skip() {
	switch kind := c.Kind(); {
	case c.err != nil:
	case kind == '{':
		c.Object(func([]byte) {})
	case kind == '[':
		c.List(func(int) {})
	case kind == '"':
		c.text0(false)
	case kind == 0:
		c.number()
	case c.word("true"), c.word("false"), c.word("null"):
	default:
		c.Fail("not JSON: a word that is none")
	}
}

// End asks that nothing stands behind the value.
func (c *Cursor) End() {
	if c.err == nil && c.peek() != 0 || c.err == nil && c.at < len(c.text) {
		c.Fail("there is something behind the end")
	}
}
