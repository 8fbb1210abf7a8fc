package trace

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A ZoneSignals is one grid zone of a window, with hourly values. Invariant: all zones of a
// window cover the same hours.
type ZoneSignals struct {
	Name   string
	Price  []protocol.Point // microdollars per kWh
	Carbon []protocol.Point // milligrams of CO2-equivalent per kWh, life cycle
	PUE    []protocol.Point // thousandths; empty if the source has none

	// Marginal is the emission of one further kWh, in milligrams; empty unless the
	// source has it for every hour.
	Marginal []protocol.Point

	Persisted int // missing values that were filled with the value of the hour before
	Patched   int // prices that the source itself marks as filled
	Passed    int // marginal values that were dropped, because other hours of the zone have none
}

// MarginalColumn is the quantity of the marginal emission intensity. Only scenarios use it:
// agents receive one intensity, and the scenario selects which.
const MarginalColumn protocol.Quantity = "marginal"

// Limits of plausible grid values. No market has had prices beyond them: ERCOT's cap
// was 9000 dollars per MWh, Australia's is about 15000.
const (
	maxPrice  = 50_000 // dollars per MWh, above and below zero
	maxCarbon = 2_000  // grams per kWh
	maxPUE    = 5
	maxZones  = 256
)

// A GapPolicy selects how a missing hour is handled.
type GapPolicy string

// Values of GapPolicy.
const (
	RejectGaps  GapPolicy = ""        // a missing hour is an error
	PersistGaps GapPolicy = "persist" // a missing hour repeats the hour before and is counted
)

// ReadWindow reads hourly rows of time_utc, zone, ci_lifecycle_gco2_per_kwh,
// price_usd_per_mwh and, where present, pue_model, mef_direct_gco2_per_kwh (some
// zones may lack it) and price_filled. Zones are returned in the order of their first
// rows.
func ReadWindow(r io.Reader, file string, fill GapPolicy) ([]ZoneSignals, error) {
	const carbon, price, pue, more = "ci_lifecycle_gco2_per_kwh", "price_usd_per_mwh", "pue_model", "mef_direct_gco2_per_kwh"
	t, err := openTable(r, file, "time_utc", "zone", carbon, price)
	if err != nil {
		return nil, err
	}
	var zones []*zoneReader
	find := make(map[string]*zoneReader)
	for t.nextRow() {
		name := t.nameField("zone")
		z := find[name]
		if z == nil {
			z = &zoneReader{ZoneSignals: ZoneSignals{Name: name}}
			find[name], zones = z, append(zones, z)
			if len(zones) > maxZones {
				t.failAtRow("over %d zones: cut the file", maxZones)
			}
		}
		at := t.hourField("time_utc")
		z.price.addValue(t, price, at, -maxPrice, maxPrice, fill)
		z.carbon.addValue(t, carbon, at, 0, maxCarbon, fill)
		switch {
		case t.textField(pue) != "":
			z.pue.addValue(t, pue, at, 1, maxPUE, fill)
		// A zone that has had PUE values needs one for every hour: addValue reports
		// or fills the gap.
		case len(z.pue.points) > 0:
			z.pue.addValue(t, pue, at, 1, maxPUE, fill)
		}
		if t.textField(more) != "" { // price.addValue has checked that hours ascend
			z.Marginal = append(z.Marginal, protocol.Point{At: at, Value: t.thousandthsField(more, 0, maxCarbon)})
		}
		if t.textField("price_filled") == "1" {
			z.Patched++
		}
	}
	if t.err != nil {
		return nil, t.err
	}
	return t.checkZoneHours(zones)
}

// A zoneReader is a ZoneSignals while it is read.
type zoneReader struct {
	ZoneSignals
	price, carbon, pue seriesReader
}

// checkZoneHours checks that all zones cover the same hours and returns them.
func (t *csvTable) checkZoneHours(zones []*zoneReader) ([]ZoneSignals, error) {
	if len(zones) == 0 {
		return nil, fmt.Errorf("trace: %s: no rows after the header: add rows or name another file", t.file)
	}
	out := make([]ZoneSignals, len(zones))
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
		out[i] = z.ZoneSignals
	}
	return out, nil
}

// ReadSeries reads hourly values of one quantity from column time_utc and one named
// column, in the units of a window (dollars per MWh, grams per kWh, PUE). It also
// returns the number of values that fill persisted.
func ReadSeries(r io.Reader, file, column string, what protocol.Quantity, fill GapPolicy) (points []protocol.Point, persisted int, err error) {
	lo, hi, err := quantityBounds(file, what)
	if err != nil {
		return nil, 0, err
	}
	t, err := openTable(r, file, "time_utc", column)
	if err != nil {
		return nil, 0, err
	}
	var l seriesReader
	for t.nextRow() {
		l.addValue(t, column, t.hourField("time_utc"), lo, hi, fill)
	}
	if t.err == nil && len(l.points) == 0 {
		t.err = fmt.Errorf("trace: %s: no rows after the header", file)
	}
	return l.points, l.filled, t.err
}

// quantityBounds returns the smallest and largest plausible value of a quantity, in the units
// of a window.
func quantityBounds(file string, what protocol.Quantity) (lo, hi float64, err error) {
	switch what {
	case protocol.GridPrice:
		return -maxPrice, maxPrice, nil
	case protocol.GridCarbon, MarginalColumn:
		return 0, maxCarbon, nil
	case protocol.GridPUE:
		return 1, maxPUE, nil
	}
	return 0, 0, fmt.Errorf("trace: %s: unknown quantity %q: want price, carbon, marginal or pue", file, what)
}

// hourField returns a field that holds a whole hour in RFC 3339.
func (t *csvTable) hourField(col string) protocol.Time {
	at := t.instantField(col)
	if t.err == nil && at != at.Floor(time.Hour) {
		t.failField(col, "a whole hour as 2022-04-13T00:00:00Z")
	}
	return at
}

// instantField returns a field that holds a time in RFC 3339, with a T or a blank between
// date and time: the RFC allows both.
func (t *csvTable) instantField(col string) protocol.Time {
	at, err := time.Parse(time.RFC3339, strings.Replace(t.textField(col), " ", "T", 1))
	if err != nil || at.Year() < 1971 || at.Year() > 2200 {
		t.failField(col, "a time as 2022-04-13T00:00:00Z")
		return 0
	}
	return protocol.FromStdTime(at)
}

// A seriesReader is an hourly series while it is read.
type seriesReader struct {
	points   []protocol.Point
	filled   int
	gapHours int // hours since the last value that the file contains
}

// longestGap is the longest gap, in hours, that is filled: beyond a week the values
// would be invented. Missing lines and empty fields both count.
const longestGap = 168

// addValue appends the value of a column at an hour, in thousandths, and fills the gap
// before it if fill allows.
func (l *seriesReader) addValue(t *csvTable, col string, at protocol.Time, lo, hi float64, fill GapPolicy) {
	if t.err != nil || !l.handleGap(t, col, at, fill) {
		return
	}
	switch {
	case t.textField(col) != "":
		l.points, l.gapHours = append(l.points, protocol.Point{At: at, Value: t.thousandthsField(col, lo, hi)}), 0
	case fill != PersistGaps:
		t.failAtRow("%s is empty at %v: give a value, or allow filling with `fill: persist` or --fill", col, at)
	case len(l.points) == 0:
		t.failAtRow("%s is empty at %v, its first hour, so nothing can fill it: give a value", col, at)
	case l.gapHours >= longestGap:
		t.failAtRow("%s has no value for %d hours up to %v: gaps of over %d hours are not filled; add the values", col, l.gapHours+1, at, longestGap)
	default:
		l.persistLastValue(at)
	}
}

// handleGap checks and, if allowed, fills the hours between the last value and at. It
// returns false after an error.
func (l *seriesReader) handleGap(t *csvTable, col string, at protocol.Time, fill GapPolicy) bool {
	if len(l.points) == 0 {
		return true
	}
	last := l.points[len(l.points)-1].At
	missing := int(at.Sub(last)/time.Hour) - 1
	switch {
	case at == last:
		t.failAtRow("%s: duplicate hour %v: drop one of the lines", col, at)
	case at < last:
		t.failAtRow("%s: hour %v comes after %v: sort the file by time", col, at, last)
	case missing > 0 && fill != PersistGaps:
		t.failAtRow("%s: %d hours are missing before %v: add them, or allow filling with `fill: persist` or --fill", col, missing, at)
	case l.gapHours+missing > longestGap:
		t.failAtRow("%s: %d hours are missing before %v: gaps of over %d hours are not filled; add the hours", col, l.gapHours+missing, at, longestGap)
	}
	for h := range missing {
		if t.err == nil {
			l.persistLastValue(last.Add(time.Duration(h+1) * time.Hour))
		}
	}
	return t.err == nil
}

// persistLastValue appends the last value once more, for an hour without one.
func (l *seriesReader) persistLastValue(at protocol.Time) {
	l.points = append(l.points, protocol.Point{At: at, Value: l.points[len(l.points)-1].Value})
	l.filled++
	l.gapHours++
}
