// Package lock pins the plugins that a project trusts: lab.lock in the project's
// folder lists each by name with the SHA-256 of all it consists of.
//
//	l := lock.At(project)
//	entry, trusted, err := l.Find("mine")
//	sum, err := lock.Digest("/home/me/.lab/plugins/lab-plugin-mine")
//
// A plugin that the file does not list is recorded at its first start, and one
// that has changed since is not started. That guards against other code than
// was meant: a rebuilt binary, an edited script, another version on another
// machine. It does not guard against malice of a program of the same user,
// which could write the file too, and it does not look at what a plugin loads
// from elsewhere: an interpreter, shared libraries, Python packages.
//
// A sorted file that people can read, keep under version control and merge was
// preferred to signatures, which need keys that nobody here has.
//
// Not here: who is exempt, and the refusal itself (package host).
package lock
