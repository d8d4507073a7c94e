package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"lab/core/fault"
	"lab/core/script/cells"
)

// maxHistory is how many cells a kernel remembers.
const maxHistory = 10_000

type executeRequest struct {
	Code        string            `json:"code"`
	Silent      bool              `json:"silent"`
	Store       *bool             `json:"store_history"`
	Expressions map[string]string `json:"user_expressions"`
	StopOnError *bool             `json:"stop_on_error"`
}

func (k *Kernel) execute(s *socket, m *message) {
	var c executeRequest
	if err := json.Unmarshal(m.content, &c); err != nil {
		k.reply(s, m, "execute_reply", k.errorContent(fault.New(fault.Usage, "execute", "", "the request is not of the expected form: %v", err)))
		return
	}
	ctx, done := k.begin() // before any client can see that the cell has begun
	defer done()
	k.mu.Lock()
	if !c.Silent {
		k.count++
	}
	count := k.count
	k.mu.Unlock()
	if !c.Silent {
		k.publish(m, "execute_input", map[string]any{"code": c.Code, "execution_count": count})
	}
	out := &output{k: k, parent: m}
	value, err := k.run(ctx, fmt.Sprintf("cell %d", count), c.Code, out)
	out.close()
	if err != nil {
		content := k.errorContent(err)
		if !c.Silent {
			k.publish(m, "error", map[string]any{"ename": content["ename"], "evalue": content["evalue"], "traceback": content["traceback"]})
		}
		k.remember(c, count, "")
		var waiting []*message
		if c.StopOnError == nil || *c.StopOnError {
			waiting = k.waiting() // before the answer, to which the client may react with another cell
		}
		k.reply(s, m, "execute_reply", content)
		k.abort(s, waiting, count)
		return
	}
	if value != nil && !c.Silent {
		data, metadata := value.JSON()
		k.publish(m, "execute_result", map[string]any{"execution_count": count, "data": data, "metadata": metadata})
	}
	k.remember(c, count, value.Text())
	k.reply(s, m, "execute_reply", map[string]any{"status": "ok", "execution_count": count, "payload": []any{},
		"user_expressions": k.expressions(ctx, c.Expressions)})
}

// begin returns a context that Interrupt ends, and what to call at the end.
func (k *Kernel) begin() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(k.ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ending {
		cancel()
	}
	k.interrupt = cancel
	return ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.interrupt = nil
		cancel()
	}
}

func (k *Kernel) run(ctx context.Context, name, src string, out cells.Output) (cells.Bundle, error) {
	if strings.TrimSpace(src) == "" {
		return nil, nil
	}
	return k.config.Cells.Run(ctx, name, src, out)
}

func (k *Kernel) remember(c executeRequest, count int, text string) {
	if c.Silent || c.Store != nil && !*c.Store {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.history = append(k.history, entry{line: count, source: c.Code, output: text})
	if len(k.history) > maxHistory {
		k.history = k.history[len(k.history)-maxHistory:]
	}
}

// errorContent is an error as answers have it.
func (k *Kernel) errorContent(err error) map[string]any {
	k.mu.Lock()
	defer k.mu.Unlock()
	return map[string]any{"status": "error", "execution_count": k.count, "ename": fault.KindOf(err).String(),
		"evalue": strings.ToValidUTF8(err.Error(), "\uFFFD"), "traceback": cells.Traceback(err), "payload": []any{}, "user_expressions": map[string]any{}}
}

// waiting takes the execute requests out of the queue.
func (k *Kernel) waiting() []*message {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out, kept []*message
	for _, m := range k.queue {
		if m.header.Type == "execute_request" {
			out = append(out, m)
		} else {
			kept = append(kept, m)
		}
	}
	k.queue = kept
	return out
}

// abort answers execute requests as aborted.
func (k *Kernel) abort(s *socket, list []*message, count int) {
	for _, m := range list {
		k.publish(m, "status", map[string]any{"execution_state": "busy"})
		k.reply(s, m, "execute_reply", map[string]any{"status": "aborted", "execution_count": count, "payload": []any{}, "user_expressions": map[string]any{}})
		k.publish(m, "status", map[string]any{"execution_state": "idle"})
	}
}

// expressions evaluates what a request asks for beside its code.
func (k *Kernel) expressions(ctx context.Context, list map[string]string) map[string]any {
	out := map[string]any{}
	for name, src := range list {
		b, err := k.run(ctx, "expression "+name, src, silence{})
		if err != nil {
			c := k.errorContent(err)
			out[name] = map[string]any{"status": "error", "ename": c["ename"], "evalue": c["evalue"], "traceback": c["traceback"]}
			continue
		}
		data, metadata := b.JSON()
		out[name] = map[string]any{"status": "ok", "data": data, "metadata": metadata}
	}
	return out
}

type silence struct{}

func (silence) Stream(string, string) {}
func (silence) Display(cells.Bundle)  {}

// Text of a stream is gathered for a moment, so that a cell that prints much does
// not flood its clients with messages.
const (
	gatherFor   = 30 * time.Millisecond
	gatherBytes = 64 << 10
)

// output publishes what a cell puts out.
type output struct {
	k      *Kernel
	parent *message

	mu    sync.Mutex
	name  string
	text  strings.Builder
	timer *time.Timer
}

func (o *output) Stream(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if name != o.name {
		o.flush()
		o.name = name
	}
	o.text.WriteString(text)
	if o.text.Len() >= gatherBytes {
		o.flush()
	} else if o.timer == nil {
		o.timer = time.AfterFunc(gatherFor, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.timer = nil
			o.flush()
		})
	}
}

func (o *output) Display(b cells.Bundle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	data, metadata := b.JSON()
	o.k.publish(o.parent, "display_data", map[string]any{"data": data, "metadata": metadata, "transient": map[string]any{}})
}

// flush publishes the text gathered; the lock must be held.
func (o *output) flush() {
	if o.text.Len() > 0 {
		o.k.publish(o.parent, "stream", map[string]any{"name": o.name, "text": o.text.String()})
		o.text.Reset()
	}
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	if o.timer != nil {
		o.timer.Stop()
	}
}
