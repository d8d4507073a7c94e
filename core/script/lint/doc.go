// Package lint finds what is wrong, or surely not meant, in Tengo scripts and in
// the cells of notebooks without running them.
//
// Here are the rules ([Rules]), one table with the severity and the meaning of
// each, and [Check], which applies them. A rule speaks of what the text alone
// shows: names and scopes as Tengo's compiler sees them, the declarations of the
// modules that are imported (members, options, arguments), and the value of a
// variable that is assigned once. Where that does not tell what an expression is,
// nothing is said of it. What is too large for Tengo, and whatever else the
// compiler refuses, is asked of the compiler itself ([script.Session.Check]), so
// that no limit is written down twice.
//
// Not here: the layout (core/script/format), and what only a run can show.
package lint
