package format

import (
	"bytes"
	"strings"

	"lab/core/fault"
	"lab/core/script"
)

// Source returns the source of a script in the layout of this package. The name
// is for messages. Formatting twice changes nothing more.
//
// A script that does not parse is an error of kind script with its places
// ([script.SyntaxErrors]); one that is too large, or would be by its
// indentation, of kind limit. Safe for concurrent use.
func Source(name string, src []byte) ([]byte, error) {
	tree, err := script.Parse(name, src)
	if err != nil {
		return nil, err
	}
	text := src
	hashbang := bytes.HasPrefix(src, []byte("#!"))
	if hashbang { // a comment of the same length, as for the parser
		text = append([]byte("//"), src[2:]...)
	}
	pieces := scan(text)
	mark(pieces, tree)
	out, err := layOut(name, pieces)
	if err != nil {
		return nil, err
	}
	if at := differs(pieces, scan(out)); at >= 0 {
		return nil, fault.New(fault.Internal, "format", name, "the tokens would change at byte %d", at).Fix("please report the script")
	}
	if hashbang {
		copy(out, "#!")
	}
	return out, nil
}

// Cell is [Source] for a cell of a notebook, which does not end in a line break.
func Cell(name, src string) (string, error) {
	out, err := Source(name, []byte(src))
	return strings.TrimSuffix(string(out), "\n"), err
}

// differs returns the place in the source of the first token or comment that is
// not the same in both, and -1 when there is none.
func differs(before, after []piece) int {
	for i := range before {
		if i >= len(after) || before[i].tok != after[i].tok || before[i].text != after[i].text {
			return before[i].start
		}
	}
	if len(after) > len(before) {
		return before[len(before)-1].start
	}
	return -1
}
