package transformer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/chat"
)

// Chat implements [model.Chatter] with the file's chat template. Control tokens
// are read where the template writes them and nowhere in what the turns say: a
// mark stands before whatever in them could be taken for one while the template
// is rendered, and is gone from the tokens.
func (e *engine) Chat(_ context.Context, turns []model.Turn) (model.Conversation, error) {
	wrong := func(format string, args ...any) (model.Conversation, error) {
		return model.Conversation{}, fault.New(fault.Usage, "chat", fmt.Sprintf("model %q", e.name), format, args...)
	}
	switch {
	case e.vocab.fail != nil:
		return model.Conversation{}, e.vocab.fail
	case e.vocab.chat == nil:
		return wrong("its file has no chat template")
	case len(turns) == 0:
		return wrong("the conversation has no turns")
	}
	mark, found := unusedMark(turns)
	if !found {
		return wrong("the turns use every character that could mark what they say")
	}
	messages := make([]chat.Message, len(turns))
	for i, t := range turns {
		if !slices.Contains(chat.Roles(), t.Role) {
			return model.Conversation{}, fault.Unknown("chat", "role", t.Role, chat.Roles())
		}
		if !utf8.ValidString(t.Content) {
			return wrong("turn %d is not UTF-8", i+1)
		}
		messages[i] = chat.Message{Role: t.Role, Content: e.vocab.tok.Mark(t.Content, mark)}
	}
	text, err := e.vocab.chat.Render(messages)
	if err != nil {
		return model.Conversation{}, err
	}
	tokens, err := e.vocab.tok.EncodeMarked([]byte(text), []byte(mark))
	if err != nil {
		return model.Conversation{}, err
	}
	if len(tokens) == 0 {
		return wrong("its chat template makes nothing of the conversation")
	}
	return model.Conversation{Text: []byte(strings.ReplaceAll(text, mark, "")), Tokens: tokens}, nil
}

// unusedMark returns a character that no turn has: one of those that Unicode
// will never give a meaning.
func unusedMark(turns []model.Turn) (string, bool) {
	for r := rune(0xFDD0); r <= 0xFDEF; r++ {
		mark := string(r)
		if !slices.ContainsFunc(turns, func(t model.Turn) bool { return strings.Contains(t.Content, mark) }) {
			return mark, true
		}
	}
	return "", false
}
