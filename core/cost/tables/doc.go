// Package tables holds the facts that costs are computed from: hardware, model
// architectures, price lists and training runs, each with a date and a source.
//
// Some are shipped, in the files under data; a user adds others, or replaces
// shipped ones, with files of the same form: see [Load] for where they lie and
// which wins. A record is found by its name or an alias; the answer says where it
// came from and what it replaced. Nothing is filled in: a price that a list does
// not have, a date that nobody gave or a rate that a device does not reach are
// errors that say so.
//
// Not here: formulas (core/cost), and measurements of this machine. Start with
// [Load] or [Shipped].
package tables
