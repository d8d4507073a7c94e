package gguf

import (
	"encoding/binary"

	"lab/core/fault"
)

// cursor walks over the bytes of a file. Its methods fail instead of reading
// past the end.
type cursor struct {
	name string
	data []byte
	at   int
}

// left returns the number of bytes from here to the end.
func (c *cursor) left() int { return len(c.data) - c.at }

// wrong is a data error about the bytes at offset at.
func (c *cursor) wrong(at int, format string, args ...any) *fault.Error {
	e := fault.New(fault.Data, "read GGUF", c.name, format, args...)
	e.Problem = atByte(at) + e.Problem
	return e
}

// take returns the next n bytes, what naming them for the message.
func (c *cursor) take(n uint64, what string) ([]byte, error) {
	if n > uint64(c.left()) {
		return nil, c.wrong(c.at, "%s needs %d bytes, the file ends after %d", what, n, c.left()).
			Fix("the file is truncated or not a GGUF file; fetch it again")
	}
	b := c.data[c.at : c.at+int(n) : c.at+int(n)]
	c.at += int(n)
	return b, nil
}

func (c *cursor) uint32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) uint64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text returns the bytes of a string: a 64-bit length, then as many bytes.
func (c *cursor) text(what string) ([]byte, error) {
	if c.left() < 8 {
		_, err := c.take(8, "the length of "+what)
		return nil, err
	}
	n := binary.LittleEndian.Uint64(c.data[c.at:])
	c.at += 8
	return c.take(n, what)
}

// count reads a number of things that take at least size bytes each and
// refuses one that the rest of the file cannot hold.
func (c *cursor) count(what string, size int) (int, error) {
	at := c.at
	n, err := c.uint64("the number of " + what)
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left()/size) {
		return 0, c.wrong(at, "it announces %d %s of at least %d bytes each, but only %d bytes are left", n, what, size, c.left()).
			Fix("the file is truncated or not a GGUF file; fetch it again")
	}
	return int(n), nil
}
