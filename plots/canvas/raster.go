package canvas

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// DPI is the resolution of PNG files.
const DPI = 300

// PNG writes the picture as pixels at [DPI], with its resolution, title and
// description in the file. Errors: fault.Data when w fails.
func (p *Picture) PNG(w io.Writer) error {
	return p.render(w, "png", func(buf *bytes.Buffer) error {
		c := vgimg.NewWith(vgimg.UseWH(p.width, p.height), vgimg.UseDPI(DPI), vgimg.UseBackgroundColor(p.background))
		p.Draw(c)
		var plain bytes.Buffer
		if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&plain); err != nil {
			return err
		}
		return annotate(buf, plain.Bytes(), p)
	})
}

// annotate copies a PNG file and puts its resolution and words after the header
// chunk (PNG specification, 11.3.3 and 11.3.4.3).
func annotate(w *bytes.Buffer, file []byte, p *Picture) error {
	const signature, header = 8, 25 // bytes: the signature, and the whole IHDR chunk
	if len(file) < signature+header {
		return fmt.Errorf("the encoder returned %d bytes", len(file))
	}
	w.Write(file[:signature+header])
	perMetre := uint32(math.Round(DPI / 0.0254))
	chunk(w, "pHYs", append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, perMetre), perMetre), 1))
	for _, t := range [][2]string{{"Title", p.title}, {"Description", p.desc}, {"Fonts", strings.Join(p.faces, ", ")}} {
		chunk(w, "iTXt", []byte(t[0]+"\x00\x00\x00\x00\x00"+t[1]))
	}
	w.Write(file[signature+header:])
	return nil
}

func chunk(w *bytes.Buffer, kind string, data []byte) {
	body := append([]byte(kind), data...)
	w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
	w.Write(body)
	w.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
}

// PDF writes the picture as one page, text as outlines. The same picture gives
// the same bytes. Errors: fault.Data when w fails.
func (p *Picture) PDF(w io.Writer) error {
	return p.render(w, "pdf", func(buf *bytes.Buffer) error {
		c := vgpdf.New(p.width, p.height)
		p.draw(c, rounded)
		var dated bytes.Buffer
		if _, err := c.WriteTo(&dated); err != nil {
			return err
		}
		buf.Write(undate(dated.Bytes()))
		return nil
	})
}

// rounded returns an outline with its points on a grid of 1/100 point, a 650th of
// the smallest text: the writer spends five decimals on every number, and zeros
// pack better (the file shrinks by half).
func rounded(path vg.Path) vg.Path {
	onGrid := func(p vg.Point) vg.Point {
		return vg.Point{X: vg.Length(math.Round(float64(p.X)*100) / 100), Y: vg.Length(math.Round(float64(p.Y)*100) / 100)}
	}
	for i := range path {
		path[i].Pos = onGrid(path[i].Pos)
		for k := range path[i].Control {
			path[i].Control[k] = onGrid(path[i].Control[k])
		}
	}
	return path
}

// undate replaces the dates in a PDF by a fixed one of the same length, so that
// the offsets of the file stay true.
func undate(file []byte) []byte {
	for _, key := range []string{"/CreationDate (D:", "/ModDate (D:"} {
		at := bytes.Index(file, []byte(key))
		if at < 0 {
			continue
		}
		for i := at + len(key); i < len(file) && file[i] != ')'; i++ {
			if file[i] >= '0' && file[i] <= '9' {
				file[i] = '0'
			}
		}
		copy(file[at+len(key):], "20000101")
	}
	return file
}
