package grids

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A role says what a grid is for.
type role int

const (
	taught   role = iota // weights are trained and chosen on it
	chosen               // weights are chosen on it, and not trained
	reported             // neither: errors there are reported
)

// A grid is the recorded series of one quantity of a zone, over one or more years.
type grid struct {
	quantity protocol.Quantity
	folder   string // of the recorded data
	zone     string
	years    []int
	role     role
}

// grids returns all grids. Weights ship, so they are trained and chosen only on data whose terms let
// what is derived from it be passed on: of carbon what CarbonCast and the EIA's form 930 hold (public
// domain; ENTSO-E, CC BY 4.0), of prices those of CAISO, NYISO, ERCOT, IESO and AEMO (public, with
// attribution) and ENTSO-E's of Sweden (CC BY 4.0). Electricity Maps' carbon and the prices of
// exchanges and of PJM are for reports alone.
func grids() (all []grid) {
	add := func(q protocol.Quantity, folder string, r role, years []int, zones string) {
		for _, zone := range strings.Fields(zones) {
			all = append(all, grid{q, folder, zone, years, r})
		}
	}
	early, late, all3 := []int{2020, 2021}, []int{2022}, []int{2020, 2021, 2022}
	add(protocol.GridCarbon, "carbon/carboncast", taught, early, "DE ES NL US-CAL-CISO US-MIDA-PJM US-NY-NYIS US-TEX-ERCO")
	add(protocol.GridCarbon, "carbon/eia2022", taught, late, "US-CAL-CISO US-MIDA-PJM US-NY-NYIS US-SW-AZPS US-TEX-ERCO")
	add(protocol.GridCarbon, "carbon/carboncast", chosen, early, "PL SE")
	add(protocol.GridCarbon, "carbon/eia2022", chosen, late, "US-MIDW-MISO US-SE-SOCO")
	add(protocol.GridCarbon, "carbon/em", reported, late, "AT AU-NSW BE BR-CS CA-ON CH FR GB PT SE-SE3")
	add(protocol.GridPrice, "price/hourly", taught, all3, "US-CAL-CISO US-NY-NYIS US-TEX-ERCO SE-SE3")
	add(protocol.GridPrice, "price/hourly", taught, []int{2021, 2022}, "CA-ON AU-NSW")
	add(protocol.GridPrice, "price/hourly", chosen, []int{2021, 2022}, "SE-SE4")
	add(protocol.GridPrice, "price/hourly", reported, late, "AT BE CH DE ES FR GB JP-TK NL PT US-MIDA-PJM SG")
	return all
}

// market returns when the grid's values become known.
func (g grid) market() forecast.Market {
	if g.quantity == protocol.GridCarbon {
		return forecast.Market{}
	}
	m, _ := forecast.MarketOf(g.zone)
	return m
}

// kind names the grid's kind of series, as tables do.
func (g grid) kind() string {
	switch {
	case g.quantity == protocol.GridCarbon:
		return "carbon"
	case g.market().Ahead:
		return "price, published ahead"
	}
	return "price, real time"
}

// read reads the grid's series, without the hours that its file marks as filled in.
func (g grid) read(data string) (points []protocol.Point, err error) {
	column, marked := "price_usd_per_mwh", "filled"
	switch g.folder {
	case "carbon/carboncast", "carbon/em":
		column, marked = "ci_lifecycle_gco2_per_kwh", ""
	case "carbon/eia2022":
		column = "ci_avg_gco2_per_kwh"
	}
	for _, year := range g.years {
		values, err := g.readColumn(data, column, year)
		if err != nil {
			return nil, err
		}
		var marks []trace.HourlyMean
		if marked != "" {
			if marks, err = g.readColumn(data, marked, year); err != nil {
				return nil, err
			}
		}
		for i, v := range values {
			if !v.Filled && (marks == nil || marks[i].Value == 0) {
				points = append(points, v.Point)
			}
		}
	}
	return points, nil
}

// readColumn reads a column of the file of a year.
func (g grid) readColumn(data, column string, year int) (values []trace.HourlyMean, err error) {
	name := filepath.Join(data, filepath.FromSlash(g.folder), fmt.Sprintf("%s_%d.csv.gz", g.zone, year))
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("grids: %w: --data names the folder of the recorded data", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	from := protocol.FromStdTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
	to := protocol.FromStdTime(time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC))
	return trace.ReadDatedSeries(file, name, column, g.quantity, time.UTC, from, to, trace.PersistGaps)
}

// Uses of an hour that is forecast, by the number of its ISO week modulo 4: two of four teach, one
// chooses, and one is reported alone.
const (
	teaches = iota
	chooses
	reports
	unused // within three days of a recorded day, on which policies are judged
)

// A calendar knows the days on which policies are judged.
type calendar struct{ judged []time.Time }

// newCalendar reads the days of the recorded scenarios off their names.
func newCalendar() (c calendar, err error) {
	for _, name := range spec.ShippedNames() {
		_, date, dated := strings.Cut(path.Base(name), "_20")
		if !dated {
			continue
		}
		day, err := time.Parse(time.DateOnly, "20"+date[strings.LastIndexByte(date, '_')+1:])
		if err != nil {
			return c, fmt.Errorf("grids: scenario %s: its name ends in no day as 2022-04-13: %w", name, err)
		}
		c.judged = append(c.judged, day)
	}
	return c, nil
}

// useOf returns what an hour is for.
func (c calendar) useOf(at protocol.Time) int {
	t := at.StdTime().UTC()
	for _, day := range c.judged {
		if t.Sub(day) >= -3*24*time.Hour && t.Sub(day) < 4*24*time.Hour {
			return unused
		}
	}
	switch _, week := t.ISOWeek(); week % 4 {
	case 0, 1:
		return teaches
	case 2:
		return chooses
	}
	return reports
}

// hashOfGrids returns the sha256 of the list of grids that weights are trained and chosen on.
func hashOfGrids() string {
	h := sha256.New()
	for _, g := range grids() {
		if g.role != reported {
			fmt.Fprintf(h, "%s %s/%s %v role=%d weeks=0,1,2 of 4\n", g.quantity, g.folder, g.zone, g.years, g.role)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
