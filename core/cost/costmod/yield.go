package costmod

import (
	"lab/core/cost/yield"
	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/std"
	"lab/core/store"
	"lab/core/table"
	"lab/core/table/tablemod"
)

// yieldMember is what the answers of stored runs cost.
func (env *Env) yieldMember() script.Member {
	var units []string
	for _, u := range yield.Units() {
		units = append(units, u.String())
	}
	number := func(name, meaning string) script.Param {
		return script.Param{Name: name, Type: script.Float(), Meaning: meaning}
	}
	flag := func(name, meaning string) script.Param {
		return script.Param{Name: name, Type: script.Bool(), Default: false, Meaning: meaning}
	}
	model := modelParam
	model.Optional = true
	model.Meaning = "compute FLOP and seconds of the same tokens for it, instead of taking what the run counted; " + modelParam.Meaning
	return script.Member{Name: "yield", Returns: "table",
		Doc: "Joins what the settings of stored runs gave to what they took. Cells that differ in prompt and seed alone are one setting; a row is a setting and a number n of answers that are made for one. " +
			"Columns: what the grid varies (and run, where there are several), n, prompts, attempts, failed, and with their intervals x_lo and x_hi: quality (of the best of n), useful (the chance that one of n is), " +
			"tries (until one is, at most n), and of each unit u in tokens, flop, seconds, joules and usd that is known: u (n answers, all made), u_until (trying until one is useful), u_per_useful, u_until_per_useful, " +
			"quality_per_u; then front: no other row has at least its quality for at most its cost. What is not known has no column or is undefined, and is never 0. " +
			"What was not known, and why, is warned of.",
		Params: []script.Param{{Name: "runs", Type: script.Either(script.Host[*std.Run](), script.List(script.Host[*std.Run]())).Called("run or list of runs"), Meaning: "a run, or several that are set beside each other"}},
		Options: append([]script.Param{
			{Name: "quality", Type: script.Either(script.String(), script.Callback("sample", "cell")).Called("name or func(sample, cell)"), Required: true,
				Meaning: "what an answer is worth: a measure of stats.measures, a column of values, or a function of a sample and the settings of its cell that returns a number, a truth value or undefined"},
			{Name: "values", Type: tablemod.Given(), Meaning: "table with the columns cell, sample and quality; of one run"},
			number("at_least", "value from which an answer is useful, with smaller up to which; 1 where values are true or false, and otherwise nothing is said of useful ones"),
			flag("smaller", "smaller values are better"),
			{Name: "n", Type: script.Either(script.Int(), script.List(script.Int())), Default: int64(1), Meaning: "numbers of answers that are made for one, ascending"},
			flag("prompt_each", "charge the prompt for every answer, instead of once for n of them"),
			flag("fixed_prompts", "intervals over the answers to these very prompts, instead of over prompts where there are several"),
			{Name: "by", Type: script.String(), Choices: units, Meaning: "unit of the front; the first of usd, joules, seconds, flop, tokens that is known"},
			{Name: "level", Type: script.Float(), Default: 0.95, Range: script.Interval(0, 1, true, true), Meaning: "confidence of the intervals"},
			{Name: "price", Type: script.String(), Meaning: "a name of lab cost prices, whose rates of tokens give usd"},
			flag("batch_price", "the prices of the provider's batch endpoint"), asOfOption, model,
			{Name: "batch", Type: script.Int(), Range: script.AtLeast(1), Meaning: "sequences that the model decodes together; 1"}}, servingOptions()...),
		Func: env.yield}
}

func (env *Env) yield(c *script.Call) (any, error) {
	if env.Table == nil {
		return nil, fault.New(fault.Script, c.Name(), "", "there is no module table here")
	}
	q, err := env.yieldRequest(c)
	if err != nil {
		return nil, err
	}
	t, err := env.Tables()
	if err != nil {
		return nil, err
	}
	var runs []*std.Run
	switch v := c.Any("runs").(type) {
	case *std.Run:
		runs = []*std.Run{v}
	case []any:
		for _, r := range v {
			runs = append(runs, r.(*std.Run))
		}
	}
	if len(runs) == 0 {
		return nil, fault.New(fault.Script, c.Name(), "runs", "there are none")
	}
	if q.Quality.Values != nil && len(runs) > 1 {
		return nil, fault.New(fault.Script, c.Name(), "values", "they are of one run, and there are %d", len(runs)).Fix("give a function as quality")
	}
	var stored []*store.Stored
	var names []string
	for _, r := range runs {
		stored, names = append(stored, r.Stored()), append(names, r.Name())
	}
	if f, ok := c.Any("quality").(*script.Func); ok {
		if q.Judge, err = judge(c, f, runs); err != nil {
			return nil, err
		}
	}
	var out *table.Table
	var report *yield.Report
	err = c.Blocking(func() (err error) {
		if report, err = q.Answer(t, stored, names); err != nil {
			return err
		}
		out, err = report.Table()
		return err
	})
	if err != nil {
		return nil, err
	}
	warn(c, append(report.Warnings, report.Unknown()...))
	return env.Table(out), nil
}

// judge calls the function with every sample and returns the values of each run.
func judge(c *script.Call, f *script.Func, runs []*std.Run) ([]yield.Quality, error) {
	var out []yield.Quality
	for _, r := range runs {
		values, err := r.Judge(c, f)
		if err != nil {
			return nil, err
		}
		var cells, samples []int64
		var list []any
		for _, v := range values {
			cells, samples, list = append(cells, v.Cell), append(samples, v.Sample), append(list, v.Value)
		}
		column, err := table.FromAny(c.Name(), "quality", list)
		if err != nil {
			return nil, err
		}
		t, err := table.New(table.Named{Name: "cell", Column: table.Of(cells)}, table.Named{Name: "sample", Column: table.Of(samples)}, table.Named{Name: "quality", Column: column})
		if err != nil {
			return nil, err
		}
		out = append(out, yield.Quality{Name: "quality", Values: t})
	}
	return out, nil
}

func (env *Env) yieldRequest(c *script.Call) (*yield.Request, error) {
	q := &yield.Request{BatchPrices: c.Bool("batch_price")}
	q.Smaller, q.PromptEach, q.FixedPrompts, q.Level = c.Bool("smaller"), c.Bool("prompt_each"), c.Bool("fixed_prompts"), c.Float("level")
	var err error
	if name, ok := c.Any("quality").(string); ok {
		q.Quality.Name = name
		if c.Given("values") {
			if q.Quality.Values, err = tablemod.Taken(c, "values"); err != nil {
				return nil, err
			}
		}
	} else if c.Given("values") {
		return nil, fault.New(fault.Script, c.Name(), "values", "quality is a function").Fix("give the name of a column as quality")
	}
	if c.Given("at_least") {
		v := c.Float("at_least")
		q.AtLeast = &v
	}
	switch n := c.Any("n").(type) {
	case int64:
		q.N = []int{int(n)}
	case []any:
		for _, one := range n {
			q.N = append(q.N, int(one.(int64)))
		}
	}
	if c.Given("by") {
		u, err := yield.UnitNamed(c.String("by"))
		if err != nil {
			return nil, err
		}
		q.By = &u
	}
	if c.Given("price") {
		q.Price = c.String("price")
	}
	if c.Given("batch") {
		q.Batch = c.Int("batch")
	}
	if q.AsOf, err = env.day(c); err != nil {
		return nil, err
	}
	if c.Given("model") {
		if q.Setup, _, err = env.setup(c); err != nil {
			return nil, err
		}
	}
	return q, serving(c, &q.Setup)
}
