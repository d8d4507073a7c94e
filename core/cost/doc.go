// Package cost computes what it takes to train a language model and to use it:
// parameters, operations, bytes, seconds, joules and money, as functions of an
// architecture, a device, a workload and a price.
//
// Every formula has an id, F1 to F33, that its function's comment names with
// its source and the range where it holds; the ids travel with the numbers in
// [Quantity]. What is here is arithmetic: no table of devices, models or prices,
// no file, no clock, no measurement. Coefficients, peaks, bandwidths and prices
// are arguments, and none has a default. Efficiencies are arguments too; with
// all of them 1 ([Floor]) a time is a lower bound and is labelled so.
//
// Conventions: a multiply-add is 2 operations (FLOP). Attention is causal unless
// it is asked for in full ([Full]). The lookup of the input embedding costs
// no operations, the output head always does. Softmax, norms, rotary embeddings
// and activations are not counted. A context includes the token being
// processed. Bytes are decimal.
//
// Start with [Fields.Build] or [ParseArch] for an architecture, [Arch.Size] for
// its four parameter counts, [Arch.Decode] and [Arch.Prefill] for operations,
// [Arch.Step] for the time of one step, [Price.Bill] for money and [Crossover]
// for the point where the sum of all uses passes the training.
//
// All functions are pure and safe for concurrent use. Errors are of the kind
// usage and name the argument.
package cost
