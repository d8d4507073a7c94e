package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"lab/core/fault"
)

// Tables are records in layers: those of a later layer stand in front of those of
// an earlier one with the same name. They are never changed once loaded, and safe
// for concurrent use.
type Tables struct {
	layers []*layer // the shipped one first
}

// Sources say where records are read from besides the shipped ones. Of records
// with the same name those of Files win, the last file first, then those of Project,
// then those of User.
type Sources struct {
	User    string   // folder of this user's files, such as [UserFolder]; "" none
	Project string   // folder of the project's files; "" none
	Files   []string // named one by one; each must be there
}

// ProjectFolder is where a project keeps files of records, below its own folder.
var ProjectFolder = filepath.Join(".lab", "cost-tables")

// UserFolder returns the folder of this user's files: lab/cost-tables in
// XDG_DATA_HOME or its default below the home folder. It need not exist.
func UserFolder() (string, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.Usage, op, "", "there is no home folder (%v)", err).Fix("set HOME or XDG_DATA_HOME")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "lab", "cost-tables"), nil
}

// Shipped returns the records that come with lab.
func Shipped() (*Tables, error) { return Load(Sources{}) }

// Load returns the shipped records and those of the sources. A folder that is not
// there has none. Errors: usage for a file that cannot be read; data, with the place
// in the file, for one that is not what it should be: a field that is unknown, a
// record without date or source, a size that is not positive, a name given twice
// within a layer, a peak above that of the record it replaces (datasheets print
// sparse rates), a training run that would have used more than its devices can do.
func Load(s Sources) (*Tables, error) {
	base, err := shipped()
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, ShippedOrigin)
	}
	t := &Tables{layers: []*layer{newLayer(base)}}
	for _, dir := range []string{s.User, s.Project} {
		if dir == "" {
			continue
		}
		f, err := readFolder(dir)
		if err != nil {
			return nil, err
		}
		if f != nil {
			t.layers = append(t.layers, newLayer(f))
		}
	}
	for _, path := range s.Files {
		f, err := readFile(path)
		if err != nil {
			return nil, err
		}
		t.layers = append(t.layers, newLayer(f))
	}
	return t, t.check()
}

// check looks at records beside each other.
func (t *Tables) check() error {
	for i, l := range t.layers {
		if err := first(l.hardware.unique("hardware"), l.models.unique("model"), l.runs.unique("training run"), l.distinctPrices()); err != nil {
			return err
		}
		below := &Tables{layers: t.layers[:i]}
		for j := range l.hardware.list {
			h := &l.hardware.list[j]
			old, _, found := find(below, hardwareOf, h.Name)
			if !found {
				continue
			}
			for _, dtype := range sortedKeys(h.Peak) {
				if dense := old.Peak[dtype]; dense > 0 && h.Peak[dtype] > dense*(1+peakSlack) {
					return fault.New(fault.Data, op, fault.Quote(h.Origin, 120), "hardware %q: its %s peak of %.4g/s is above the dense %.4g/s of the %s table", h.Name, dtype, h.Peak[dtype], dense, old.Origin).
						Fix("give the dense rate (datasheets print the sparse one, twice as high), or name another part otherwise")
				}
			}
		}
	}
	for _, l := range t.layers {
		for j := range l.runs.list {
			r := &l.runs.list[j]
			h, _, found := find(t, hardwareOf, r.Device)
			if !found {
				continue
			}
			if share, ok := r.utilisation(h); ok && share > 1 {
				return fault.New(fault.Data, op, fault.Quote(r.Origin, 120), "training run %q: %.3g device hours on %s would be %.0f%% of its peak", r.Name, r.DeviceHours, h.Name, 100*share).
					Fix("check device_hours, tokens and parameters")
			}
		}
	}
	return nil
}

// peakSlack is what rounding may add to a peak: tables print two to four digits.
const peakSlack = 0.02

// record is a pointer to one of the kinds of records.
type record[T any] interface {
	*T
	fact() *Fact
}

// layer is the records of a file or a folder, by name.
type layer struct {
	hardware index[Hardware, *Hardware]
	models   index[Model, *Model]
	prices   index[Price, *Price]
	runs     index[Run, *Run]
}

func newLayer(f *file) *layer {
	return &layer{newIndex[Hardware](f.Hardware), newIndex[Model](f.Models), newIndex[Price](f.Prices), newIndex[Run](f.Runs)}
}

// index finds records by name; letters match whatever their case.
type index[T any, P record[T]] struct {
	list       []T
	own, alias map[string][]P
}

func newIndex[T any, P record[T]](list []T) index[T, P] {
	x := index[T, P]{list, map[string][]P{}, map[string][]P{}}
	for i := range list {
		p := P(&list[i])
		key := strings.ToLower(p.fact().Name)
		x.own[key] = append(x.own[key], p)
		for _, a := range p.fact().Aliases {
			key := strings.ToLower(a)
			x.alias[key] = append(x.alias[key], p)
		}
	}
	return x
}

// hits returns the records that answer to a name: those whose own it is, or else
// those that have it as an alias.
func (x *index[T, P]) hits(name string) []P {
	key := strings.ToLower(name)
	if own := x.own[key]; own != nil {
		return own
	}
	return x.alias[key]
}

// unique refuses a layer in which two records have a name.
func (x *index[T, P]) unique(kind string) error {
	by := map[string]*Fact{}
	for i := range x.list {
		fact := P(&x.list[i]).fact()
		for _, name := range append([]string{fact.Name}, fact.Aliases...) {
			key := strings.ToLower(name)
			if other := by[key]; other != nil {
				return fault.New(fault.Data, op, fault.Quote(fact.Origin, 120), "the %s %q is also a name of %q in %s", kind, name, other.Name, fault.Quote(other.Origin, 120)).
					Fix("each name may be given once")
			}
			by[key] = fact
		}
	}
	return nil
}

func hardwareOf(l *layer) *index[Hardware, *Hardware] { return &l.hardware }
func modelsOf(l *layer) *index[Model, *Model]         { return &l.models }
func pricesOf(l *layer) *index[Price, *Price]         { return &l.prices }
func runsOf(l *layer) *index[Run, *Run]               { return &l.runs }

// find returns the record of a name, from the highest layer that has one, and the
// origin of the one it stands in front of.
func find[T any, P record[T]](t *Tables, of func(*layer) *index[T, P], name string) (found P, replaces string, ok bool) {
	for _, l := range slices.Backward(t.layers) {
		list := of(l).hits(name)
		if len(list) == 0 {
			continue
		}
		if ok {
			return found, list[0].fact().Origin, true
		}
		found, ok = list[0], true
	}
	return found, "", ok
}

// lookup is find with an error that helps.
func lookup[T any, P record[T]](t *Tables, kind string, of func(*layer) *index[T, P], name string) (out T, err error) {
	p, replaces, ok := find(t, of, name)
	if !ok {
		return out, t.unknown(kind, name, namesOf(t, of, true))
	}
	out = *p
	P(&out).fact().Replaces = replaces
	return out, nil
}

// unknown says what there is instead: those that begin with the name, the nearest,
// or all.
func (t *Tables) unknown(kind, name string, names []string) error {
	var longer []string
	for _, n := range names {
		if len(name) >= 2 && len(n) > len(name) && strings.EqualFold(n[:len(name)], name) {
			longer = append(longer, n)
		}
	}
	e := fault.Unknown("cost", kind, name, names)
	if len(longer) > 0 && len(longer) <= 20 {
		e.Cure = "there are " + strings.Join(longer, ", ")
	}
	return e
}

// namesOf returns the names of records, sorted, once each whatever their case;
// aliases too when wanted.
func namesOf[T any, P record[T]](t *Tables, of func(*layer) *index[T, P], aliases bool) []string {
	seen := map[string]string{}
	for _, l := range t.layers {
		list := of(l).list
		for i := range list {
			fact := P(&list[i]).fact()
			seen[strings.ToLower(fact.Name)] = fact.Name
			if aliases {
				for _, a := range fact.Aliases {
					seen[strings.ToLower(a)] = a
				}
			}
		}
	}
	names := make([]string, 0, len(seen))
	for _, name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Hardware returns the device of a name or an alias. An unknown name is a usage
// error that says the nearest.
func (t *Tables) Hardware(name string) (Hardware, error) {
	return lookup(t, "hardware", hardwareOf, name)
}

// Model returns the model of a name or an alias, like [Tables.Hardware].
func (t *Tables) Model(name string) (Model, error) { return lookup(t, "model", modelsOf, name) }

// Run returns the training run of a model, like [Tables.Hardware]. A run of a
// whole family answers to the names of its members.
func (t *Tables) Run(name string) (Run, error) { return lookup(t, "training run", runsOf, name) }

// AllHardware returns every device, sorted by name, replaced ones left out.
func (t *Tables) AllHardware() []Hardware { return all(t, "hardware", hardwareOf) }

// AllModels returns every model, like [Tables.AllHardware].
func (t *Tables) AllModels() []Model { return all(t, "model", modelsOf) }

// AllRuns returns every training run, like [Tables.AllHardware].
func (t *Tables) AllRuns() []Run { return all(t, "training run", runsOf) }

func all[T any, P record[T]](t *Tables, kind string, of func(*layer) *index[T, P]) []T {
	var out []T
	for _, name := range namesOf(t, of, false) {
		r, err := lookup(t, kind, of, name)
		if err == nil && strings.EqualFold(P(&r).fact().Name, name) { // otherwise another stands in front of it
			out = append(out, r)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// PeakOf returns the dense rate at an arithmetic type, FLOP/s or op/s. A type that
// the device has no rate for is a usage error that names those it has.
func (h *Hardware) PeakOf(dtype string) (float64, error) {
	if v, ok := h.Peak[dtype]; ok {
		return v, nil
	}
	has := strings.Join(h.Types(), ", ")
	if !slices.Contains(Dtypes(), dtype) {
		return 0, fault.Unknown("cost", "arithmetic type", dtype, h.Types())
	}
	return 0, fault.New(fault.Usage, "cost", fmt.Sprintf("hardware %q", h.Name), "no peak is known for %s", dtype).
		Fix("it has %s; give others in a table of your own", has)
}

// Types returns the arithmetic types that the device has a peak for, widest first.
func (h *Hardware) Types() []string {
	var out []string
	for _, d := range Dtypes() {
		if _, ok := h.Peak[d]; ok {
			out = append(out, d)
		}
	}
	return out
}

// PowerWatts returns the design power. One that is not known is a usage error.
func (h *Hardware) PowerWatts() (float64, error) {
	if h.Watts == nil {
		return 0, fault.New(fault.Usage, "cost", fmt.Sprintf("hardware %q", h.Name), "its power is not known (%s)", h.Source).
			Fix("give watts in a table of your own")
	}
	return *h.Watts, nil
}

// HourUSD returns what renting it for an hour costs, with a warning when that was
// asked before the day it is wanted for. One that is not known is a usage error.
func (h *Hardware) HourUSD(asOf Date) (usd float64, warnings []string, err error) {
	if h.USDPerHour == nil {
		return 0, nil, fault.New(fault.Usage, "cost", fmt.Sprintf("hardware %q", h.Name), "no price of an hour is known; it is not free").
			Fix("give usd_per_hour, with its date and source, in a table of your own")
	}
	return *h.USDPerHour, age("the price of an hour of "+h.Name, &h.Fact, asOf), nil
}
