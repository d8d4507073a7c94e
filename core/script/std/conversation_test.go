package std

import (
	"context"
	"testing"

	"lab/core/plugin/model"
	"lab/core/script"
	"lab/core/script/scripttest"
)

// chatty is the toy with a form of a conversation: the turns' texts, each with a
// full stop behind it that a user cannot write.
type chatty struct{ *toy }

func (c chatty) Info() model.Info {
	info := c.toy.Info()
	info.Chat = true
	return info
}

func (c chatty) Chat(_ context.Context, turns []model.Turn) (model.Conversation, error) {
	var out model.Conversation
	for _, t := range turns {
		out.Text = append(append(out.Text, t.Content...), '.')
		tokens, _ := c.Encode(context.Background(), []byte(t.Content), model.EncodeOptions{})
		out.Tokens = append(append(out.Tokens, tokens...), 11)
	}
	return out, nil
}

func TestConversationsArePrompts(t *testing.T) {
	modules := func() []script.Module { return modulesOf(t, chatty{&toy{seqs: map[uint64][]int32{}}}) }
	made := `c := m.chat([{role: "system", content: "ab"}, {role: "user", content: "c"}]); `
	scripttest.Run(t, preamble+made+`print(c.text, c.tokens)`, modules()...).Printed(t, "ab.c. [0, 1, 11, 2, 11]\n")
	// The same tokens as a plain text are the same prompt to the toy.
	scripttest.Run(t, preamble+made+`options := {chain: [pick], max_tokens: 9, samples: 3, seed: 5}
a := m.generate(c, options); b := m.generate("ab.c.", options)
for i, s in a { assert(s.tokens == b[i].tokens && len(s.tokens) == 9) }`, modules()...).Returned(t, nil)
	scripttest.Run(t, preamble+`m.chat([{rolle: "user", content: "c"}])`, modules()...).Failed(t, "turn 0", `write {role: "user"`)
	scripttest.Run(t, preamble+made+`m.next(c)`, modules()...).Failed(t, "expected string")
	scripttest.Run(t, preamble+`m.chat([{role: "user", content: "c"}])`, toyModules(t)...).Failed(t, `model "toy"`, "no chat template")
}
