package std

import (
	"reflect"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script/scripttest"
)

func TestTheDeclarationIsSound(t *testing.T) {
	m := Module(&Env{})
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	for _, member := range m.Members {
		if member.Doc == "" || member.Returns == "" {
			t.Errorf("%s says not what it returns", member.Name)
		}
	}
}

func TestArg(t *testing.T) {
	env := &Env{Seed: 7, Args: map[string]string{"n": "3", "t": "0.5", "on": "true", "name": "x=y"}}
	r := scripttest.Run(t, `
lab := import("lab")
print(lab.seed, lab.arg("n", 1) + 1, lab.arg("t", 1.0) * 2, !lab.arg("on", false), lab.arg("name", "z"), lab.arg("left", 4))
`, Module(env))
	r.Printed(t, "7 4 1 false x=y 4\n")
	want := map[string]any{"n": int64(3), "t": 0.5, "on": true, "name": "x=y", "left": int64(4)}
	if got := env.Settings(); !reflect.DeepEqual(got, want) {
		t.Errorf("settings %v, want %v", got, want)
	}
	if err := env.Unused(); err != nil {
		t.Errorf("unused: %v", err)
	}
}

func TestArgRefusesWhatIsNotOfTheDefaultsType(t *testing.T) {
	rows := []struct{ name, given, fallback string }{
		{"a real number for a whole one", "1.5", "1"},
		{"words for a number", "warm", "1.0"},
		{"an infinite number", "Inf", "1.0"},
		{"not a number", "NaN", "1.0"},
		{"words for true or false", "maybe", "true"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			res := scripttest.Run(t, `import("lab").arg("x", `+r.fallback+`)`, Module(&Env{Args: map[string]string{"x": r.given}}))
			if fault.KindOf(res.Err) != fault.Usage || !strings.Contains(res.Err.Error(), "--set x") {
				t.Errorf("got %v", res.Err)
			}
		})
	}
}

func TestAnUnusedSettingNamesTheNearestUsedOne(t *testing.T) {
	env := &Env{Args: map[string]string{"temprature": "1"}}
	scripttest.Run(t, `import("lab").arg("temperature", 1.0)`, Module(env))
	err := env.Unused()
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), `did you mean "temperature"`) {
		t.Errorf("got %v", err)
	}
}

func TestStageOf(t *testing.T) {
	good, err := stageOf([]any{"top_p", map[string]any{"top_p": 0.9, "min_keep": int64(2)}}, 0, "here")
	if err != nil || len(good) != 1 || good[0].Name != "top_p" || len(good[0].Settings) != 2 || good[0].Settings[0].Origin != "here" {
		t.Errorf("got %+v, %v", good, err)
	}
	two, err := stageOf("temperature:0.5 | top_k:3", 0, "here")
	if err != nil || len(two) != 2 {
		t.Errorf("got %+v, %v", two, err)
	}
	for _, bad := range []any{1.5, []any{}, []any{1}, []any{"a", "b"}, []any{"a", map[string]any{}, 1}} {
		if _, err := stageOf(bad, 3, "here"); fault.KindOf(err) != fault.Script || !strings.Contains(err.Error(), "element 3") {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}
