// Package conform asks samplers and models the questions that a sound plugin of
// any language answers rightly, and reports which laws hold.
//
//	h, err := host.New(host.Options{Dirs: []string{"build"}})
//	report, err := conform.Run(ctx, h, "mine", conform.Options{})
//	err = report.Err() // names the first broken law, if there is one
//
// [Run] asks a plugin in a process of its own, [Samplers] a set in this process
// and [Model] one backend; the laws are the same code for all three. [Laws]
// lists them. A question is made from a declaration alone: legal settings, rows
// of many kinds, a context. A law that some sound samplers break for a reason
// (that adding a constant to every score changes nothing, say) yields a note,
// and fails only for a sampler whose [Facts] say that it has no such reason.
//
// Every question follows from a seed, so a report is the same at every run but
// for what it says of times, and the broken one that it shows has been made as
// small as was cheap.
//
// Not here: how well a method works (package golden compares with reference
// answers), how a host survives a plugin that dies (its own tests), and the
// testing package, which conformtest joins to this one. What the contract is,
// packages sampler and model say.
package conform
