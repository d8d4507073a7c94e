package kernel

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"lab/core/script"
)

// answer serves one request. Unknown ones get no answer, as the protocol has it.
func (k *Kernel) answer(s *socket, m *message) {
	switch m.header.Type {
	case "kernel_info_request":
		k.reply(s, m, "kernel_info_reply", k.info())
	case "execute_request":
		k.execute(s, m)
	case "complete_request":
		k.reply(s, m, "complete_reply", k.complete(m))
	case "inspect_request":
		k.reply(s, m, "inspect_reply", k.inspect(m))
	case "is_complete_request":
		k.reply(s, m, "is_complete_reply", isComplete(m))
	case "history_request":
		k.reply(s, m, "history_reply", k.past(m))
	case "comm_info_request":
		k.reply(s, m, "comm_info_reply", map[string]any{"status": "ok", "comms": map[string]any{}})
	case "comm_open":
		k.refuseComm(m)
	case "interrupt_request":
		k.Interrupt()
		k.reply(s, m, "interrupt_reply", map[string]any{"status": "ok"})
	case "shutdown_request":
		var c struct {
			Restart bool `json:"restart"`
		}
		_ = json.Unmarshal(m.content, &c) // without the field it is no restart
		answer := map[string]any{"status": "ok", "restart": c.Restart}
		k.reply(s, m, "shutdown_reply", answer)
		k.publish(m, "shutdown_reply", answer)
	default:
		k.log.Warn("an unknown request", "type", m.header.Type)
	}
	if m.header.Type == "shutdown_request" {
		defer k.end()
	}
}

// handleControl serves a request of the control socket, while a cell may run. A
// request that belongs to the shell is queued there.
func (k *Kernel) handleControl(m *message) { k.serve(k.control, m) }

func (k *Kernel) info() map[string]any {
	return map[string]any{
		"status": "ok", "protocol_version": protocol, "implementation": "lab", "implementation_version": k.config.Version,
		"language_info": k.config.Language, "debugger": false, "supported_features": []string{},
		"banner":     "lab " + k.config.Version + ": how language models turn frozen parameters into text. Start with lab := import(\"lab\")",
		"help_links": []any{},
	}
}

type cursorRequest struct {
	Code   string `json:"code"`
	Cursor *int   `json:"cursor_pos"` // code points; the end of the code when it is missing
}

func (k *Kernel) cursor(m *message) (src string, at int) {
	var c cursorRequest
	if err := json.Unmarshal(m.content, &c); err != nil {
		k.log.Warn("a request with other content", "type", m.header.Type, "error", err)
	}
	if c.Cursor == nil {
		return c.Code, len(c.Code)
	}
	return c.Code, byteOffset(c.Code, *c.Cursor)
}

// byteOffset returns where code point n begins, at most the end.
func byteOffset(s string, n int) int {
	for i := range s {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(s)
}

func codePoints(s string) int {
	n := 0
	for range s {
		n++
	}
	return n
}

func (k *Kernel) complete(m *message) any {
	src, at := k.cursor(m)
	found := k.config.Cells.Complete(src, at)
	start, end := codePoints(src[:found.Start]), codePoints(src[:found.End])
	matches, types := []string{}, []any{}
	for _, c := range found.List {
		matches = append(matches, c.Text)
		types = append(types, map[string]any{"start": start, "end": end, "text": c.Text, "type": c.Kind, "signature": c.Signature})
	}
	return map[string]any{"status": "ok", "matches": matches, "cursor_start": start, "cursor_end": end,
		"metadata": map[string]any{"_jupyter_types_experimental": types}}
}

func (k *Kernel) inspect(m *message) any {
	text := k.config.Cells.Inspect(k.cursor(m))
	data := map[string]any{}
	if text != "" {
		data["text/plain"] = text
	}
	return map[string]any{"status": "ok", "found": text != "", "data": data, "metadata": map[string]any{}}
}

func isComplete(m *message) any {
	var c cursorRequest
	if json.Unmarshal(m.content, &c) != nil {
		return map[string]any{"status": "unknown"}
	}
	got, open := script.CompletenessOf(c.Code)
	out := map[string]any{"status": got.String()}
	if got == script.Incomplete {
		out["indent"] = strings.Repeat("\t", open)
	}
	return out
}

// past answers from the cells of this process: there is no history of earlier
// ones. The patterns of a search are those of the shell, as IPython has them.
func (k *Kernel) past(m *message) any {
	var c struct {
		Output  bool   `json:"output"`
		Access  string `json:"hist_access_type"`
		Session int    `json:"session"`
		Start   int    `json:"start"`
		Stop    *int   `json:"stop"`
		N       *int   `json:"n"`
		Pattern string `json:"pattern"`
		Unique  bool   `json:"unique"`
	}
	if err := json.Unmarshal(m.content, &c); err != nil {
		k.log.Warn("a request with other content", "type", m.header.Type, "error", err)
	}
	k.mu.Lock()
	list := slices.Clone(k.history)
	k.mu.Unlock()
	var chosen []entry
	for i, e := range list {
		switch c.Access {
		case "range":
			if c.Session != 0 && c.Session != 1 || e.line < c.Start || c.Stop != nil && e.line >= *c.Stop {
				continue
			}
		case "search":
			flat := strings.NewReplacer("/", "\x00") // which * of a path does not match
			if ok, err := path.Match(flat.Replace(c.Pattern), flat.Replace(e.source)); c.Pattern != "" && (err != nil || !ok) {
				continue
			}
			if c.Unique && slices.ContainsFunc(list[i+1:], func(l entry) bool { return l.source == e.source }) {
				continue
			}
		}
		chosen = append(chosen, e)
	}
	if c.N != nil && c.Access != "range" && *c.N >= 0 && len(chosen) > *c.N {
		chosen = chosen[len(chosen)-*c.N:]
	}
	out := []any{}
	for _, e := range chosen {
		if c.Output {
			out = append(out, []any{1, e.line, []any{e.source, e.output}})
		} else {
			out = append(out, []any{1, e.line, e.source})
		}
	}
	return map[string]any{"status": "ok", "history": out}
}

// refuseComm closes what a frontend opens: the kernel has nothing to say there.
func (k *Kernel) refuseComm(m *message) {
	var c struct {
		ID string `json:"comm_id"`
	}
	if json.Unmarshal(m.content, &c) == nil {
		k.publish(m, "comm_close", map[string]any{"comm_id": c.ID, "data": map[string]any{}})
	}
}
