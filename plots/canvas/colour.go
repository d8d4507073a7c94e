package canvas

import (
	"image/color"
	"math"
)

// rgb returns the opaque colour 0xRRGGBB.
func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// Blend returns share of over laid on under, as one opaque colour: share 0 is
// under, 1 is over, and values outside are an arithmetic extrapolation cut at
// the ends of the channel. Transparency is never written to a file, because
// PDF writers darken it and SVG writers round it; this is the replacement.
func Blend(over, under color.RGBA, share float64) color.RGBA {
	mix := func(a, b uint8) uint8 {
		v := math.Round(share*float64(a) + (1-share)*float64(b))
		return uint8(min(max(v, 0), 255))
	}
	return color.RGBA{R: mix(over.R, under.R), G: mix(over.G, under.G), B: mix(over.B, under.B), A: 0xff}
}

// linear undoes the sRGB transfer curve (IEC 61966-2-1) for one channel.
func linear(c uint8) float64 {
	v := float64(c) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// Luminance returns the relative luminance of c, 0 (black) to 1 (white), as
// WCAG 2.2 defines it.
func Luminance(c color.RGBA) float64 {
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// Contrast returns the contrast ratio of two colours, 1 to 21 (WCAG 2.2,
// success criterion 1.4.3). The order of the arguments does not matter.
func Contrast(a, b color.RGBA) float64 {
	la, lb := Luminance(a), Luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// viridisStops are eleven equidistant colours of the viridis map by van der
// Walt, Smith and Firing (2015, public domain).
func viridisStops() [11]color.RGBA {
	return [11]color.RGBA{
		rgb(0x440154), rgb(0x482576), rgb(0x414487), rgb(0x35608d), rgb(0x2a788e), rgb(0x21908c),
		rgb(0x22a884), rgb(0x43bf71), rgb(0x7ad151), rgb(0xbbdf27), rgb(0xfde725),
	}
}

// along returns the colour at t of a scale with equidistant stops; t is cut to
// 0..1, and NaN gives the first stop.
func along(stops []color.RGBA, t float64) color.RGBA {
	if !(t > 0) {
		return stops[0]
	}
	if t >= 1 {
		return stops[len(stops)-1]
	}
	at := t * float64(len(stops)-1)
	i := int(at)
	return Blend(stops[i+1], stops[i], at-float64(i))
}
