//go:build !unix

package child

// Keeper does nothing: there are no children on this system.
type Keeper struct{}

// StartKeeper returns no keeper.
func StartKeeper() (*Keeper, error) { return nil, nil }

// Folder does nothing.
func (*Keeper) Folder(string) {}

// Close does nothing.
func (*Keeper) Close() {}
