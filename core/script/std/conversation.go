package std

import (
	"fmt"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/script"
)

// Conversation is a prompt made of turns in the form of one model.
type Conversation struct {
	model *Model
	model.Conversation
}

// Class implements script.Object.
func (*Conversation) Class() script.Class {
	return script.Class{Name: "conversation", Doc: "A prompt made of turns, in the form of the model's chat template.", Members: []script.Member{
		getter("text", "string", "How it reads, with control tokens spelled out.", func(c *Conversation) any { return plainText(c.Text) }),
		getter("tokens", "list of int", "Its tokens.", func(c *Conversation) any { return c.Tokens }),
	}}
}

// String implements fmt.Stringer.
func (c *Conversation) String() string {
	return fmt.Sprintf("<conversation of %d tokens>", len(c.Tokens))
}

// chatMember declares model.chat.
func chatMember() script.Member {
	return script.Member{
		Name: "chat", Doc: "Puts turns into the form of the model's chat template, for model.generate; control tokens spelled in them stay text.", Returns: "conversation",
		Params: []script.Param{{Name: "turns", Type: script.List(script.Map(script.String())),
			Meaning: `the turns, the oldest first: [{role: "user", content: "…"}]; roles are system, user and assistant`}},
		Func: func(c *script.Call) (any, error) {
			var turns []model.Turn
			for i, t := range c.List("turns") {
				fields := t.(map[string]any)
				role, hasRole := fields["role"].(string)
				content, hasContent := fields["content"].(string)
				if !hasRole || !hasContent || len(fields) != 2 {
					return nil, fault.New(fault.Script, "chat", fmt.Sprintf("turn %d", i), "it has the keys %q", sortedKeys(fields)).
						Fix(`write {role: "user", content: "…"}`)
				}
				turns = append(turns, model.Turn{Role: role, Content: content})
			}
			m := script.Self[*Model](c)
			return blocking(c, func() (*Conversation, error) {
				made, err := m.Chat(c.Context(), turns)
				return &Conversation{model: m, Conversation: made}, err
			})
		},
	}
}

// promptOf returns the text and, for a conversation, the tokens of an argument.
func (m *Model) promptOf(arg any) ([]byte, []int32, error) {
	c, ok := arg.(*Conversation)
	if !ok {
		text, _ := arg.(string)
		return []byte(text), nil, nil
	}
	if c.model.Info().Digest != m.Info().Digest {
		return nil, nil, fault.New(fault.Script, "generate", "prompt", "it is a conversation in the form of model %q", c.model.Info().Name).
			Fix("make it with chat of the model that generates")
	}
	return c.Text, c.Tokens, nil
}
