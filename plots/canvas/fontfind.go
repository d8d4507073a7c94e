package canvas

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/image/font/sfnt"
)

// Bounds on what a search for fonts may touch, so that a folder pointed at by
// mistake costs little: files looked at, bytes of one file, bytes of all.
const (
	maxFontFiles = 512
	maxFontBytes = 64 << 20
	maxFontTotal = 256 << 20
)

// finder opens the fonts below some folders one after the other, as far as they
// are asked for. Files that are no font, too large or unreadable are passed
// over: a fallback that fails only means the next one.
type finder struct {
	dirs   []string
	paths  []string // nil until the folders were listed
	listed bool
	next   int // index into paths
	total  int64
	faces  []*face
}

// SystemFontDirs returns the folders in which Unix systems, macOS and Windows
// keep fonts. They are only searched when a figure is asked to: the picture then
// depends on the machine that drew it.
func SystemFontDirs() []string {
	dirs := []string{"/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts", "/Library/Fonts", `C:\Windows\Fonts`}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "share", "fonts"), filepath.Join(home, ".fonts"), filepath.Join(home, "Library", "Fonts"))
	}
	return dirs
}

// face returns the i-th face in order of folder, path and place in a
// collection, or nil after the last.
func (f *finder) face(i int) *face {
	if !f.listed {
		f.list()
	}
	for i >= len(f.faces) && f.next < len(f.paths) {
		f.open(f.paths[f.next])
		f.next++
	}
	if i >= len(f.faces) {
		return nil
	}
	return f.faces[i]
}

// list collects font files; WalkDir gives a fixed order.
func (f *finder) list() {
	f.listed = true
	for _, dir := range f.dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // a folder that cannot be read holds no font for us
			}
			if len(f.paths) >= maxFontFiles {
				return filepath.SkipAll
			}
			switch strings.ToLower(filepath.Ext(path)) {
			case ".ttf", ".otf", ".ttc", ".otc":
				if d.Type().IsRegular() {
					f.paths = append(f.paths, path)
				}
			}
			return nil
		})
	}
}

// open adds the faces of one file.
func (f *finder) open(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxFontBytes || f.total+info.Size() > maxFontTotal {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) > maxFontBytes {
		return
	}
	f.total += int64(len(data))
	collection, err := sfnt.ParseCollection(data)
	if err != nil {
		return
	}
	single := collection.NumFonts() == 1
	for i := range collection.NumFonts() {
		font, err := collection.Font(i)
		if err != nil || font.UnitsPerEm() == 0 {
			continue
		}
		source := data
		if !single {
			source = nil
		}
		f.faces = append(f.faces, newFoundFace(font, source, filepath.Base(path), i))
	}
}
