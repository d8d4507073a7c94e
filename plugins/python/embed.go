// Package python holds the Python side of the plugin contract: lab_plugin, with
// which samplers and model backends are written in Python. It is here so that
// the files can be laid into a new project; nothing in it runs Python.
//
// The package itself is in lab_plugin, its tests in tests, and what writes its
// generated part is generate. Start with lab_plugin/__init__.py.
package python

import (
	"embed"
	"io/fs"
)

//go:embed lab_plugin/*.py
var files embed.FS

// Requirements are the Python packages that lab_plugin needs, as a requirements
// file lists them. With numpy beside them rows are numpy arrays, and large
// vocabularies several times faster; cryptography is needed for TLS alone.
const Requirements = "grpcio>=1.62\nprotobuf>=6.31.1,<8\n"

// Files returns the source files of lab_plugin, in a folder of that name.
func Files() fs.FS { return files }
