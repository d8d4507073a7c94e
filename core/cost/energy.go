package cost

// Power is what energy is computed from. It is measured power; the thermal
// design power of a datasheet is a stand-in and gives a scenario, not a measurement.
type Power struct {
	Watts float64 // of one chip with its share of the host, at full load
	Load  float64 // average share of Watts that is drawn, in (0, 1]
	PUE   float64 // power usage effectiveness of the building, at least 1
}

func (p Power) check(g *guard) {
	g.positive("watts", p.Watts)
	g.share("load", p.Load)
	if !(p.PUE >= 1) {
		g.refuse("1 is a building without overhead", "PUE = %g is below 1", p.PUE)
	}
	g.finite("PUE", p.PUE)
}

// Energy returns joules (F15): chip-seconds × watts × load × PUE. Divide by
// tokens for joules per token. Source: Patterson et al. 2021.
func Energy(chipSeconds float64, p Power) (float64, error) {
	g := guarded("energy")
	g.positive("chip-seconds", chipSeconds)
	p.check(g)
	return g.of(chipSeconds * p.Watts * p.Load * p.PUE)
}

// The joules of a watt-hour and of larger units.
const (
	JoulesPerWh  = 3.6e3
	JoulesPerKWh = 3.6e6
	JoulesPerMWh = 3.6e9
)

// CO2 returns kilograms (F15): joules × intensity, in kg/kWh, which belongs
// beside the number.
func CO2(joules, kgPerKWh float64) (float64, error) {
	g := guarded("CO2")
	g.positive("joules", joules)
	g.nonNegative("grid intensity", kgPerKWh)
	return g.of(joules / JoulesPerKWh * kgPerKWh)
}
