package child

import (
	"os"
	"path/filepath"
)

// RemoveSockets removes a folder made for the socket of one process: the
// sockets in it, empty folders in it, and then itself. Whatever else is there
// stays, and the folder with it.
func RemoveSockets(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 || e.IsDir() {
			_ = os.Remove(filepath.Join(dir, e.Name())) // fails for a folder in use
		}
	}
	_ = os.Remove(dir)
}
