package kernel

// Relax is what to do between two looks at a word that another thread will write:
// it takes some ten nanoseconds and leaves the core to its other thread.
func Relax() { pause() }
