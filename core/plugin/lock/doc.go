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
// from elsewhere: an interpreter, shared libraries, Python packages, and what
// Python keeps in __pycache__.
//
// The digest is taken by path, just before a process is started. What is put in
// the place of a file between the two is started, and what is put there while
// the plugin runs may be read by it, as Python reads modules late: either is
// refused at the next start. What is recorded is looked at again after the first
// start, so that an entry is the digest of files that did start.
//
// A sorted file that people can read, keep under version control and merge was
// preferred to signatures, which need keys that nobody here has.
//
// Not here: who is exempt, and the refusal itself (package host).
package lock
