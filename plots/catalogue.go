package plots

// Entry is one line of the catalogue.
type Entry struct {
	Name    string // also the name of the function, in lower case
	Purpose string
}

// Catalogue returns the figures there are, in their order in the reference.
func Catalogue() []Entry {
	return []Entry{
		{"reshape", "what each rule does to one next-token distribution"},
		{"temperatures", "mass moving down the ranks as the temperature rises"},
		{"chain", "one step through the stages of a chain: what each kept and how far it moved the distribution"},
		{"line", "one quantity along another, a line per series, with intervals"},
		{"scatter", "two quantities of each point, with intervals, joined or not"},
	}
}
