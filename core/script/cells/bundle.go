package cells

import (
	"encoding/base64"
	"strings"

	"lab/core/script"
)

// Bundle is one value in all its forms, each MIME type once, the plain text last
// and always there. It is what Jupyter calls a MIME bundle.
type Bundle []script.Form

const plainText = "text/plain"

func bundleOf(v script.Shown) Bundle {
	b := Bundle{}
	for _, f := range v.Forms {
		if b.Find(f.MIME) == nil && f.MIME != plainText {
			b = append(b, f)
		}
	}
	return append(b, script.Form{MIME: plainText, Data: []byte(v.Text)})
}

// Find returns the form of that type, or nil.
func (b Bundle) Find(mime string) *script.Form {
	for i := range b {
		if b[i].MIME == mime {
			return &b[i]
		}
	}
	return nil
}

// Text returns the plain text.
func (b Bundle) Text() string {
	if f := b.Find(plainText); f != nil {
		return string(f.Data)
	}
	return ""
}

func (b Bundle) size() int {
	n := 0
	for _, f := range b {
		n += len(f.Data)
	}
	return n
}

// JSON returns the data and the metadata of the bundle as notebooks and Jupyter's
// messages have them: text and SVG as strings, other pictures in base64, and
// what a picture shows as the alternative text of its type.
func (b Bundle) JSON() (data map[string]string, metadata map[string]any) {
	data, metadata = map[string]string{}, map[string]any{}
	for _, f := range b {
		if IsText(f.MIME) {
			data[f.MIME] = strings.ToValidUTF8(string(f.Data), "\uFFFD")
		} else {
			data[f.MIME] = base64.StdEncoding.EncodeToString(f.Data)
		}
		if f.Alt != "" {
			metadata[f.MIME] = map[string]any{"alt": strings.ToValidUTF8(f.Alt, "\uFFFD")}
		}
	}
	return data, metadata
}

// IsText reports whether Jupyter writes data of a MIME type as text, and not in
// base64.
func IsText(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "image/svg+xml" || mime == "application/javascript"
}
