package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// joinFlags are the flags of `gridbid scenario join`.
type joinFlags struct {
	start, out string
	hours      int
	clocks     map[string]string
	fill       bool
}

// newJoinCommand is `gridbid scenario join`: it makes a window of public files.
func newJoinCommand() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join ZONE:QUANTITY=FILE#COLUMN...",
		Short: "make a window of recorded prices and carbon out of public files",
		Long: `Join hourly series of public files to a window, which "gridbid replay --window" replays: a
price and a carbon intensity for each zone, and a PUE where there is one.

QUANTITY is price ($/MWh), carbon (g/kWh) or pue. COLUMN is a column of the file,
perhaps with a factor for another currency or unit: "Price (EUR/MWh)*1.08". Times
without an offset are in the zone's --clock, UTC by default; several values of an hour
give their mean. docs/recorded-days.md says where public files are, and whose.`,
		Example: `  gridbid scenario join --start 2022-04-12T00:00:00Z --out day.csv --clock DE=Europe/Berlin \
    'DE:carbon=DE_2022_hourly.csv#Carbon Intensity gCO₂eq/kWh (LCA)' \
    'DE:price=DE-LU_electricity_prices_2022.csv#Price (EUR/MWh)*1.0803'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.runJoin(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.start, "start", "", "first hour, as 2022-04-12T00:00:00Z: a day before the jobs arrive")
	fl.IntVar(&f.hours, "hours", 72, "hours of the window")
	fl.StringToStringVar(&f.clocks, "clock", nil, "clock of a zone's times without offset: `ZONE=CLOCK`, a name as Europe/Berlin or an offset as +10:00")
	fl.BoolVar(&f.fill, "fill", false, "fill an hour without value with the hour before; price_filled marks it")
	fl.StringVar(&f.out, "out", "-", "`FILE.csv` of the window; - is standard output")
	return cmd
}

// A joinedSeries is one argument: where a quantity of a zone comes from.
type joinedSeries struct {
	zone, file, column string
	what               protocol.Quantity
}

// parseJoined reads ZONE:QUANTITY=FILE#COLUMN.
func parseJoined(arg string) (s joinedSeries, err error) {
	of, from, ok := strings.Cut(arg, "=")
	zone, what, named := strings.Cut(of, ":")
	file, column, has := strings.Cut(from, "#")
	s = joinedSeries{zone, file, column, protocol.Quantity(what)}
	if !ok || !named || !has || zone == "" || !slices.Contains([]protocol.Quantity{protocol.GridPrice, protocol.GridCarbon, protocol.GridPUE}, s.what) {
		return s, fmt.Errorf("%q: want ZONE:QUANTITY=FILE#COLUMN with QUANTITY price, carbon or pue", arg)
	}
	return s, nil
}

// parseClock reads the name of a clock, or an offset.
func parseClock(text string) (*time.Location, error) {
	if at, err := time.Parse("-07:00", text); err == nil {
		return at.Location(), nil
	}
	zone, err := time.LoadLocation(text)
	if err != nil {
		return nil, fmt.Errorf("--clock %s: want a name as Europe/Berlin, or an offset as +10:00", text)
	}
	return zone, nil
}

// runJoin reads all series, and writes the window.
func (f *joinFlags) runJoin(cmd *cobra.Command, args []string) error {
	at, err := time.Parse(time.RFC3339, f.start)
	start := protocol.FromStdTime(at)
	if err != nil || start != start.Floor(time.Hour) || f.hours < 48 || f.hours > 31*24 {
		return usageError{fmt.Errorf("--start %q, --hours %d: want a whole hour as 2022-04-12T00:00:00Z, and 48 to 744 hours", f.start, f.hours)}
	}
	var zones []string
	joined := make(map[string]map[protocol.Quantity][]trace.HourlyMean)
	for _, arg := range args {
		s, err := parseJoined(arg)
		if err == nil {
			err = f.readJoined(s, start, joined)
		}
		if err != nil {
			return usageError{err}
		}
		if !slices.Contains(zones, s.zone) {
			zones = append(zones, s.zone)
		}
	}
	for _, zone := range zones {
		for _, q := range []protocol.Quantity{protocol.GridPrice, protocol.GridCarbon} {
			if joined[zone][q] == nil {
				return usageError{fmt.Errorf("%s has no %s: add '%s:%s=FILE#COLUMN'", zone, q, zone, q)}
			}
		}
	}
	out, err := openResultFile(f.out, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	defer out.discardIfUnused()
	if err := out.writeResult(func(w io.Writer) error { return writeWindow(w, zones, joined, f.hours) }); err != nil {
		return err
	}
	fmt.Fprintf(notesOf(cmd), "%d hours of %d zones; gridbid replay --window %s\n", f.hours, len(zones), f.out)
	return nil
}

// readJoined reads one series into joined.
func (f *joinFlags) readJoined(s joinedSeries, start protocol.Time, joined map[string]map[protocol.Quantity][]trace.HourlyMean) error {
	clock := time.UTC
	if text, ok := f.clocks[s.zone]; ok && s.what == protocol.GridPrice {
		var err error
		if clock, err = parseClock(text); err != nil {
			return err
		}
	}
	file, err := os.Open(s.file)
	if err != nil {
		return err
	}
	fill := trace.RejectGaps
	if f.fill {
		fill = trace.PersistGaps
	}
	series, err := trace.ReadDatedSeries(file, s.file, s.column, s.what, clock, start, start.Add(time.Duration(f.hours)*time.Hour), fill)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if joined[s.zone] == nil {
		joined[s.zone] = make(map[protocol.Quantity][]trace.HourlyMean)
	}
	joined[s.zone][s.what] = series
	return nil
}

// writeWindow writes a window as docs/scenarios.md describes it.
func writeWindow(w io.Writer, zones []string, joined map[string]map[protocol.Quantity][]trace.HourlyMean, hours int) error {
	out := csv.NewWriter(w)
	out.Write([]string{"time_utc", "zone", "ci_lifecycle_gco2_per_kwh", "price_usd_per_mwh", "price_filled", "pue_model"})
	number := func(p trace.HourlyMean) string { return strconv.FormatFloat(float64(p.Value)/1000, 'f', -1, 64) }
	for i := range hours {
		for _, zone := range zones {
			of := joined[zone]
			price, carbon, pue := of[protocol.GridPrice][i], of[protocol.GridCarbon][i], ""
			if of[protocol.GridPUE] != nil {
				pue = number(of[protocol.GridPUE][i])
			}
			filled := "0"
			if price.Filled {
				filled = "1"
			}
			out.Write([]string{price.At.String(), zone, number(carbon), number(price), filled, pue})
		}
	}
	out.Flush()
	return out.Error()
}
