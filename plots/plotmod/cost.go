package plotmod

import (
	"reflect"

	"lab/core/script"
	"lab/plots"
)

// costFigure is a member that draws a figure of a cost report from a map.
func costFigure[D any](e *Env, name, doc string, draw func(D, plots.Options) (*plots.Figure, error)) script.Member {
	var data D
	meaning := keysOf(reflect.TypeOf(data))
	if nested(reflect.TypeOf(data)) {
		meaning += `; where two or more [] stand together, rows: a list of maps may hold them as columns, and a key names its column where they differ: {rows: points, y: "per_chip"}`
	}
	return script.Member{
		Name: name, Returns: "figure", Doc: doc,
		Params:  []script.Param{{Name: "data", Type: script.Map(script.Any()), Meaning: meaning}},
		Options: append([]script.Param{footerOption()}, common...),
		Func: func(c *script.Call) (any, error) {
			var d D
			if err := decode(c, "data", &d); err != nil {
				return nil, err
			}
			o, err := e.looks(c, c.String("footer"))
			if err != nil {
				return nil, err
			}
			return e.figureOf(c, o, func(o plots.Options) (*plots.Figure, error) { return draw(d, o) })
		},
	}
}

// nested reports whether rows can stand somewhere in a struct.
func nested(t reflect.Type) bool {
	if hasColumns(t) {
		return true
	}
	for _, f := range fieldsOf(t) {
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && nested(f.Type.Elem()) {
			return true
		}
	}
	return false
}

// costMembers are the figures of a cost report. They take numbers, as the module
// cost gives them; what they state they compute from these.
func (e *Env) costMembers() []script.Member {
	return []script.Member{
		costFigure(e, "cost_lifetime", "Draws what training cost once against what all uses cost together over the tokens served, with the crossover, its band and its date.", plots.CostLifetime),
		costFigure(e, "cost_growth", "Draws the days until inference has cost as much as training over the growth of demand (0.04: 4 % a month), a curve per demand on the first day. Infinite days are never.", plots.CostGrowth),
		costFigure(e, "cost_optimum", "Draws the total cost of models of one quality over their size, a curve per demand and a panel per named set of loss coefficients.", plots.CostOptimum),
		costFigure(e, "cost_roofline", "Draws kinds of work below the roofs of devices: filled at the rate measured, hollow on its roof (number roof, from 0) where rate is undefined.", plots.CostRoofline),
		costFigure(e, "cost_context", "Draws what an output token costs over the context, with places on the curves (marks, at infinity: never) and measured points.", plots.CostContext),
		costFigure(e, "cost_step", "Draws the time of a step, in ms, as a stack of its parts, with the measured total as a line over it.", plots.CostStep),
		costFigure(e, "cost_frontier", "Draws the speed of one user against throughput, or with price true against a price; hollow are points that another one beats.", plots.CostFrontier),
		costFigure(e, "cost_batch", "Draws the time of a step, in ms, and throughput over the batch: the model as lines, measurements as dots, and where memory is full.", plots.CostBatch),
		costFigure(e, "cost_quality", "Draws the quality of ways of sampling over what an item costs, with the front of those that nothing beats and n beside the points.", plots.CostQuality),
		costFigure(e, "cost_speculative", "Draws the speedup of speculative decoding over acceptance and draft length; speedup has a list per draft length.", plots.CostSpeculative),
		costFigure(e, "cost_bill", "Draws what the bill of a response is made of, a bar per strategy. A bill in money needs price_date.", plots.CostBill),
		costFigure(e, "cost_drivers", "Draws how far an outcome moves when one factor at a time goes from its 5 % to its 95 % value. An infinite outcome is never.", plots.CostDrivers),
	}
}
