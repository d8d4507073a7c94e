package transformer

// Architectures returns the names of the architectures that this backend
// computes, as general.architecture in a file says them.
func Architectures() []string {
	var names []string
	for _, a := range architectures() {
		names = append(names, a.name)
	}
	return names
}
