package wire

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// mostDeclared bounds how many samplers, backends, settings, aliases or choices
// one list may hold.
const mostDeclared = 4096

// PutSampler returns the message for a declaration.
func PutSampler(d sampler.Declaration) *SamplerDeclaration {
	return &SamplerDeclaration{
		Name: d.Name, Aliases: d.Aliases, Kind: SamplerKind(d.Kind), Summary: d.Summary, Source: d.Source,
		Params: putSpecs(d.Params), Formula: d.Formula, Systems: putSystems(d.Systems),
		Needs: &Needs{
			History: int32(d.Needs.History), Uniforms: uint32(d.Needs.Uniforms),
			TokenTexts: d.Needs.TokenTexts, Passes: uint32(d.Needs.Passes), Shared: d.Needs.Shared, Raw: d.Needs.Raw,
		},
	}
}

// GetSampler returns the declaration in a message, validated.
func GetSampler(m *SamplerDeclaration) (sampler.Declaration, error) {
	d := sampler.Declaration{
		Name: m.GetName(), Aliases: m.GetAliases(), Kind: sampler.Kind(min(uint32(m.GetKind()), 255)),
		Summary: m.GetSummary(), Formula: m.GetFormula(), Source: m.GetSource(),
		Needs: sampler.Needs{
			History: int(m.GetNeeds().GetHistory()), Uniforms: int(min(m.GetNeeds().GetUniforms(), 1<<20)),
			TokenTexts: m.GetNeeds().GetTokenTexts(), Passes: int(min(m.GetNeeds().GetPasses(), 1<<20)),
			Shared: m.GetNeeds().GetShared(), Raw: m.GetNeeds().GetRaw(),
		},
	}
	subject := fmt.Sprintf("sampler %s", fault.Quote(m.GetName(), 64))
	if err := checkAliases(subject, m.GetAliases()); err != nil {
		return d, err
	}
	var err error
	if d.Params, err = getSpecs(subject, m.GetParams()); err != nil {
		return d, err
	}
	if d.Systems, err = getSystems(subject, m.GetSystems()); err != nil {
		return d, err
	}
	return d, d.Validate()
}

// mostSystems bounds how many systems one sampler may name.
const mostSystems = 64

func putSystems(systems []sampler.System) []*System {
	out := make([]*System, len(systems))
	for i, s := range systems {
		out[i] = &System{Name: s.Name, Term: s.Term, Differs: s.Differs, Params: putSpecs(s.Params)}
	}
	return out
}

func getSystems(subject string, systems []*System) ([]sampler.System, error) {
	if len(systems) > mostSystems {
		return nil, fault.New(fault.Plugin, "declaration", subject, "it has %d systems, more than %d", len(systems), mostSystems)
	}
	var out []sampler.System
	for _, m := range systems {
		specs, err := getSpecs(subject, m.GetParams())
		if err != nil {
			return nil, err
		}
		out = append(out, sampler.System{Name: m.GetName(), Term: m.GetTerm(), Differs: m.GetDiffers(), Params: specs})
	}
	return out, nil
}

// PutBackend returns the message for a declaration.
func PutBackend(d model.Declaration) *BackendDeclaration {
	return &BackendDeclaration{
		Name: d.Name, Summary: d.Summary, Source: d.Source, Patterns: d.Patterns, Params: putSpecs(d.Params),
	}
}

// GetBackend returns the declaration in a message, validated.
func GetBackend(m *BackendDeclaration) (model.Declaration, error) {
	d := model.Declaration{Name: m.GetName(), Summary: m.GetSummary(), Source: m.GetSource(), Patterns: m.GetPatterns()}
	subject := fmt.Sprintf("backend %s", fault.Quote(m.GetName(), 64))
	if len(d.Patterns) > mostDeclared {
		return d, tooMany(subject, "patterns", len(d.Patterns))
	}
	var err error
	if d.Params, err = getSpecs(subject, m.GetParams()); err != nil {
		return d, err
	}
	return d, d.Validate()
}

func tooMany(subject, what string, n int) error {
	return fault.New(fault.Plugin, "declaration", subject, "it has %d %s, more than %d", n, what, mostDeclared)
}

func checkAliases(subject string, aliases []string) error {
	if len(aliases) > mostDeclared {
		return tooMany(subject, "aliases", len(aliases))
	}
	for _, a := range aliases {
		if a == "" || len(a) > 64 {
			return fault.New(fault.Plugin, "declaration", subject, "alias %s is empty or longer than 64 bytes", fault.Quote(a, 70))
		}
	}
	return nil
}

func putSpecs(specs param.Specs) []*Setting {
	out := make([]*Setting, len(specs))
	for i, s := range specs {
		out[i] = &Setting{
			Name: s.Name, Aliases: s.Aliases, Type: SettingType(s.Type), Default: putValue(s.Default),
			Min: s.Min, Max: s.Max, MinOpen: s.MinOpen, MaxOpen: s.MaxOpen,
			Choices: s.Choices, Unit: s.Unit, Meaning: s.Meaning, Weighted: s.Weighted,
		}
	}
	return out
}

func getSpecs(subject string, settings []*Setting) (param.Specs, error) {
	if len(settings) > mostDeclared {
		return nil, tooMany(subject, "settings", len(settings))
	}
	var out param.Specs
	for _, m := range settings {
		s := param.Spec{
			Name: m.GetName(), Aliases: m.GetAliases(), Type: param.Type(min(uint32(m.GetType()), 255)),
			Default: getValue(m.GetDefault()),
			Min:     m.GetMin(), Max: m.GetMax(), MinOpen: m.GetMinOpen(), MaxOpen: m.GetMaxOpen(),
			Choices: m.GetChoices(), Unit: m.GetUnit(), Meaning: m.GetMeaning(), Weighted: m.GetWeighted(),
		}
		if len(s.Choices) > mostDeclared {
			return nil, tooMany(subject, "choices", len(s.Choices))
		}
		if err := checkAliases(subject, s.Aliases); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			return nil, fault.Wrap(err, fault.Plugin, "declaration", subject)
		}
		out = append(out, s)
	}
	return out, nil
}

func putValue(v any) *Value {
	switch x := v.(type) {
	case float64:
		return &Value{Value: &Value_Number{Number: x}}
	case int64:
		return &Value{Value: &Value_Whole{Whole: x}}
	case bool:
		return &Value{Value: &Value_Truth{Truth: x}}
	case string:
		return &Value{Value: &Value_Text{Text: x}}
	case param.TokenList:
		return &Value{Value: &Value_Text{Text: x.String()}}
	}
	return nil
}

// getValue returns nil for an absent value, which no setting accepts.
func getValue(m *Value) any {
	switch x := m.GetValue().(type) {
	case *Value_Number:
		return x.Number
	case *Value_Whole:
		return x.Whole
	case *Value_Truth:
		return x.Truth
	case *Value_Text:
		return x.Text
	}
	return nil
}

// PutValues returns the message for checked settings; their origins stay at
// home.
func PutValues(values param.Values) []*NamedValue {
	out := make([]*NamedValue, len(values))
	for i, v := range values {
		out[i] = &NamedValue{Name: v.Name, Value: putValue(v.Value)}
	}
	return out
}

// GetValues checks settings against their declarations and fills in defaults.
// op and subject begin the message of an error, which is a usage error.
func GetValues(op, subject string, specs param.Specs, values []*NamedValue) (param.Values, error) {
	if len(values) > mostDeclared {
		return nil, tooMany(subject, "values", len(values))
	}
	given := make([]param.Setting, len(values))
	for i, m := range values {
		if m.GetName() == "" {
			return nil, fault.New(fault.Usage, op, subject, "value %d has no name", i)
		}
		given[i] = param.Setting{Name: m.GetName(), Value: getValue(m.GetValue()), Origin: "host"}
	}
	return specs.Resolve(op, subject, given)
}

// PutInfo returns the message for the description of an open model.
func PutInfo(i model.Info) *Info {
	return &Info{
		Name: i.Name, Architecture: i.Architecture, Description: i.Description,
		VocabSize: uint32(i.VocabSize), ContextLength: uint32(i.ContextLength),
		Parameters: i.Parameters, WeightBytes: i.WeightBytes, Digest: i.Digest,
		Deterministic: i.Deterministic, TopN: uint32(i.TopN), Hidden: uint32(i.Hidden), Chat: i.Chat, Begin: i.Begin,
		EndOfText: bytesOf(i.EndOfText), Control: bytesOf(i.Control), Details: putDetails(i.Details),
	}
}

func putDetails(details []model.Detail) []*Detail {
	var out []*Detail
	for _, d := range details {
		out = append(out, &Detail{Name: d.Name, Value: d.Value})
	}
	return out
}

// Bounds of the details of a model.
const (
	mostDetails   = 64
	longestDetail = 1000
)

func getDetails(m *Info) ([]model.Detail, error) {
	bad := func(format string, args ...any) ([]model.Detail, error) {
		return nil, fault.New(fault.Plugin, "open model", fault.Quote(m.GetName(), 64), format, args...)
	}
	if n := len(m.GetDetails()); n > mostDetails {
		return bad("it has %d details, more than %d", n, mostDetails)
	}
	var out []model.Detail
	seen := map[string]bool{}
	for _, d := range m.GetDetails() {
		name, value := d.GetName(), d.GetValue()
		switch {
		case !param.IsName(name) || seen[name]:
			return bad("the name of its detail %s is not snake_case, or is there twice", fault.Quote(name, 64))
		case len(value) > longestDetail:
			return bad("its detail %s has %d bytes, more than %d", name, len(value), longestDetail)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
			return bad("its detail %s is not one line of printable text", name)
		}
		seen[name] = true
		out = append(out, model.Detail{Name: name, Value: value})
	}
	return out, nil
}

// GetInfo returns the description in a message. A plugin error names the field
// that cannot be.
func GetInfo(m *Info) (model.Info, error) {
	bad := func(format string, args ...any) (model.Info, error) {
		return model.Info{}, fault.New(fault.Plugin, "open model", fault.Quote(m.GetName(), 64), format, args...)
	}
	vocab := int(m.GetVocabSize())
	switch {
	case vocab < 1 || vocab > maxVocab:
		return bad("its vocabulary has %d tokens, outside 1 to %d", m.GetVocabSize(), maxVocab)
	case m.GetContextLength() < 1 || m.GetContextLength() > 1<<30:
		return bad("its context length is %d, outside 1 to %d", m.GetContextLength(), 1<<30)
	case m.GetParameters() < 0 || m.GetWeightBytes() < 0:
		return bad("it has %d parameters in %d bytes", m.GetParameters(), m.GetWeightBytes())
	case m.GetDigest() == "" || len(m.GetDigest()) > 256:
		return bad("its digest has %d bytes, outside 1 to 256", len(m.GetDigest()))
	case m.GetBegin() < -1 || int(m.GetBegin()) >= vocab:
		return bad("its begin token is %d, outside the vocabulary of %d", m.GetBegin(), vocab)
	case m.GetHidden() > 1<<20:
		return bad("its hidden states have %d numbers, more than %d", m.GetHidden(), 1<<20)
	case int64(m.GetTopN()) > int64(vocab):
		return bad("it lists %d tokens of a vocabulary of %d", m.GetTopN(), vocab)
	}
	end, err := GetTokens(m.GetEndOfText(), vocab, "end_of_text")
	if err != nil {
		return model.Info{}, err
	}
	control, err := GetTokens(m.GetControl(), vocab, "control")
	if err != nil {
		return model.Info{}, err
	}
	details, err := getDetails(m)
	if err != nil {
		return model.Info{}, err
	}
	return model.Info{
		Name: m.GetName(), Architecture: m.GetArchitecture(), Description: m.GetDescription(),
		VocabSize: vocab, ContextLength: int(m.GetContextLength()), Parameters: m.GetParameters(),
		WeightBytes: m.GetWeightBytes(), Digest: m.GetDigest(), Deterministic: m.GetDeterministic(),
		TopN: int(m.GetTopN()), Hidden: int(m.GetHidden()), Chat: m.GetChat(),
		Begin: m.GetBegin(), EndOfText: end, Control: control, Details: details,
	}, nil
}
