// Package models lists the model backends that ship with lab. Each family is a
// package below; they are served out of process like a stranger's.
package models

import (
	"lab/core/plugin/model"
	"lab/plugins/models/grammar"
	"lab/plugins/models/transformer"
)

// All returns every built-in backend, the default model first.
func All() []model.Backend {
	return []model.Backend{transformer.Tiny(), grammar.New(), transformer.GGUF()}
}
