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
// When the host itself is killed, a keeper (package child) ends what is left of
// its plugins and removes its sockets and shared memory; what even the keeper
// had no time for, the next host sweeps when it starts its first plugin.
//
// What a plugin is given: a few variables of the environment and those it
// declares, a socket in a folder of its own, and shared memory that only this
// user can open. A plugin of somebody else is started only when its files are
// those that the project's lock lists ([Options.Lock], package lock).
//
// What is checked of an answer: that it is no larger than the call can have,
// before it is read; shapes, slots, token ids; that a row has a finite score and
// neither NaN nor +Inf; that no token has a score that the row given had
// removed. A row that looks like probabilities in place of scores is a warning.
// What cannot be seen: a removed token that came back between two stages of one
// call and was gone at its end, unless the rows after each stage are asked for;
// probabilities that do not add up to 1; logarithms to another base; and a
// grandchild that leaves its process group, which survives, unless the host is
// killed where there is /proc.
//
// Two things were refused. Restarting behind the back of a plugin that answered
// with an error: an error is an answer, and would come again. And trusting
// go-plugin to end a process: its Kill waits without a limit for a stopped one.
//
// Not here: what the calls mean (packages sampler and model), how they travel
// (internal/wire) and the process itself (internal/child).
package host
