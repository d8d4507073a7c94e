package report

import (
	"time"

	"lab/core/experiment"
)

// ScriptRecord is the run.json of a script's folder, as lab run writes it and
// [Script] reads it; docs/json.md describes it.
type ScriptRecord struct {
	Schema   string            `json:"schema"` // ScriptFormat
	Script   string            `json:"script"`
	Sources  []Source          `json:"sources"`
	Settings map[string]any    `json:"settings"`
	Set      map[string]string `json:"set"`
	Seed     uint64            `json:"seed"`
	Started  time.Time         `json:"started"`
	Seconds  float64           `json:"seconds"`
	Outcome  string            `json:"outcome"`
	Error    string            `json:"error,omitempty"`
	Lab      string            `json:"lab"`
	Machine  Machine           `json:"machine"`
	experiment.Record
	Output   string             `json:"output,omitempty"`
	Figures  []string           `json:"figures"`
	Captions map[string]Caption `json:"captions"` // by file name
	Tables   []string           `json:"tables"`
	Sweeps   []string           `json:"sweeps"`
}

// Source is a file that a script was read from.
type Source struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Machine is where a script ran.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

// Caption is the words of a figure, for files that carry none.
type Caption struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Theme       string `json:"theme,omitempty"` // it was drawn in
}
