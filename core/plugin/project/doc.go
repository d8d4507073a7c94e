// Package project makes plugin projects and turns them into plugins: a scaffold
// for a new one, what a given path is, a build of it, and where it is installed.
//
//	src, err := project.Detect("./mine", "")              // a Go package, a Python project or a program
//	exe, err := project.Build(ctx, src, folder, project.BuildOptions{}) // folder/lab-plugin-mine
//
// A plugin is the executable lab-plugin-NAME and, when it needs more, the folder
// lab-plugin-NAME.d beside it. A Go package is built with the go command of the
// machine; a Python project is copied into the folder and the executable is a
// line of shell that starts it; a program is copied as it is. All are copies, so
// that what runs is what its digest says, whatever happens to the sources.
//
// What is written is written beside its place and moved there in one step: an
// interrupt or a full disk leaves what was there before. Nothing that a user
// wrote is ever overwritten.
//
// Not here: starting plugins (package host), the digests that are trusted
// (package lock), and the Python package lab_plugin, which the caller hands
// over as files. Start with [Detect], [New] or [Place].
package project
