// Package table holds tables of columns: what scripts filter, group, join, sort
// and store, a million rows comfortably.
//
// A [Table] is immutable. Every operation returns a new one that shares the
// columns it did not change. A [Column] has one of six types, and nulls marked in
// a bitmap beside its values. Not here: statistics of samples (they come in
// through [Group.Stats] as a function), figures, and what a run's tables contain.
// Start with [New], [ReadFile] or [ReadCSV].
//
// # Nulls and NaN
//
// Null means that there is no value; NaN is a value. A comparison with null holds
// for no row. Grouping puts nulls together, joins never match them, aggregations
// leave them out, sorting puts them last. All NaN are one value when grouping,
// joining and looking for duplicates, and 0 and -0 are one; sorting puts NaN
// behind the numbers; sums, means, extremes and quantiles of NaN are NaN.
//
// # Errors
//
// They are of kind usage when the caller named a column, type or value wrongly,
// and of kind data when a file is wrong. An unknown column names the nearest.
//
// Tables, columns and groups may be used from many goroutines at once.
package table
