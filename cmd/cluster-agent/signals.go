package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

// gridConfig is what the site's energy costs, in the configuration's own words.
// Price, carbon and PUE hold at all hours where no source tells of them, and else
// as long as none has told.
type gridConfig struct {
	Price   float64          `yaml:"price"`
	Carbon  float64          `yaml:"carbon"`
	PUE     float64          `yaml:"pue"`
	Idle    bool             `yaml:"idle"`
	Sources []signals.Config `yaml:"sources"`
}

// at says on which line of the page a source is wrong.
func at(p *yamlschema.Page, i int, err error) error {
	var f signals.Fault
	if !errors.As(err, &f) {
		return err
	}
	return p.Fault([]string{"grid", "sources", strconv.Itoa(i), f.Key}, "%s", f.What)
}

// carbon names the first source that tells of carbon.
func (g gridConfig) carbon() string {
	for _, x := range g.Sources {
		if x.Tells == "carbon" {
			return x.From
		}
	}
	return ""
}

// usualPUE is that of a site which says nothing of its building.
const usualPUE = 1.1

// rules say how the agent bids on what it is not told: with the configured values
// as a default, and by forecasts that fit the market.
func (g gridConfig) rules() forecast.Config {
	if g.PUE == 0 {
		g.PUE = usualPUE
	}
	r := forecast.Config{NoPUE: protocol.Milli(math.Round(g.PUE * 1000)), Default: &forecast.Default{
		Price: protocol.Microdollars(math.Round(g.Price * 1000)), Carbon: protocol.Milligrams(math.Round(g.Carbon * 1000)),
	}}
	for _, x := range g.Sources {
		if x.Tells == "price" {
			r.Price = forecast.Usual(protocol.GridPrice, forecast.Market{Ahead: x.Market != "real-time"})
			break // the first is believed
		}
	}
	return r
}

// feed makes the party that tells of the site's grid, or nil if none is configured.
// What it read it keeps beside the agent's facts.
func (c config) feed(log *slog.Logger) *signals.Feed {
	g := c.Grid
	if g == nil {
		return nil
	}
	f := &signals.Feed{Site: c.Site, Log: log, Fixed: map[protocol.Quantity]float64{protocol.GridPrice: g.Price, protocol.GridCarbon: g.Carbon}}
	for _, x := range g.Sources {
		r := signals.NewReader(x, filepath.Join(c.Folder, "signals"))
		delete(f.Fixed, r.What())
		f.Readers = append(f.Readers, r)
	}
	return f
}

// watched shows how the sources of a feed stand.
func watched(f *signals.Feed) func() []telemetry.Signal {
	return func() (out []telemetry.Signal) {
		for _, s := range f.Status(time.Now()) {
			out = append(out, telemetry.Signal{Source: s.Source, Tells: s.Tells, Known: s.Value != nil, Age: s.Age, Horizon: s.Horizon, Stale: s.Stale, Failures: s.Why})
		}
		return out
	}
}

const aboutSignals = `cluster-agent signals reads each configured source of price, carbon and PUE once,
and prints what it tells: the value of this hour, how old the last fact is, and how
far ahead it tells anything. Nothing is kept, and nobody is told.

  cluster-agent signals --config oslo.yaml
  cluster-agent signals --config oslo.yaml --json

Exit codes: 0 all were read; 1 one was not, or the configuration is wrong.

Flags:`

// runSignals is `cluster-agent signals`.
func runSignals(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent signals", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { fmt.Fprintln(out, aboutSignals); fs.PrintDefaults() }
	file := fs.String("config", "", "configuration `FILE` in YAML, with grid: sources")
	asJSON := fs.Bool("json", false, "print as JSON; times in UTC, ages in seconds")
	if err := parse(fs, args); err != nil {
		return err
	}
	c, err := load(*file)
	if err != nil {
		return err
	}
	if c.Grid == nil || len(c.Grid.Sources) == 0 {
		return fmt.Errorf("%s has no grid: sources; docs/signals-and-power.md has examples", *file)
	}
	rows := make([]signals.Status, len(c.Grid.Sources))
	var all sync.WaitGroup
	for i, x := range c.Grid.Sources {
		all.Go(func() {
			r := signals.NewReader(x, "")
			_ = r.Read(context.Background()) // its deadlines are its own; the row says what went wrong
			rows[i] = r.Status(time.Now())
		})
	}
	all.Wait()
	if *asJSON {
		err = tellJSON(os.Stdout, rows)
	} else {
		err = table(os.Stdout, rows)
	}
	for _, r := range rows {
		if r.Error != "" && err == nil {
			err = fmt.Errorf("a source was not read: the agent bids by the others, or by the default, and says that it may be far off")
		}
	}
	return err
}

func table(to io.Writer, rows []signals.Status) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SOURCE\tTELLS\tNOW\tOF THE HOUR\tAGE\tAHEAD")
	for _, r := range rows {
		value, of := "nothing", ""
		if r.Value != nil {
			value, of = fmt.Sprintf("%.4g %s", *r.Value, r.Unit), r.Of.Format("2006-01-02 15:04")
			if r.Guess {
				value += " (forecast)"
			}
		}
		span := func(seconds float64) string {
			return (time.Duration(seconds) * time.Second).Round(time.Minute).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Source, r.Tells, value, of, span(r.Age), span(r.Horizon))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Error != "" {
			fmt.Fprintf(to, "\n%s\n", r.Error)
		}
	}
	return nil
}
