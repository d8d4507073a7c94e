package chat

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
)

// Bounds of what a rendering may allocate in all, garbage included, which is more
// than it ever holds: so many bytes per byte charged, and so many at least.
const (
	perCharged = 24
	atLeast    = 8 << 20
)

// measured renders and fails when more was allocated than was charged for.
func measured(t *testing.T, tmpl *Template, conversation []Message) (string, error) {
	t.Helper()
	var before, after runtime.MemStats
	b := newBudget()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	text, err := tmpl.render(conversation, b)
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	if took > 2*longest-time.Second {
		t.Fatalf("given up after %v", took)
	}
	if got := int64(after.TotalAlloc - before.TotalAlloc); got > atLeast+perCharged*b.total {
		t.Fatalf("%d bytes were allocated and %d charged; %v", got, b.total, err)
	}
	return text, err
}

func TestHostileTemplatesEnd(t *testing.T) {
	grow := func(way string) string { // doubles what x holds until it is stopped
		return "{% set n = namespace(x='xxxxxxxx') %}{% for i in range(100) %}{% set n.x = " + way + " %}{% endfor %}{{ n.x | length }}"
	}
	big := "{% set x = 'x' * 9999999 %}{% set l = x | list %}"
	rows := []struct {
		name, source string
		kind         fault.Kind
		want         string
	}{
		{"loops in loops", `{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}x{% endfor %}{% endfor %}{% endfor %}`, fault.Limit, "goes round"},
		{"a range without end", `{% for a in range(1000000000000) %}{% endfor %}`, fault.Limit, "range"},
		{"a range by its filter", `{{ range(10 ** 9) | list | length }}`, fault.Model, "whole numbers"},
		{"a macro that calls itself", `{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}`, fault.Limit, "call each other"},
		{"a macro that calls itself for a default", `{% macro f(x=f()) %}{% endmacro %}{{ f() }}`, fault.Model, "not a literal"},
		{"a macro that calls its caller", `{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}`, fault.Limit, "call each other"},
		{"a text that doubles", "{% set x = 'xxxxxxxx' %}" + strings.Repeat("{% set x = x ~ x %}", 60), fault.Limit, "a text has"},
		{"a text that doubles in a namespace", grow("n.x ~ n.x"), fault.Limit, "a text has"},
		{"a text that doubles by +", grow("n.x + n.x"), fault.Limit, "a text has"},
		{"a text that doubles by *", grow("n.x * 2"), fault.Limit, "the most is"},
		{"a text that doubles by replace", grow("n.x | replace('x', 'xx')"), fault.Limit, "the most is"},
		{"a text that doubles by its method replace", grow("n.x.replace('x', 'xx')"), fault.Limit, "the most is"},
		{"a text that squares by replace", grow("n.x | replace('x', n.x)"), fault.Limit, "the most is"},
		{"a text that doubles by replacing nothing", grow("n.x.replace('', 'x')"), fault.Limit, "the most is"},
		{"a text that doubles by join", grow("[n.x, n.x] | join(n.x)"), fault.Limit, "a text has"},
		{"a text that squares by join", grow("n.x | list | join(n.x)"), fault.Limit, "takes"},
		{"a text that doubles by format", grow("'{0}{0}'.format(n.x)"), fault.Limit, "the most is"},
		{"arguments that hold the next place", "{{ '{0}'.format(" + strings.Join([]string{
			"'" + strings.Repeat("{1}", 99) + "'", "'" + strings.Repeat("{2}", 99) + "'", "'" + strings.Repeat("{3}", 99) + "'",
			"'" + strings.Repeat("{4}", 99) + "'", "'" + strings.Repeat("{5}", 99) + "'", "'x'"}, ", ") + ") }}", fault.Limit, "the most is"},
		{"a text that grows by tojson", grow("n.x | tojson | tojson ~ n.x"), fault.Limit, ""},
		{"a text that grows by escape", grow("(n.x ~ '&') | e | replace('a', '&&&&') | e ~ n.x"), fault.Limit, ""},
		{"a text that doubles in a block", grow("n.x") + "{% set x = 'xxxxxxxx' %}" + strings.Repeat("{% set x %}{{ x }}{{ x }}{% endset %}", 60), fault.Limit, "a text has"},
		{"a text that doubles in a macro", "{% macro f(x) %}{{ x }}{{ x }}{% endmacro %}" + grow("f(n.x)"), fault.Limit, "a text has"},
		{"a text that doubles in a filter block", "{% set x = 'x' %}" + strings.Repeat("{% set x %}{% filter upper %}{{ x }}{{ x }}{% endfilter %}{% endset %}", 60), fault.Limit, "makes more than"},
		{"text around a loop", "{% for i in range(20000) %}" + strings.Repeat("x", 200000) + "{% endfor %}", fault.Limit, "makes more than"},
		{"a list that doubles", "{% set x = [1] %}" + strings.Repeat("{%- set x = x + x -%}", 60), fault.Limit, "makes more than"},
		{"a list that holds itself", `{% set x = [] %}{% set y = x.append(x) %}{{ x }}`, fault.Limit, "nest more than"},
		{"a dict that holds itself", `{% set x = namespace() %}{% set x.x = x %}{{ x == x }}`, fault.Limit, "nest more than"},
		{"a list of itself twice", "{% set x = [1] %}" + strings.Repeat("{% set x = [x, x] %}", 30) + "{{ x }}", fault.Limit, "makes more than"},
		{"a dict of itself twice", "{% set x = {} %}" + strings.Repeat("{% set x = {'a': x, 'b': x} %}", 30) + "{{ x | tojson }}", fault.Limit, "makes more than"},
		{"a long literal in a loop", "{% set n = namespace(x=[]) %}{% for i in range(20000) %}{% set y = n.x.append([" + strings.Repeat("1,", 50000) + "]) %}{% endfor %}", fault.Limit, "makes more than"},
		{"a text repeated", `{{ 'x' * 9000000000000000000 }}`, fault.Limit, "is repeated"},
		{"a text repeated to just too much", `{{ 'x' * 4000000000 }}`, fault.Limit, "is repeated"},
		{"a number before a text", `{{ 4000000000 * 'x' }}`, fault.Limit, "is repeated"},
		{"a list repeated", `{{ [1] * 4000000000 }}`, fault.Model, "multiplies"},
		{"an indent", `{{ 'a\nb' | indent(4000000000) }}`, fault.Limit, "an indent of"},
		{"an indent by its name", `{{ 'a\nb' | indent(width=4000000000) }}`, fault.Limit, "an indent of"},
		{"an indent as a text", `{{ 'a\nb' | indent('4000000000') }}`, fault.Model, "not a whole number"},
		{"an indent of tojson", `{{ [1] | tojson(indent=4000000000) }}`, fault.Limit, "an indent of"},
		{"an indent of tojson that is no whole number", `{{ [1] | tojson(indent=4000000000.5) }}`, fault.Model, "not a whole number"},
		{"a separator of tojson", `{% set x = 'x' * 99999 %}{{ range(9999) | tojson(separators=(x, x)) }}`, fault.Limit, "a separator"},
		{"a slice with a step", `{{ [1, 2][0:4000000000:2] | length }}{{ 'ab'[4000000000:-4000000000:-2] }}` + `{{ 'x' * 4000000000 }}`, fault.Limit, "is repeated"},
		{"characters of a large text", big, fault.Limit, "takes"},
		{"a loop over a large text", `{% set x = 'x' * 9999999 %}{% for c in x if c == 'y' %}{% endfor %}`, fault.Limit, "takes"},
		{"a text split everywhere", `{% set x = 'x' * 9999999 %}{{ x.split('') | length }}`, fault.Limit, "takes"},
		{"a large text sorted", `{% set x = ('x ' * 999999).split() %}{{ (x + x) | sort | length }}`, fault.Limit, "takes"},
		{"many characters to strip", `{{ ('x' * 9999999).strip('é' * 999999) }}`, fault.Limit, "strips more"},
		{"many characters to strip by a filter", `{{ ('x' * 9999999) | trim('é' * 999999) }}`, fault.Limit, "strips more"},
		{"a method kept", `{% set f = 'x'.replace %}{{ f('x', 'xx') }}`, fault.Model, "keeps a method"},
		{"a method of another value", `{% set n = namespace(f='x'.replace) %}{{ n.f('x', 'xx') }}`, fault.Model, "keeps a method"},
		{"the engine's own names", `{{ __filter_replace('x', 'x', 'xx') }}`, fault.Model, "not for templates"},
		{"our own names", `{% set lab_see = 1 %}`, fault.Model, "sets"},
		{"our own names as a loop's", `{% for lab_see in [1] %}{% endfor %}`, fault.Model, "not for templates"},
		{"our own names as a parameter", `{% macro f(lab_see) %}{% endmacro %}`, fault.Model, "parameter"},
		{"a deep expression", "{{ " + strings.Repeat("(", 100000) + strings.Repeat(")", 100000) + " }}", fault.Model, "nests more"},
		{"a deep list", "{{ " + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + " }}", fault.Model, "nests more"},
		{"many signs", "{{ " + strings.Repeat("-", 100000) + "1 }}", fault.Model, "nests more"},
		{"many negations", "{{ " + strings.Repeat("not ", 60000) + "1 }}", fault.Model, "nests more"},
		{"a long sum", "{{ 1" + strings.Repeat("+1", 100000) + " }}", fault.Model, "nests more"},
		{"a long chain of attributes", "{{ x" + strings.Repeat(".x", 100000) + " }}", fault.Model, "nests more"},
		{"a long chain of filters", "{{ x" + strings.Repeat("|e", 100000) + " }}", fault.Model, "nests more"},
		{"a long choice", "{{ 1" + strings.Repeat(" if 1 else 1", 20000) + " }}", fault.Model, "nests more"},
		{"deep blocks", strings.Repeat("{% if 1 %}", 20000) + strings.Repeat("{% endif %}", 10), fault.Model, "blocks nest"},
		{"deep blocks of texts", strings.Repeat("{% set x %}", 20000), fault.Model, "blocks nest"},
		{"a refusal that holds itself", `{% set x = [] %}{% set y = x.append(x) %}{{ raise_exception(x) }}`, fault.Limit, "nest more than"},
		{"a file", `{% include "/etc/passwd" %}`, fault.Model, "include"},
		{"a tag left open", `{{ messages`, fault.Model, "not closed"},
		{"a loop left open", `{% for a in messages %}`, fault.Model, ""},
		{"an unknown filter", `{{ messages | sandbox }}`, fault.Model, "sandbox"},
		{"an unknown test", `{{ messages is sandbox }}`, fault.Model, "sandbox"},
		{"two names set at once", `{% set a, b = 1, 2 %}`, fault.Model, "not one name"},
		{"a filter of a set block", `{% set a | trim %}x{% endset %}`, fault.Model, "not one name"},
		{"a remainder of a text", `{{ '%s' % 1 }}`, fault.Model, "not a number"},
		{"a filter that is named in map", `{{ messages | map('upper') }}`, fault.Model, "attribute"},
		{"a huge source", strings.Repeat("x", MaxSource+1), fault.Model, "the most is"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			tmpl, err := Compile(r.source, "", "")
			text := ""
			if err == nil {
				text, err = measured(t, tmpl, []Message{{"user", "x"}})
			}
			if fault.KindOf(err) != r.kind || err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %.40q, %v; want a %v error with %q", text, err, r.kind, r.want)
			}
		})
	}
}

// What is charged differs from what Jinja does in nothing else: jinja2 3.1.6
// printed these.
func TestGuardedTemplatesRenderAsBefore(t *testing.T) {
	rows := []struct{ name, source, want string }{
		{"slices", `{{ 'abcde'[1:3] }} {{ 'abcde'[::-1] }} {{ 'abcde'[-2:] }} {{ 'abcde'[:99] }} {{ 'abcde'[4:0:-2] }} {{ [1, 2, 3][1:] }} {{ 'aéb'[:2] }}`, "bc edcba de abcde ec [2, 3] aé"},
		{"a slice beyond both ends", `{{ 'abc'[-99:99] }}|{{ 'abc'[99:-99:-1] }}|{{ 'abc'[5:] }}|{{ [][:3] }}`, "abc|cba||[]"},
		{"precedence", `{{ 1 + 2 * 3 - 4 }} {{ not 1 == 2 }} {{ 1 < 2 and 2 < 3 or false }} {{ 'a' + 'b' ~ 1 * 2 }} {{ 2 ** 3 == 8 }}`, "3 True True ab2 True"},
		{"a choice", `{{ 'a' if false else 'b' if false else 'c' }}{{ 'x' if false }}`, "c"},
		{"a text repeated", `{{ 'ab' * 3 }}{{ 2 * '-' }}{{ 'x' * -1 }}`, "ababab--"},
		{"a loop with a condition", `{% for x in [1, 2, 3, 4] if x % 2 == 0 %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}`, "12, 24"},
		{"a loop over a choice", `{% for x in ([1] if true else [2]) %}{{ x }}{% endfor %}`, "1"},
		{"a loop over pairs", `{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% else %}none{% endfor %}`, "a=1;b=2;"},
		{"a macro with a default", `{% macro f(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, b=2) }}`, "1x12"},
		{"a call block", `{% macro f(a) %}<{{ caller() }}{{ a }}>{% endmacro %}{% call f(1) %}x{% endcall %}`, "<x1>"},
		{"a filter block", `{% filter upper | replace('A', 'b') %}a{{ 'c' }}{% endfilter %}`, "bC"},
		{"a method of a method's result", `{{ ' a,b '.strip().split(',')[1].upper() }}`, "B"},
		{"an argument that calls a method", `{{ 'abc'.replace('ab'.replace('b', ''), 'x'.upper()) }}`, "Xbc"},
		{"the loop's own function", `{% for x in [1, 2, 3] %}{{ loop.cycle('a', 'b') }}{% endfor %}`, "aba"},
		{"tests", `{{ 'a' in 'abc' }} {{ 4 not in [1] }} {{ x is defined }} {{ x is not defined }} {{ 'a' is string and 1 is not string }} {{ 1 is eq(1) }}`, "True True False True True True"},
		{"tuples and trailing commas", `{{ (1, 2,) | length }}{{ [1, 2, ] | length }}{{ {'a': 1,} | length }}{{ () | length }}`, "2210"},
		{"a filter of arguments", `{{ ['a', 'b'] | join(', ') | default('x') }} {{ [{'n': 'p'}, {'n': 'q'}] | map(attribute='n') | join('+') }}`, "a, b p+q"},
		{"a format", `{{ '{}-{}'.format('a', 'b') }}`, "a-b"},
		{"strings with signs", `{{ 'it\'s }} "%} ' ~ "\\n\n" }}`, "it's }} \"%} \\n\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			tmpl, err := Compile(r.source, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := measured(t, tmpl, nil); err != nil || got != r.want {
				t.Errorf("got %q, %v; want %q", got, err, r.want)
			}
		})
	}
}

// FuzzRender looks for templates that fail otherwise than by an error, or that
// allocate more than was charged.
func FuzzRender(f *testing.F) {
	for _, source := range readPeer(f).Templates {
		f.Add(source, "hello")
	}
	f.Add("{% raw %}{{ x }}{% endraw %}{% set x %}a{% endset %}{{ x }}", "")
	f.Add("{{ {'a': {'b': 1}} }}{% for %}{%-%}", "{{")
	f.Add("{% set n = namespace(x='x') %}{% for i in range(99) %}{% set n.x = n.x.replace('x', 'xx') * 2 ~ [n.x, n.x] | join(n.x) %}{% endfor %}", "x")
	f.Add("{{ 'a b'.split()[::2] | tojson(indent=2) | indent(3, true) | e | upper }}{% filter title %}x{% endfilter %}", "x")
	f.Add("{% macro f(a, b=1) %}{{ caller(a) }}{% endmacro %}{% call(q) f(2) %}{{ q }}{% endcall %}{{ [[1]] | tojson(separators=(',', ':')) }}", "x")
	f.Add("{% set l = [] %}{% for m in messages %}{% set _ = l.append(l + [m]) %}{% endfor %}{{ l | sort | unique | batch(2) | list | reverse }}", "x")
	f.Add("{{ '{0}{}'.format('{1}', 'x') * 999999 }}{{ messages | selectattr('role', 'eq', 'user') | list }}{{ ('x' * 9999) | list | sort | join('y') }}", "x")
	f.Fuzz(func(t *testing.T, source, text string) {
		tmpl, err := Compile(source, "<s>", "</s>")
		if err != nil {
			return
		}
		if _, err := measured(t, tmpl, []Message{{"system", text}, {"user", text}}); err != nil && fault.KindOf(err) == fault.Internal {
			t.Fatal(err)
		}
	})
}
