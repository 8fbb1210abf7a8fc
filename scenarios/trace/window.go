package trace

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Zone is one grid zone of a window, with hourly values. Invariant: all zones of a window cover the same hours.
type Zone struct {
	Name   string
	Price  []protocol.Point // microdollars per kWh
	Carbon []protocol.Point // milligrams of CO2-equivalent per kWh, life cycle
	PUE    []protocol.Point // thousandths; empty if the source has none

	// Marginal is the emission of one further kWh, in milligrams; empty unless the source has it for every hour.
	Marginal []protocol.Point

	Persisted int // missing values that were filled with the value of the hour before
	Patched   int // prices that the source itself marks as filled
	Passed    int // marginal values that were dropped, because other hours of the zone have none
}

// Marginal is the quantity of the marginal emission intensity. Only scenarios use it: agents receive one intensity,
// and the scenario selects which.
const Marginal protocol.Quantity = "marginal"

// Limits of plausible grid values. No market has had prices beyond them: ERCOT's cap was 9000 dollars per MWh,
// Australia's is about 15000.
const (
	mostPrice  = 50_000 // dollars per MWh, above and below zero
	mostCarbon = 2_000  // grams per kWh
	mostPUE    = 5
	mostZones  = 256
)

// A Fill selects how a missing hour is handled.
type Fill string

// Values of Fill.
const (
	Refuse  Fill = ""        // a missing hour is an error
	Persist Fill = "persist" // a missing hour repeats the hour before and is counted
)

// Window reads hourly rows of time_utc, zone, ci_lifecycle_gco2_per_kwh, price_usd_per_mwh and, where present,
// pue_model, mef_direct_gco2_per_kwh (some zones may lack it) and price_filled. Zones are returned in the order of
// their first rows.
func Window(r io.Reader, file string, fill Fill) ([]Zone, error) {
	const carbon, price, pue, more = "ci_lifecycle_gco2_per_kwh", "price_usd_per_mwh", "pue_model", "mef_direct_gco2_per_kwh"
	t, err := open(r, file, "time_utc", "zone", carbon, price)
	if err != nil {
		return nil, err
	}
	var zones []*zone
	find := make(map[string]*zone)
	for t.next() {
		name := t.name("zone")
		z := find[name]
		if z == nil {
			z = &zone{Zone: Zone{Name: name}}
			find[name], zones = z, append(zones, z)
			if len(zones) > mostZones {
				t.fail("over %d zones: cut the file", mostZones)
			}
		}
		at := t.hour("time_utc")
		z.price.put(t, price, at, -mostPrice, mostPrice, fill)
		z.carbon.put(t, carbon, at, 0, mostCarbon, fill)
		switch {
		case t.text(pue) != "":
			z.pue.put(t, pue, at, 1, mostPUE, fill)
		// A zone that has had PUE values needs one for every hour: put reports or fills the gap.
		case len(z.pue.points) > 0:
			z.pue.put(t, pue, at, 1, mostPUE, fill)
		}
		if t.text(more) != "" { // price.put has checked that hours ascend
			z.Marginal = append(z.Marginal, protocol.Point{At: at, Value: t.thousandths(more, 0, mostCarbon)})
		}
		if t.text("price_filled") == "1" {
			z.Patched++
		}
	}
	if t.err != nil {
		return nil, t.err
	}
	return t.close(zones)
}

// A zone is a Zone while it is read.
type zone struct {
	Zone
	price, carbon, pue line
}

// close checks that all zones cover the same hours and returns them.
func (t *table) close(zones []*zone) ([]Zone, error) {
	if len(zones) == 0 {
		return nil, fmt.Errorf("trace: %s: no rows after the header: add rows or name another file", t.file)
	}
	out := make([]Zone, len(zones))
	for i, z := range zones {
		z.Price, z.Carbon, z.PUE = z.price.points, z.carbon.points, z.pue.points
		z.Persisted = z.price.filled + z.carbon.filled + z.pue.filled
		if n := len(z.Marginal); n != len(z.Price) {
			z.Marginal, z.Passed = nil, n
		}
		a, b := zones[0].price.points, z.Price
		if a[0].At != b[0].At || len(a) != len(b) {
			return nil, fmt.Errorf("trace: %s: zone %s has hours %v..%v, zone %s %v..%v: give all zones the same hours",
				t.file, zones[0].Name, a[0].At, a[len(a)-1].At, z.Name, b[0].At, b[len(b)-1].At)
		}
		if n := len(z.PUE); n > 0 && n != len(b) {
			return nil, fmt.Errorf("trace: %s: zone %s: pue_model begins at %v, the zone at %v: fill in the earlier hours or leave the whole column empty",
				t.file, z.Name, z.PUE[0].At, b[0].At)
		}
		out[i] = z.Zone
	}
	return out, nil
}

// Series reads hourly values of one quantity from column time_utc and one named column, in the units of a window
// (dollars per MWh, grams per kWh, PUE). It also returns the number of values that fill persisted.
func Series(r io.Reader, file, column string, what protocol.Quantity, fill Fill) (points []protocol.Point, persisted int, err error) {
	lo, hi, err := bounds(file, what)
	if err != nil {
		return nil, 0, err
	}
	t, err := open(r, file, "time_utc", column)
	if err != nil {
		return nil, 0, err
	}
	var l line
	for t.next() {
		l.put(t, column, t.hour("time_utc"), lo, hi, fill)
	}
	if t.err == nil && len(l.points) == 0 {
		t.err = fmt.Errorf("trace: %s: no rows after the header", file)
	}
	return l.points, l.filled, t.err
}

// bounds returns the smallest and largest plausible value of a quantity, in the units of a window.
func bounds(file string, what protocol.Quantity) (lo, hi float64, err error) {
	switch what {
	case protocol.GridPrice:
		return -mostPrice, mostPrice, nil
	case protocol.GridCarbon, Marginal:
		return 0, mostCarbon, nil
	case protocol.GridPUE:
		return 1, mostPUE, nil
	}
	return 0, 0, fmt.Errorf("trace: %s: unknown quantity %q: want price, carbon, marginal or pue", file, what)
}

// hour returns a field that holds a whole hour in RFC 3339.
func (t *table) hour(col string) protocol.Time {
	at := t.instant(col)
	if t.err == nil && at != at.Floor(time.Hour) {
		t.wrong(col, "a whole hour as 2022-04-13T00:00:00Z")
	}
	return at
}

// instant returns a field that holds a time in RFC 3339, with a T or a blank between date and time: the RFC allows
// both.
func (t *table) instant(col string) protocol.Time {
	at, err := time.Parse(time.RFC3339, strings.Replace(t.text(col), " ", "T", 1))
	if err != nil || at.Year() < 1971 || at.Year() > 2200 {
		t.wrong(col, "a time as 2022-04-13T00:00:00Z")
		return 0
	}
	return protocol.At(at)
}

// A line is an hourly series while it is read.
type line struct {
	points []protocol.Point
	filled int
	gone   int // hours since the last value that the file contains
}

// longestGap is the longest gap, in hours, that is filled: beyond a week the values would be invented. Missing
// lines and empty fields both count.
const longestGap = 168

// put appends the value of a column at an hour, in thousandths, and fills the gap before it if fill allows.
func (l *line) put(t *table, col string, at protocol.Time, lo, hi float64, fill Fill) {
	if t.err != nil || !l.gap(t, col, at, fill) {
		return
	}
	switch {
	case t.text(col) != "":
		l.points, l.gone = append(l.points, protocol.Point{At: at, Value: t.thousandths(col, lo, hi)}), 0
	case fill != Persist:
		t.fail("%s is empty at %v: give a value, or allow filling with `fill: persist` or --fill", col, at)
	case len(l.points) == 0:
		t.fail("%s is empty at %v, its first hour, so nothing can fill it: give a value", col, at)
	case l.gone >= longestGap:
		t.fail("%s has no value for %d hours up to %v: gaps of over %d hours are not filled; add the values", col, l.gone+1, at, longestGap)
	default:
		l.persist(at)
	}
}

// gap checks and, if allowed, fills the hours between the last value and at. It returns false after an error.
func (l *line) gap(t *table, col string, at protocol.Time, fill Fill) bool {
	if len(l.points) == 0 {
		return true
	}
	last := l.points[len(l.points)-1].At
	missing := int(at.Sub(last)/time.Hour) - 1
	switch {
	case at == last:
		t.fail("%s: duplicate hour %v: drop one of the lines", col, at)
	case at < last:
		t.fail("%s: hour %v comes after %v: sort the file by time", col, at, last)
	case missing > 0 && fill != Persist:
		t.fail("%s: %d hours are missing before %v: add them, or allow filling with `fill: persist` or --fill", col, missing, at)
	case l.gone+missing > longestGap:
		t.fail("%s: %d hours are missing before %v: gaps of over %d hours are not filled; add the hours", col, l.gone+missing, at, longestGap)
	}
	for h := range missing {
		if t.err == nil {
			l.persist(last.Add(time.Duration(h+1) * time.Hour))
		}
	}
	return t.err == nil
}

func (l *line) persist(at protocol.Time) {
	l.points = append(l.points, protocol.Point{At: at, Value: l.points[len(l.points)-1].Value})
	l.filled++
	l.gone++
}
