package kernel

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"time"
)

// version of the messaging protocol.
const protocol = "5.3"

type header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

// message is a request as it came.
type message struct {
	peers   [][]byte // who asked: the frames in front of the delimiter
	raw     []byte   // the header's own bytes, which answers repeat
	header  header
	content json.RawMessage
}

var delimiter = []byte("<IDS|MSG>")

// signer signs and numbers the messages of one kernel.
type signer struct {
	key     []byte
	session string
	count   atomic.Uint64
}

func newSigner(key string) *signer {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return &signer{key: []byte(key), session: hex.EncodeToString(id)}
}

// sign returns the signature over the four parts: hexadecimal HMAC-SHA256, and
// nothing without a key.
func (s *signer) sign(parts ...[]byte) []byte {
	if len(s.key) == 0 {
		return []byte{}
	}
	mac := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return []byte(hex.EncodeToString(mac.Sum(nil)))
}

// read takes a message apart. Errors say why it is to be dropped.
func (s *signer) read(frames [][]byte) (*message, error) {
	at := -1
	for i, f := range frames {
		if bytes.Equal(f, delimiter) {
			at = i
			break
		}
	}
	if at < 0 || len(frames) < at+6 {
		return nil, errors.New("it is no Jupyter message")
	}
	parts := frames[at+2 : at+6]
	if !hmac.Equal(frames[at+1], s.sign(parts...)) {
		return nil, errors.New("its signature is wrong")
	}
	m := &message{peers: frames[:at], raw: parts[0], content: parts[3]}
	if err := json.Unmarshal(parts[0], &m.header); err != nil {
		return nil, err
	}
	if m.header.Type == "" || !json.Valid(parts[3]) {
		return nil, errors.New("it has no type or no content")
	}
	return m, nil
}

// frames returns a signed message of the kernel: an answer to parent, which is nil
// when nobody asked.
func (s *signer) frames(peers [][]byte, kind string, parent *message, content any) ([][]byte, error) {
	h, err := json.Marshal(header{ID: s.session + "_" + strconv.FormatUint(s.count.Add(1), 10), Session: s.session, Username: "lab",
		Date: time.Now().UTC().Format(time.RFC3339Nano), Type: kind, Version: protocol})
	if err != nil {
		return nil, err
	}
	up := []byte("{}")
	if parent != nil {
		up = parent.raw
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	parts := [][]byte{h, up, []byte("{}"), body}
	out := append([][]byte{}, peers...)
	out = append(out, delimiter, s.sign(parts...))
	return append(out, parts...), nil
}
