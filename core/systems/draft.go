package systems

import (
	"slices"
	"strings"

	"lab/core/chain"
	"lab/core/plugin/param"
)

// assemble orders the stages and leaves out those that are off: of a stage with
// switches, none that was given is on.
func (d *draft) assemble() {
	for _, name := range d.sys.order {
		if !slices.Contains(d.order, name) {
			d.drop(name, "the order of samplers leaves "+name+" out")
		}
	}
	for _, name := range d.order {
		if name == trimStage {
			d.Requests = append(d.Requests, trim(d.sys.name))
			continue
		}
		values := d.stages[name]
		if len(values) == 0 {
			continue
		}
		on := !d.hasSwitch(name)
		for _, v := range values {
			on = on || d.targetOf(name, v.param).off != nil && !v.off
		}
		if !on {
			d.drop(name, name+" is off")
			continue
		}
		r := chain.Request{Name: name, Origin: values[0].origin}
		for _, v := range values {
			if v.param != "" {
				r.Settings = append(r.Settings, param.Setting{Name: v.param, Value: v.value, Origin: v.origin})
			}
		}
		d.Requests = append(d.Requests, r)
	}
	for i, r := range d.Requests {
		if d.sys.compat != "" && !slices.Contains(d.own, r.Name) {
			d.Requests[i] = chain.Compat([]chain.Request{r}, d.sys.compat, d.sys.name)[0]
		}
	}
}

// hasSwitch reports whether a stage has a setting that turns it off.
func (d *draft) hasSwitch(stage string) bool {
	for _, t := range d.sys.params {
		if t.stage == stage && t.off != nil {
			return true
		}
	}
	return false
}

func (d *draft) targetOf(stage, param string) target {
	for _, t := range d.sys.params {
		if t.stage == stage && t.param == param {
			return t
		}
	}
	return target{}
}

// extendTemperature turns the temperature into a dynamic one where a range is
// given.
func (d *draft) extendTemperature() {
	if r, ok := d.number("dynatemp", "range"); ok && r > 0 {
		d.stages["dynatemp"] = append(d.stages["dynatemp"], d.stages["temperature"]...)
		delete(d.stages, "temperature")
		return
	}
	d.drop("dynatemp", "without a range the temperature is fixed")
}

// mirostat replaces the settings of mirostat by the stage of the version that
// they ask for, and returns its name: "" when it is off.
func (d *draft) mirostat() (name string, err error) {
	mode, _ := d.number("mirostat", "")
	given := d.stages["mirostat"]
	if mode == 0 {
		d.drop("mirostat", "mirostat is off")
		return "", nil
	}
	delete(d.stages, "mirostat")
	name = map[float64]string{1: "mirostat_v1", 2: "mirostat_v2"}[mode]
	if name == "" {
		return "", d.wrong("mirostat", "%v is neither 0, 1 nor 2", mode)
	}
	for _, v := range given {
		if v.param != "" {
			d.stages[name] = append(d.stages[name], v)
		}
	}
	d.stages[name] = append(d.stages[name], stageValue{origin: d.sys.name + " mirostat"})
	return name, nil
}

// only keeps the named stages, and notes the others that are on as not applied.
func (d *draft) only(why string, names ...string) {
	for _, name := range d.sys.order {
		if !slices.Contains(names, name) {
			d.drop(name, why)
		}
	}
}

// drop takes a stage out, and notes what was given of it as not applied.
func (d *draft) drop(stage, why string) {
	for _, v := range d.stages[stage] {
		if !v.off && v.value != nil && !strings.HasSuffix(v.origin, defaultSuffix) {
			d.Off = append(d.Off, Note{strings.TrimPrefix(v.origin, d.sys.name+" "), show(v.value), why})
		}
	}
	delete(d.stages, stage)
}
