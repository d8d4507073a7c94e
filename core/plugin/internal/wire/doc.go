// Package wire is the border between lab and its plugins: the contract in
// lab.proto with the code generated from it, the conversion of its messages to
// and from the types of the core, and the two ends of the connection.
//
// It is the only package that knows gRPC and go-plugin. It decides nothing:
// which process runs, what is repeated after a crash and which memory a row
// lives in belong to package host; what a call does belongs to package plugin.
//
// Everything that arrives is taken for hostile: lengths, counts and slot
// numbers are checked before they are used, and before anything is allocated
// from them.
//
// Start with lab.proto; then [Serve] and [Dial].
package wire
