package notebook

import (
	"strings"

	"lab/core/fault"
	"lab/core/script/format"
)

// Format gives the code cells the layout of core/script/format, and returns the
// indices of those that it changed; outputs and whatever else a notebook holds stay
// as they are. A cell that may fail, by its tag, and does not parse is left alone.
// The error of another one that does not parse is that of [format.Source], with the
// name of the cell; the cells before it are changed then.
func (n *Notebook) Format() ([]int, error) {
	if err := n.SpeaksTengo(); err != nil {
		return nil, err
	}
	var changed []int
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.Kind != Code {
			continue
		}
		src, err := format.Cell(CellName(i), c.Source)
		if err != nil && c.Tagged(TagRaises) && fault.KindOf(err) == fault.Script {
			continue
		}
		if err != nil {
			return changed, err
		}
		if src != c.Source {
			c.Source = src
			changed = append(changed, i)
		}
	}
	return changed, nil
}

// SpeaksTengo refuses notebooks whose cells are in another language, with kind data.
func (n *Notebook) SpeaksTengo() error {
	lang := n.Language()
	if lang == "" || strings.EqualFold(lang, LanguageID) {
		return nil
	}
	return fault.New(fault.Data, "notebook", "", "its cells are in %s, and lab runs Tengo", fault.Quote(lang, 30)).
		Fix("run it with its own kernel, or make a new one with lab notebook new")
}
