package experiment

import "lab/core/chain"

// Record is what a session used, as it is stored with a run.
type Record struct {
	Models   []ModelRecord  `json:"models"`
	Plugins  []PluginRecord `json:"plugins"`
	Chains   []ChainRecord  `json:"chains"`
	Warnings []string       `json:"warnings,omitempty"`
}

// ModelRecord is one model with the digest of its weights at open and at the
// end of the run.
type ModelRecord struct {
	Ref           string `json:"ref"`
	Plugin        string `json:"plugin"`
	Name          string `json:"name"`
	Architecture  string `json:"architecture"`
	Parameters    int64  `json:"parameters"`
	WeightBytes   int64  `json:"weight_bytes"`
	Deterministic bool   `json:"deterministic"`
	// Settings are those it was opened with, as "name=value", without defaults.
	Settings   []string `json:"settings,omitempty"`
	DigestOpen string   `json:"digest_open"`
	DigestEnd  string   `json:"digest_end"`
}

// PluginRecord is one plugin that was started.
type PluginRecord struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of its executable
	Builtin bool   `json:"builtin"`
	// Restarts counts how often it died and was started again; the results are
	// the same either way.
	Restarts int `json:"restarts"`
}

// ChainRecord is one effective chain, every value with its origin.
type ChainRecord struct {
	Chain  string                 `json:"chain"`
	Stages []chain.EffectiveStage `json:"stages"`
}
