package spec

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A Scenario is one world to replay: sites, what their grids did, and the jobs
// that arrive. It holds actual values; who may see which of them, and when, is
// for the stage to hold.
type Scenario struct {
	Name, About string
	Seed        uint64

	Start, End protocol.Time // jobs arrive in [Start, End)

	Sites    []Site         // in the order of their file
	Jobs     []protocol.Job // by arrival, then id
	Policies []string       // to compare; empty: all that there are
	Weights  Weights
	Carbon   string `json:",omitempty"` // ByAverage or ByMarginal

	Notes []string // what was assumed, cut or filled, in words
	Hash  string   // sha256 of all of the above, in hex
}

// Foretold reports whether some site hears a service's forecasts.
func (s Scenario) Foretold() bool {
	return slices.ContainsFunc(s.Sites, func(site Site) bool { return len(site.Forecasts) > 0 })
}

// Average is the quantity of the grid's average intensity in a scenario whose
// bids go by the marginal one. Otherwise GridCarbon is the average.
const Average protocol.Quantity = "average"

// Marginal is the quantity of its marginal one, where its source tells that: bids go
// by another series of the same values.
const Marginal = trace.Marginal

// By which intensity bids are made and the objective counts.
const (
	ByAverage  = ""         // of all that the grid generates: attributional
	ByMarginal = "marginal" // of what one kWh more takes: consequential
)

// A Site is a cluster with its grid.
type Site struct {
	Name  string // [a-z0-9-]
	Zone  string // of the grid, as its source calls it
	Nodes []Node
	Host  Host

	// Signals are the actual values, hourly: from a day before Start at least,
	// so that a forecast has a past to look at, to End at least. Whoever needs
	// later hours repeats the last day. A constant PUE is a single point.
	Signals map[protocol.Quantity][]protocol.Point

	// Forecasts are what services said of hours to come, as they said it.
	Forecasts map[protocol.Quantity][]forecast.Bulletin `json:",omitempty"`

	DayAhead bool // its prices are published the day before

	Outages []Outage `json:",omitempty"` // in order, apart from each other
	Bids    Bids     `json:",omitzero"`
	IdleBid bool     `json:",omitzero"` // its bids charge a job its share of its node's idle draw
}

// An Outage is a time in which a site has no power. What runs then is lost.
type Outage struct{ From, To protocol.Time }

// Among returns an outage with others of its site, in order and apart.
func (x Outage) Among(all []Outage) (out []Outage) {
	for _, o := range all {
		if o.To < x.From || o.From > x.To {
			out = append(out, o)
			continue
		}
		x.From, x.To = min(x.From, o.From), max(x.To, o.To)
	}
	out = append(out, x)
	slices.SortFunc(out, func(a, b Outage) int { return cmp.Compare(a.From, b.From) })
	return out
}

// Bids are what a site says of an option, in thousandths of what it knows: a
// price of 1300 asks for 30 % more than the energy costs; an energy of 500 says
// half of what it will draw, and half the carbon. The zero Bids are honest.
type Bids struct {
	Price, Energy protocol.Milli // 0: as it is
}

// Honest reports whether a site says what it knows.
func (b Bids) Honest() bool {
	return (b.Price == 0 || b.Price == 1000) && (b.Energy == 0 || b.Energy == 1000)
}

// A Node is one machine of a fleet. Names are unique in the federation.
type Node struct {
	Name      string
	CPU       protocol.Milli
	Memory    protocol.MiB
	GPUs      int    // 0 for a machine without
	Model     string // of its GPUs; "" without
	GPUMemory protocol.MiB
}

// A Host overrides what a node of the site draws beside its GPUs. A zero is
// power.DefaultHost's.
type Host struct {
	Idle   protocol.Milliwatts // awake, nothing running
	Asleep protocol.Milliwatts
	Core   protocol.Milliwatts // more for each busy core
}

// Weights turn carbon and time into money.
type Weights struct {
	Kappa protocol.Microdollars // per tonne of CO2-equivalent; default 190 dollars
	Delay protocol.Microdollars // per GPU-hour of waiting, of jobs that are not deferrable; default 1 dollar
	Late  protocol.Microdollars // per GPU-hour past the deadline; default 10 dollars
}

// Options are what a command line may say about a scenario. The zero is all
// defaults.
type Options struct {
	Data string  // folder that ${data} stands for; default ../shared/data
	Seed *uint64 // instead of the scenario's own

	Window     string   // CSV of hourly prices and carbon by zone
	Fill       bool     // what the window lacks is as in the hour before, a week at most
	Jobs       string   // trace of jobs; default ${data}/workload/philly_2017.csv.gz
	JobsFrom   *int64   // seconds in the trace's own clock; default: its dense part
	Carbon     string   // ByMarginal, or what the scenario says
	Kappa      *float64 // dollars per tonne, 0..10000, instead of the scenario's own
	MaxJobs    int      // default 2000, or what the scenario says
	Fleet      string   // CSV of nodes; default ${data}/workload/nodes_alibaba_gpu_v2023.csv
	GridsOnly  bool     // without jobs and nodes: neither is read, checked or counted
	FleetScale float64  // fraction of nodes kept, above 0 and up to 1; 0: as many as keep 65 % busy
}
