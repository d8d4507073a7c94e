package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"lab/core/fault"
)

// FolderSuffix is what the name of an executable is followed by in the name of
// the folder with its other files: lab-plugin-mine and lab-plugin-mine.d.
const FolderSuffix = ".d"

// cacheFolder holds what Python compiles while it runs; it is not part of a
// plugin.
const cacheFolder = "__pycache__"

// mostFiles bounds the files of one plugin.
const mostFiles = 1 << 16

// Digest returns the SHA-256, in lower-case hex, of a plugin: of its executable
// alone, or, when the folder of that name with [FolderSuffix] lies beside it, of
// one line for the executable and one for every regular file of the folder, each
// "path NUL sha256-in-hex LF" with the path relative to where the executable
// lies and slashes between its parts, the lines in the order of their bytes.
// Folders called __pycache__ are left out.
//
// An executable that is a symbolic link is followed; a symbolic link or anything
// else that is neither a file nor a folder inside the plugin's folder is a plugin
// error, since what it leads to can change unseen. Errors of reading keep the
// cause, so that errors.Is(err, fs.ErrNotExist) holds for a missing executable.
func Digest(executable string) (string, error) {
	own, err := hashFile(executable)
	if err != nil {
		return "", err
	}
	folder := executable + FolderSuffix
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return own, nil
	case err != nil:
		return "", fault.Wrap(err, fault.Plugin, "digest", fault.Quote(folder, 120))
	case !info.IsDir():
		return "", fault.New(fault.Plugin, "digest", fault.Quote(folder, 120), "it is no folder").
			Fix("remove or rename it: the name is for the plugin's own files")
	}
	lines, err := folderLines(filepath.Dir(executable), folder)
	if err != nil {
		return "", err
	}
	lines = append(lines, line(filepath.Base(executable), own))
	slices.Sort(lines)
	sum := sha256.New()
	for _, l := range lines {
		_, _ = io.WriteString(sum, l) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func line(path, sum string) string { return path + "\x00" + sum + "\n" }

// folderLines returns the lines of a folder's files, with paths relative to base.
func folderLines(base, folder string) ([]string, error) {
	var lines []string
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		bad := func(format string, args ...any) error {
			return fault.New(fault.Plugin, "digest", fault.Quote(path, 120), format, args...)
		}
		switch {
		case err != nil:
			return fault.Wrap(err, fault.Plugin, "digest", fault.Quote(path, 120))
		case e.IsDir() && e.Name() == cacheFolder:
			return filepath.SkipDir
		case e.IsDir():
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			return bad("a symbolic link in the folder of a plugin is not pinned by its digest; put the file itself there")
		case !e.Type().IsRegular():
			return bad("it is neither a file nor a folder (%v)", e.Type())
		case len(lines) == mostFiles:
			return fault.New(fault.Limit, "digest", fault.Quote(folder, 120), "a plugin of more than %d files", mostFiles)
		}
		rel, err := filepath.Rel(base, path)
		if err != nil {
			return bad("%v", err)
		}
		sum, err := hashFile(path)
		if err != nil {
			return err
		}
		lines = append(lines, line(filepath.ToSlash(rel), sum))
		return nil
	})
	return lines, err
}

// hashFile returns the SHA-256 of a regular file.
func hashFile(path string) (string, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	if err != nil {
		return "", fault.Wrap(err, fault.Plugin, "digest", "")
	}
	if !info.Mode().IsRegular() {
		return "", fault.New(fault.Plugin, "digest", fault.Quote(path, 120), "it is no regular file (%v)", info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fault.Wrap(err, fault.Plugin, "digest", "")
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fault.Wrap(err, fault.Plugin, "digest", "")
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// isDigest reports whether s is a SHA-256 as Digest writes it.
func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && s == fmt.Sprintf("%x", b)
}
