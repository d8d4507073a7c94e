// Package bench measures what a plugin costs: a sampler call by vocabulary size,
// transport and batch, the forward pass of a model by batch ([Models]), whole
// prompts and generations ([Measure]), and steps over contexts and batches ([Grid]).
//
//	hops, err := bench.Samplers(ctx, h, "mine", []bench.Case{{Label: "mine", Declaration: d, Stage: stage}}, bench.Options{})
//
// Times of one machine at two moments do not compare; what is measured together
// does. So the kinds of call of one setting are made in turn, round after round
// and each time in another order: the bare gRPC round trip of the same process,
// the call itself, and, where the sampler is at hand, the same work in this
// process. Before each of them as many scores are written as the call holds, as a
// model would: a process that has slept for a while is woken more slowly, and a
// row that was just written lies in another cache than one that was just read.
// What is reported is the median, with the tenth and the ninetieth percentile.
//
// Not here: whether a plugin is right (package conform), and the start of its
// process, which a run pays once.
package bench
