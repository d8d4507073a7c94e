package kernel

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"

	"lab/core/fault"
)

// Spec is what Jupyter must know to start a kernel.
type Spec struct {
	Name        string   // of its folder: letters, digits, - . _
	DisplayName string   // in menus
	Language    string   // of its cells
	Argv        []string // the command; "{connection_file}" stands for the path of that
}

// UserFolder returns the folder in which Jupyter looks for the kernels of this user:
// that of JUPYTER_DATA_DIR, and else the data folder of the system's kind.
func UserFolder() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.Wrap(err, fault.Usage, "kernel install", "home folder").Fix("give --prefix DIR")
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Jupyter"), nil
	case "windows":
		if dir := os.Getenv("APPDATA"); dir != "" {
			return filepath.Join(dir, "jupyter"), nil
		}
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// PrefixFolder returns the folder in which the Jupyter of an environment below
// prefix looks for kernels.
func PrefixFolder(prefix string) string { return filepath.Join(prefix, "share", "jupyter") }

// Install writes the specification below a folder of [UserFolder] or [PrefixFolder],
// in the place of an earlier one, and returns the path of its file.
func Install(folder string, s Spec) (string, error) {
	dir := filepath.Join(folder, "kernels", s.Name)
	data, err := json.MarshalIndent(map[string]any{
		"argv": s.Argv, "display_name": s.DisplayName, "language": s.Language,
		"interrupt_mode": "message", "metadata": map[string]any{"debugger": false},
	}, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", fault.Wrap(err, fault.Usage, "kernel install", fault.Quote(dir, 120))
	}
	path := filepath.Join(dir, "kernel.json")
	if err := replace(path, append(data, '\n')); err != nil {
		return "", fault.Wrap(err, fault.Usage, "kernel install", fault.Quote(path, 120))
	}
	return path, nil
}

// replace writes a file whole or not at all.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".kernel-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
