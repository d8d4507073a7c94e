package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"lab/core/fault"
)

// The log is a sequence of frames: a mark, the payload's length and CRC-32C, all
// of 4 bytes, and the payload. A process that dies leaves at most the last frame
// torn, which is cut off before the next is written.

var mark = []byte("LREC")

const (
	headBytes   = 12
	mostPayload = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame returns a frame around what the encoder makes of r, in its memory.
func (e *encoder) frame(r *Record) ([]byte, error) {
	e.b = append(e.b[:0], mark...)
	e.b = append(e.b, make([]byte, 8)...)
	e.below = 0
	e.record(r)
	payload := e.b[headBytes:]
	if e.below < 0 {
		return nil, fault.New(fault.Internal, op, fmt.Sprintf("cell %d, sample %d", r.Cell, r.Sample), "its record has the number %d where none is below 0", e.below)
	}
	if r.Cost != nil && !r.Cost.Sound() {
		return nil, fault.New(fault.Internal, op, fmt.Sprintf("cell %d, sample %d", r.Cell, r.Sample), "what it took is no measurement: %+v", *r.Cost)
	}
	if len(payload) > mostPayload {
		return nil, fault.New(fault.Limit, op, fmt.Sprintf("cell %d, sample %d", r.Cell, r.Sample), "its record has %d bytes, more than %d", len(payload), mostPayload)
	}
	binary.LittleEndian.PutUint32(e.b[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(e.b[8:], crc32.Checksum(payload, castagnoli))
	return e.b, nil
}

// place is where a record lies in the log.
type place struct {
	cell, sample uint32
	offset       int64 // of its frame
	length       uint32
	failure      bool
}

// index is what a log holds. Of several records of one sample the last counts.
type index struct {
	places   []place
	whole    int64 // bytes up to the end of the last whole frame
	problems []error
}

// scan reads the log from the start. Frames that are damaged with whole ones
// behind them are problems, as are records that are none of m's; what follows the
// last whole frame is not in whole.
func scan(f io.ReaderAt, size int64, path string, m *Manifest) (*index, error) {
	x := &index{}
	var head [headBytes]byte
	var payload []byte
	for at := int64(0); at < size; {
		n, err := frameAt(f, at, size, &head, &payload)
		if err != nil {
			return nil, fault.Wrap(err, fault.Data, op, path)
		}
		if n == 0 {
			next, err := nextFrame(f, at+1, size)
			if err != nil {
				return nil, fault.Wrap(err, fault.Data, op, path)
			}
			if next < 0 {
				return x, nil
			}
			x.problems = append(x.problems, fault.New(fault.Data, op, path, "bytes %d to %d are damaged; what they held is to be generated again", at, next))
			at = next
			continue
		}
		d := decoder{b: payload}
		kind, cell, sample := d.number(), d.number(), d.number()
		if d.bad || !m.holds(cell, sample) {
			x.problems = append(x.problems, fault.New(fault.Data, op, path, "the record at byte %d is damaged", at))
		} else {
			x.places = append(x.places, place{uint32(cell), uint32(sample), at, uint32(len(payload)), kind == kindFailure})
		}
		at += n
		x.whole = at
	}
	return x, nil
}

// frameAt reads the frame at an offset and returns its length, 0 when there is
// no whole one. The payload's memory is used again.
func frameAt(f io.ReaderAt, at, size int64, head *[headBytes]byte, payload *[]byte) (int64, error) {
	if size-at < headBytes {
		return 0, nil
	}
	if _, err := f.ReadAt(head[:], at); err != nil {
		return 0, err
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	if !bytes.Equal(head[:4], mark) || n > mostPayload || n > size-at-headBytes {
		return 0, nil
	}
	if int64(cap(*payload)) < n {
		*payload = make([]byte, n)
	}
	*payload = (*payload)[:n]
	if _, err := f.ReadAt(*payload, at+headBytes); err != nil {
		return 0, err
	}
	if crc32.Checksum(*payload, castagnoli) != binary.LittleEndian.Uint32(head[8:]) {
		return 0, nil
	}
	return headBytes + n, nil
}

// nextFrame returns the offset of the next whole frame, -1 when there is none.
func nextFrame(f io.ReaderAt, from, size int64) (int64, error) {
	const piece = 1 << 16
	buffer := make([]byte, piece+len(mark))
	var head [headBytes]byte
	var payload []byte
	for at := from; at < size; at += piece {
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := 0; ; i++ {
			j := bytes.Index(buffer[i:n], mark)
			if j < 0 || i+j >= piece {
				break
			}
			i += j
			whole, err := frameAt(f, at+int64(i), size, &head, &payload)
			if err != nil {
				return 0, err
			}
			if whole > 0 {
				return at + int64(i), nil
			}
		}
	}
	return -1, nil
}

// openLog opens the log of a folder for reading; nil when there is none.
func openLog(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, nil
		}
		return nil, 0, fault.Wrap(err, fault.Data, op, path)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fault.Wrap(err, fault.Data, op, path), f.Close())
	}
	return f, info.Size(), nil
}
