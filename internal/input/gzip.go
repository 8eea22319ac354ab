// Package input reads bytes from outside at a bounded cost.
package input

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// What a compressed text may come to: MostFree bytes, and MostTimes as many as it has itself. Logs
// and traces come to some 6 to 17 times; the most that gzip can write is 1,032 times.
const (
	MostFree  = 1 << 20
	MostTimes = 64
)

// ErrLimit is the kind of the errors about inputs that hold more than they may.
var ErrLimit = errors.New("limit")

// A Text is what Unzip made: it is not unzipped again.
type Text struct{ *bufio.Reader }

// Unzip undoes a compression with gzip that shows in the first bytes. The text ends with an
// ErrLimit where it is more than one of that length comes to.
func Unzip(r io.Reader) (*Text, error) {
	if text, done := r.(*Text); done {
		return text, nil
	}
	in := bufio.NewReader(r)
	if start, _ := in.Peek(2); string(start) != "\x1f\x8b" {
		return &Text{in}, nil
	}
	packed := &counter{in: in}
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return &Text{bufio.NewReader(&unzipped{packed: packed, plain: plain})}, nil
}

// A counter counts what is read through it. Gzip reads no more than it needs of what reads single
// bytes.
type counter struct {
	in    *bufio.Reader
	bytes int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.bytes += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.in.ReadByte()
	if err == nil {
		c.bytes++
	}
	return b, err
}

type unzipped struct {
	packed *counter
	plain  *gzip.Reader
	bytes  int64
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.bytes > MostFree+MostTimes*u.packed.bytes {
		return 0, fmt.Errorf("%w: comes to more than %d bytes and %d times the %d that gzip left of it", ErrLimit, MostFree, MostTimes, u.packed.bytes)
	}
	n, err := u.plain.Read(p)
	u.bytes += int64(n)
	return n, err
}
