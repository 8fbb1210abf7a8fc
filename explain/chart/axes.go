package chart

import (
	"math"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// margin is free on all sides of a scene.
const margin = 10

// A pen lays marks out in a scene.
type pen struct{ Scene }

func (p *pen) box(x, y, w, h float64, ink Ink) *Mark {
	p.Marks = append(p.Marks, Mark{At: []Point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, Ink: ink})
	return &p.Marks[len(p.Marks)-1]
}

func (p *pen) line(ink Ink, width float64, at ...Point) *Mark {
	p.Marks = append(p.Marks, Mark{At: at, Ink: ink, Stroke: width})
	return &p.Marks[len(p.Marks)-1]
}

func (p *pen) text(x, y float64, s string, size float64, ink Ink) *Mark {
	p.Marks = append(p.Marks, Mark{At: []Point{{x, y}}, Text: s, Size: size, Ink: ink})
	return &p.Marks[len(p.Marks)-1]
}

// A key is one entry of a legend.
type key struct {
	name  string
	ink   Ink
	line  bool
	dash  int
	faint bool
}

// header lays paper, title, unit and legend, and returns how far down they go.
func (p *pen) header(title, unit string, legend []key) float64 {
	p.box(0, 0, p.W, p.H, Paper)
	room := p.W - 2*margin
	y := float64(margin + large)
	p.text(margin, y-2, fit(title, large, room, true), large, Text).Bold = true
	if unit != "" {
		y += small + 5
		p.text(margin, y-2, fit(unit, small, room, false), small, Muted)
	}
	x := float64(margin)
	for i, k := range legend {
		name := fit(k.name, small, room-22, false)
		w := 22 + wide(name, small, false)
		if i == 0 || x+w > p.W-margin {
			x, y = margin, y+small+7
		}
		if k.line {
			p.line(k.ink, 2, Point{x, y - 5.5}, Point{x + 16, y - 5.5}).Dash = k.dash
		} else {
			p.box(x, y-10, 12, 10, k.ink).Faint = k.faint
		}
		p.text(x+20, y-1.5, name, small, Text)
		x += w + 14
	}
	return y + 8
}

// headerHeight returns what header will.
func headerHeight(width float64, title, unit string, legend []key) float64 {
	p := pen{Scene{W: width}}
	return p.header(title, unit, legend)
}

// pace returns the distance of about four ticks over a range: 1, 2 or 5 times
// a power of ten.
func pace(span float64) float64 {
	if !(span > 0) || math.IsInf(span, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, by := range []float64{1, 2, 5} {
		if span/4 <= by*unit*1.0001 {
			return by * unit
		}
	}
	return 10 * unit
}

// A tick is a place on an axis.
type tick struct {
	at        float64
	name, day string
}

// ticks returns at most n ticks over the hours between two instants, on the
// hour in UTC. A day is named where it begins and at the first tick.
func ticks(from, to protocol.Time, n int) (all []tick) {
	hours := to.Sub(from).Hours()
	step := 24 * math.Ceil(hours/24/float64(n))
	for _, s := range []float64{1, 2, 3, 4, 6, 12} {
		if hours/s <= float64(n) {
			step = s
			break
		}
	}
	width, day := time.Duration(step*float64(time.Hour)), ""
	for t := from.Ceil(width); t <= to; t = t.Add(width) {
		k := tick{at: float64(t), name: t.Go().Format("15:04")}
		if today := t.Go().Format("2 Jan"); today != day {
			day, k.day = today, today
		}
		all = append(all, k)
	}
	return all
}

// Number prints a value with a fixed number of decimals, and commas between
// thousands.
func Number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	end := len(s)
	if decimals > 0 {
		end -= decimals + 1
	}
	for i := end - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// finite returns v, or 0 where it is no number.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
