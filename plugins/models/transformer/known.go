package transformer

import (
	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
)

// Architectures returns the names of the architectures that this backend
// computes, as general.architecture in a file says them.
func Architectures() []string {
	var names []string
	for _, a := range architectures() {
		names = append(names, a.name)
	}
	return names
}

// findArchitecture returns the table for general.architecture.
func findArchitecture(file *gguf.File, quoted string) (architecture, error) {
	name, found, err := file.Text("general.architecture")
	if err != nil {
		return architecture{}, err
	}
	if !found {
		return architecture{}, fault.New(fault.Data, "open model", quoted, `metadata "general.architecture" is missing`)
	}
	var known []string
	for _, a := range architectures() {
		if a.name == name {
			return a, nil
		}
		known = append(known, a.name)
	}
	e := fault.Unknown("open model", "architecture", name, known)
	e.Kind, e.Subject = fault.Model, quoted
	return architecture{}, e
}
