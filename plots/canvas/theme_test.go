package canvas

import (
	"image/color"
	"math"
	"testing"

	"lab/core/fault"
)

// matrix is a linear map of linear RGB.
type matrix [3][3]float64

// deficiencies are the full-strength simulations of Machado, Oliveira and
// Fernandes (2009), "A Physiologically-based Model for Simulation of Color
// Vision Deficiency", table of severity 1.0.
var deficiencies = map[string]matrix{
	"red": {
		{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998},
	},
	"green": {
		{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881},
	},
	"blue": {
		{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900},
	},
}

// lab returns CIE L*a*b* (D65) of c as seen through m.
func lab(c color.RGBA, m matrix) [3]float64 {
	in := [3]float64{linear(c.R), linear(c.G), linear(c.B)}
	var rgb [3]float64
	for i := range m {
		for j := range in {
			rgb[i] += m[i][j] * in[j]
		}
		rgb[i] = min(max(rgb[i], 0), 1)
	}
	x := (0.4124*rgb[0] + 0.3576*rgb[1] + 0.1805*rgb[2]) / 0.95047
	y := 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2]
	z := (0.0193*rgb[0] + 0.1192*rgb[1] + 0.9505*rgb[2]) / 1.08883
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	return [3]float64{116*f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))}
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt(math.Pow(a[0]-b[0], 2) + math.Pow(a[1]-b[1], 2) + math.Pow(a[2]-b[2], 2))
}

func TestSeriesStayApartUnderColourDeficiency(t *testing.T) {
	// 17 and 11.5 as stated, measured with one decimal: less half of it. The
	// closest pair is blue and green under blue deficiency.
	// The greys of print are apart in lightness alone.
	least := map[string]float64{"light": 16.95, "dark": 11.45, "print": 16.5}
	for _, th := range Themes() {
		for name, m := range deficiencies {
			for i := range th.Series {
				for j := range i {
					d := distance(lab(th.Series[i], m), lab(th.Series[j], m))
					if !(d >= least[th.Name]) {
						t.Errorf("%s theme, %s deficiency: series %d and %d are %.1f apart, want %g",
							th.Name, name, j+1, i+1, d, least[th.Name])
					}
				}
			}
		}
	}
}

func TestContrastOfRoles(t *testing.T) {
	rows := []struct {
		name        string
		light, dark color.RGBA
		onLight     float64
		onDark      float64
	}{
		// The ratios that plots.md states, less half of their last digit.
		{"ink", Light().Ink, Dark().Ink, 16.5, 14.5},
		{"muted words", Light().Muted, Dark().Muted, 5.5, 6.75},
		{"blue", Light().Series[0], Dark().Series[0], 3, 3},
		{"vermilion", Light().Series[1], Dark().Series[1], 3, 3},
		{"green", Light().Series[2], Dark().Series[2], 3, 3},
		{"pink", Light().Series[3], Dark().Series[3], 3, 3},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := Contrast(r.light, Light().Background); !(got >= r.onLight) {
				t.Errorf("light: %.2f, want at least %g", got, r.onLight)
			}
			if got := Contrast(r.dark, Dark().Background); !(got >= r.onDark) {
				t.Errorf("dark: %.2f, want at least %g", got, r.onDark)
			}
		})
	}
	if got := Contrast(Light().Amber, Light().Background); !(got < MinContrast) {
		t.Errorf("amber on white is %.2f:1; if it can be read, it need not be fill-only", got)
	}
}

func TestContrastIsBlackOnWhiteAtMost(t *testing.T) {
	if got := Contrast(rgb(0x000000), rgb(0xffffff)); !(math.Abs(got-21) <= 1e-9) { // 1.05/0.05 by definition
		t.Errorf("black on white is %g:1, want 21", got)
	}
	if got := Contrast(rgb(0x777777), rgb(0x777777)); !(math.Abs(got-1) <= 1e-12) {
		t.Errorf("a colour on itself is %g:1, want 1", got)
	}
}

func TestOrderSurvivesGrey(t *testing.T) {
	scales := map[string]func(Theme, float64) color.RGBA{
		"sequential": Theme.Sequential, "ordered": Theme.Ordered, "ordered line": Theme.OrderedLine,
	}
	for _, th := range Themes() {
		for name, scale := range scales {
			first, last := Luminance(scale(th, 0)), Luminance(scale(th, 1))
			previous := first
			for i := 1; i <= 20; i++ {
				now := Luminance(scale(th, float64(i)/20))
				if (last > first) != (now > previous) {
					t.Errorf("%s %s: luminance turns round at %d/20", th.Name, name, i)
				}
				previous = now
			}
		}
	}
}

func TestOrderedLinesCanBeSeen(t *testing.T) {
	for _, th := range Themes() {
		for i := range 31 {
			if got := Contrast(th.OrderedLine(float64(i)/30), th.Background); !(got >= MinContrast) {
				t.Errorf("%s: line %d of 31 has contrast %.2f", th.Name, i, got)
			}
		}
	}
}

func TestTextOnAFillCanBeRead(t *testing.T) {
	for _, th := range Themes() {
		fills := append([]color.RGBA{th.Background, th.Amber, th.Sky}, th.Series[:]...)
		for i := range 21 {
			fills = append(fills, th.Sequential(float64(i)/20), th.Ordered(float64(i)/20))
		}
		for _, f := range fills {
			if got := Contrast(th.TextOn(f), f); !(got >= MinContrast) {
				t.Errorf("%s: text on %v has contrast %.2f", th.Name, f, got)
			}
		}
	}
}

func TestThemesPassTheirOwnCheck(t *testing.T) {
	for _, th := range Themes() {
		if err := th.Check(); err != nil {
			t.Errorf("%s: %v", th.Name, err)
		}
	}
	bad := Light()
	bad.Muted = rgb(0xdddddd)
	if err := bad.Check(); fault.KindOf(err) != fault.Usage || err == nil {
		t.Errorf("pale words: got %v, want a usage error", err)
	}
	if err := (Theme{}).Check(); err == nil {
		t.Error("the zero theme passes, though everything in it is the same colour")
	}
}

func TestThemeNamed(t *testing.T) {
	for _, name := range []string{"", "light", "dark", "print"} {
		if _, err := ThemeNamed(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := ThemeNamed("drak")
	if err == nil || err.Error() != `choose theme: unknown theme "drak"; did you mean "dark"?` {
		t.Errorf("got %v", err)
	}
}

func TestBlendEnds(t *testing.T) {
	a, b := rgb(0x102030), rgb(0xf0e0d0)
	if Blend(a, b, 1) != a || Blend(a, b, 0) != b {
		t.Error("the ends of a blend are not its two colours")
	}
	if got := Blend(a, b, 0.5); got != rgb(0x808080) {
		t.Errorf("half way is %v", got)
	}
	if along([]color.RGBA{a, b}, math.NaN()) != a {
		t.Error("NaN does not give the first stop")
	}
}
