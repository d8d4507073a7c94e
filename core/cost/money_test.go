package cost

import (
	"strings"
	"testing"
)

var listed = Price{Name: "m", Date: "2025-09-05", Source: "a list", Input: USD(3), Cached: USD(0.3), Write: USD(3.75), Output: USD(15), BatchInput: USD(1.5), BatchOutput: USD(7.5)}

func bill(t testing.TB, p Price, l Ledger, batch bool) Bill {
	t.Helper()
	b, err := p.Bill(l, batch)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The same request, reported in either way, costs the same.
func TestBothWaysToReportAPromptGiveOneBill(t *testing.T) {
	inside, err1 := Usage{Prompt: 10000, Cached: 9000, Written: 500, Output: 300, Reasoning: 100, PromptIncludes: true, OutputIncludes: true}.Ledger()
	beside, err2 := Usage{Prompt: 500, Cached: 9000, Written: 500, Output: 200, Reasoning: 100}.Ledger()
	if err1 != nil || err2 != nil || inside != beside {
		t.Fatalf("%v, %v; %+v and %+v", err1, err2, inside, beside)
	}
	near(t, "the bill", bill(t, listed, inside, false).Total(), (500*3+9000*0.3+500*3.75+300*15)/1e6, rounding)
}

func TestABillOfASumIsTheSumOfTheBills(t *testing.T) {
	a, b := Ledger{Prompt: 5, Cached: 3, Output: 7, Judge: 2}, Ledger{Written: 9, Reasoning: 4, Wasted: 1}
	near(t, "sum", bill(t, listed, a.Plus(b), false).Total(), bill(t, listed, a, false).Total()+bill(t, listed, b, false).Total(), rounding)
}

func TestBatchIsAtItsOwnPrices(t *testing.T) {
	l := Ledger{Prompt: 1000, Output: 1000}
	near(t, "half", bill(t, listed, l, true).Total(), bill(t, listed, l, false).Total()/2, rounding)
}

// Beyond the threshold the whole request costs the tier's price, not the excess.
func TestATierIsOfTheWholeRequest(t *testing.T) {
	p := listed
	p.TierAbove, p.Tier = 1000, &Price{Input: USD(6), Output: USD(30)}
	near(t, "at the threshold", bill(t, p, Ledger{Prompt: 1000, Output: 10}, false).Total(), (1000*3+10*15)/1e6, rounding)
	near(t, "one beyond", bill(t, p, Ledger{Prompt: 1001, Output: 10}, false).Total(), (1001*6+10*30)/1e6, rounding)
	if _, err := p.Bill(Ledger{Prompt: 999, Cached: 2}, false); err == nil {
		t.Error("a price that the tier does not name came from the list below it")
	}
}

func TestWhatHasNoPriceIsNotFree(t *testing.T) {
	rows := []struct {
		name string
		p    Price
		l    Ledger
		want string
	}{
		{"cached", Price{Name: "m", Date: "2025-01-01", Input: USD(1), Output: USD(1)}, Ledger{Prompt: 1, Cached: 1}, "cached input price"},
		{"output", Price{Name: "m", Date: "2025-01-01", Input: USD(1)}, Ledger{Prompt: 1, Wasted: 1}, "output price"},
		{"no date", Price{Name: "m", Input: USD(1)}, Ledger{Prompt: 1}, "which is no date"},
		{"no day", Price{Name: "m", Date: "2025-02-30", Input: USD(1)}, Ledger{Prompt: 1}, "which is no date"},
		{"below nothing", Price{Name: "m", Date: "2025-01-01", Input: USD(-1)}, Ledger{Prompt: 1}, "negative"},
		{"more accepted than proposed", listed, Ledger{Accepted: 1}, "accepted of 0 proposed"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if _, err := r.p.Bill(r.l, false); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
	if _, err := listed.Bill(Ledger{}, false); err != nil {
		t.Errorf("nothing costs nothing: %v", err)
	}
	if _, err := (Usage{Prompt: 1, Cached: 2, PromptIncludes: true}).Ledger(); err == nil {
		t.Error("more was cached than there was")
	}
}

func TestACacheBreaksEvenWhereItSays(t *testing.T) {
	for _, w := range []float64{0.5, 1, 1.25, 2, 7} {
		for _, r := range []float64{0, 0.1, 0.9} {
			u, err := CacheBreakeven(w, r)
			if err != nil {
				t.Fatal(err)
			}
			cached := func(n int64) float64 { return w + r*float64(n-1) }
			if !(cached(u.Uses) < float64(u.Uses)+1e-9) || u.Uses > 1 && cached(u.Uses-1) < float64(u.Uses-1)-1e-9 {
				t.Errorf("w=%g r=%g: %d uses", w, r, u.Uses)
			}
		}
	}
	if _, err := CacheBreakeven(2, 1); err == nil {
		t.Error("a cache that costs as much as the input pays")
	}
}

// A chat that is sent again at each turn is quadratic; with a cache what is new is
// linear, and no token is lost between the two.
func TestAConversationGrowsWithTheSquareOfItsTurns(t *testing.T) {
	plain := func(n int64, cache bool) Ledger {
		l, err := Conversation(100, 20, 30, n, cache)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	sent := int64(0)
	for turn, before := int64(1), int64(100); turn <= 12; turn, before = turn+1, before+50 {
		sent += before + 20
		if l := plain(turn, false); l.Prompt != sent || l.Output != 30*turn {
			t.Errorf("%d turns: %+v, want %d tokens sent", turn, l, sent)
		}
		if l := plain(turn, true); l.PromptTokens() != sent || l.Prompt != 100+20*turn {
			t.Errorf("%d turns with a cache: %+v", turn, l)
		}
	}
}

func TestEnergyIsPowerTimesTime(t *testing.T) {
	near(t, "an hour of a kilowatt", got(t)(Energy(3600, Power{Watts: 1000, Load: 1, PUE: 1})), JoulesPerKWh, rounding)
	near(t, "CO2", got(t)(CO2(JoulesPerKWh, 0.4)), 0.4, rounding)
	for name, p := range map[string]Power{"no load": {Watts: 1, PUE: 1}, "overload": {Watts: 1, Load: 1.1, PUE: 1}, "a building that gives power": {Watts: 1, Load: 1, PUE: 0.9}} {
		if _, err := Energy(1, p); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
