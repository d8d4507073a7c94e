// Package plugin is all that an author of samplers or model backends calls:
//
//	func main() {
//		plugin.Serve(plugin.Plugin{
//			Name:     "mine",
//			Version:  "1.0.0",
//			Samplers: []sampler.Sampler{mySampler{}},
//		})
//	}
//
// Build it as an executable named lab-plugin-mine and put it where lab looks
// for plugins. The contracts are in the packages sampler and model; authors in
// other languages find theirs in internal/wire/lab.proto.
//
// [Serve] keeps what the plugin prints away from the handshake, turns panics
// into errors of one call, and ends the process, with its children, when the
// host is gone. It checks what arrives before an author's code sees it: shapes,
// token ids, slot numbers, settings.
//
// Not here: starting, finding and supervising plugins (package host), and the
// rules that a well-behaved plugin satisfies (package conform). A plugin runs
// with the rights of the user who starts lab; the checks protect against
// defects, not against malice.
package plugin
