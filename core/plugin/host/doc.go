// Package host is the other end of the pipe: it finds plugins, starts them,
// watches over them and makes them look like samplers and models of this
// process.
//
//	h, err := host.New(host.Options{Builtins: ..., Dirs: host.SearchPath(nil, ".")})
//	defer h.Close()
//	m, err := h.OpenModel(ctx, "tiny", nil)
//	err = h.Runner("samplers").Run(ctx, call)
//
// What a plugin cannot do to its host: outlive it, hang it, corrupt its
// start-up, flood it, or change a result by dying. Every call has a deadline,
// after which our own watchdog kills the plugin's process group; a plugin that
// died is started again and the call repeated with the same input, up to a
// limit. Samplers keep nothing between calls, so a repeated call gives the same
// answer. For models the host keeps the tokens of every sequence, opens the
// model again, refuses one whose digest has changed, and feeds the tokens anew.
//
// Two things were refused. Restarting behind the back of a plugin that answered
// with an error: an error is an answer, and would come again. And trusting
// go-plugin to end a process: its Kill waits without a limit for a stopped one.
//
// Not here: what the calls mean (packages sampler and model), how they travel
// (internal/wire) and the process itself (internal/child).
package host
