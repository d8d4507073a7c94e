package plane

import (
	"os"
	"testing"

	"lab/core/fault"
)

// More than any machine has is refused before anything is written, and nothing
// is left behind.
func TestLackOfSpaceIsALimit(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, 1, MaxVocab, MaxSlots); fault.KindOf(err) != fault.Limit {
		t.Errorf("128 TiB were granted: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
