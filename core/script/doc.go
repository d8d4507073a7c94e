// Package script runs Tengo scripts for lab and is what the author of a script
// module codes against.
//
// Here are: the [Session], which runs scripts with limits, interrupts and
// errors that name file, line and column; the functions every script has
// ([Globals]) and the safe standard modules; and the declarations ([Module],
// [Member], [Class]) from which arguments are checked and reference pages are
// made. Not here: anything about language models (core/script/std), notebooks,
// and the command line. Start with [New] to run scripts, with the example to
// write a module, and test it with core/script/scripttest.
//
// # How a module is written
//
// A host function gets its arguments checked and named, and returns plain Go
// values or an error. A Go value with a Class method becomes a host object. The
// interpreter lock of the session is held while a host function runs, so it may
// call functions of the script at once, and should wrap slow work in
// [Call.Blocking].
//
// # Decisions
//
// Tengo v2.17.0 is used through its compiler and virtual machine alone. Its
// Script type lets Go panics through and compiles four kinds of oversized
// scripts into wrong programs without a word; both are handled here
// (compile.go, machine.go). The version is the newest that can be had; what is
// read from its private fields is guarded by a test.
//
// Every file is parsed, checked and rewritten here before it is compiled, the
// imported ones included, which Tengo would read by itself (ast.go, load.go).
// So imports can be confined and hashed, and are what was hashed; loops over
// maps and printed maps are in the order of their keys, for output that
// repeats; and a name that a module does not have is an error and not
// undefined. Refused alternatives: rewriting only the main file, which would
// give imported ones other rules, and a fork of the virtual machine.
//
// Functions of a script are called from Go by a program of seven instructions
// on a kept virtual machine (closure.go), for 250 times less than a new machine
// costs. Two machines never run at once: their globals and even their constants
// are not safe for that.
//
// # What is not covered
//
// A string in a variable plus a list or map that contains itself overflows the
// Go stack inside Tengo, which no program survives; with a literal in front, in
// prints, comparisons and standard functions it is an error. One call of a
// built-in function can allocate up to a few hundred MiB before a limit is
// seen. Integer division (7/2 is 3), wrapping integers, and 1 == 1.0 being
// false are the language; the division of two literals is warned about.
package script
