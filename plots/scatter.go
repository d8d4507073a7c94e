package plots

// The question: how do two quantities go together, and which points stand out?

const scatterName = "scatter"

// Scatter draws points of two quantities, with whiskers from Lo to Hi and XLo to
// XHi, joined in their order with Join, and words beside points where they have
// room. Series differ in shape and colour; more than six get a panel each, or are
// grey with one highlighted. Panels share their scales. More than 1,000 points
// are put together in small squares, larger the more points they hold.
//
// NaN, zero and errors are as in [Line], but several points may share an x;
// fault.Usage also for more than 4,096 points joined.
func Scatter(d XYData, o Options) (fig *Figure, err error) {
	defer guard(scatterName, &err)
	return drawXY(scatterName, false, d, o)
}
