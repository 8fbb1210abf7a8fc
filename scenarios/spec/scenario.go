package spec

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A Scenario is the complete input of a replay: sites, the actual values of their
// grids, and the jobs that arrive. The testbed decides which party may see which
// value, and when.
type Scenario struct {
	Name, About string
	Seed        uint64

	Start, End protocol.Time // jobs arrive in [Start, End)

	Sites    []Site         // in the order of their file
	Jobs     []protocol.Job // by arrival, then id
	Policies []string       // to compare; empty: all policies
	Weights  Weights
	Carbon   string `json:",omitempty"` // ByAverage or ByMarginal

	Quotas   []protocol.Quota         `json:",omitempty"` // among tenants, in force from Start
	Classes  []protocol.PriorityClass `json:",omitempty"` // that jobs name
	Events   []Event                  `json:",omitempty"` // by time
	Services []ListedService          `json:",omitempty"` // in the order of the file

	FailsAfter map[protocol.JobID]time.Duration `json:",omitempty"` // jobs whose program fails after so long of each run
	Expect     []Expectation                    `json:",omitempty"` // of the run, by the scenario's author

	Notes []string // assumptions, cuts and filled values, in words
	Hash  string   // sha256 of the JSON of all fields above, in hex
}

// HasServiceForecasts reports whether some site receives a service's forecasts.
func (s Scenario) HasServiceForecasts() bool {
	return slices.ContainsFunc(s.Sites, func(site Site) bool { return len(site.Forecasts) > 0 })
}

// AverageCarbon is the quantity of the grid's average intensity in a scenario whose bids
// use the marginal one. In other scenarios GridCarbon is the average.
const AverageCarbon protocol.Quantity = "average"

// MarginalCarbon is the quantity of the marginal intensity, in scenarios whose bids use the
// average one and whose source has both.
const MarginalCarbon = trace.MarginalColumn

// The carbon intensity that bids and the objective use.
const (
	ByAverage  = ""         // of all generation of the grid: attributional
	ByMarginal = "marginal" // of one further kWh: consequential
)

// A Site is a cluster with its grid.
type Site struct {
	Name  string // [a-z0-9-]
	Zone  string // of the grid, by its source's name
	Nodes []Node
	Host  Host

	// Signals are the actual values, hourly: from at least a day before Start, so
	// that forecasts have a past, to at least End. Callers that need later hours
	// repeat the last day. A constant PUE is a single point.
	Signals map[protocol.Quantity][]protocol.Point

	// Forecasts are the bulletins that services issued for coming hours.
	Forecasts map[protocol.Quantity][]forecast.Bulletin `json:",omitempty"`

	DayAhead bool // its prices are published the day before

	// Lag is how long after the beginning of its hour a value of carbon, and of a price that is
	// not published the day before, becomes known.
	Lag time.Duration `json:",omitempty"`

	Outages []Outage  `json:",omitempty"` // by time, not overlapping
	Bids    Misreport `json:",omitzero"`

	Terms terms.Terms `json:",omitzero"` // on which it runs jobs of others

	Location protocol.Location `json:",omitzero"`
}

// An Outage is a time in which a site has no power. What runs then is lost.
type Outage struct{ From, To protocol.Time }

// MergeInto returns an outage merged into others of its site, by time and not overlapping.
func (x Outage) MergeInto(all []Outage) (out []Outage) {
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

// Misreport says how a site misreports its options, in thousandths of the true values: a
// price of 1300 asks for 30 % more than the energy costs; an energy of 500 states
// half of the energy and carbon. The zero Misreport is honest.
type Misreport struct {
	Price, Energy protocol.Milli // 0: the true value
	Stuck         int            `json:",omitempty"` // of replicas, where some find no node; 0: the true number
}

// IsHonest reports whether a site bids its true values.
func (b Misreport) IsHonest() bool {
	return (b.Price == 0 || b.Price == 1000) && (b.Energy == 0 || b.Energy == 1000) && b.Stuck == 0
}

// A Node is one node of a fleet. Names are unique in the federation.
type Node struct {
	Name      string
	CPU       protocol.Milli
	Memory    protocol.MiB
	GPUs      int    // 0 for a node without
	Model     string // of its GPUs; "" without
	GPUMemory protocol.MiB
	Topology  []protocol.Label `json:",omitempty"` // by level, the widest first
}

// A Host overrides what a node of the site draws beside its GPUs, and how it sleeps. A zero
// field has the value of power.SleepingHost.
type Host struct {
	Idle     protocol.Milliwatts // awake, nothing running
	Asleep   protocol.Milliwatts
	Core     protocol.Milliwatts // additional power of each busy core
	Linger   time.Duration       `json:",omitzero"` // from its last job until it sleeps
	WakeTime time.Duration       `json:",omitzero"` // until a sleeping node can start a job
}

// Weights convert carbon and time into money: those of protocol.Weights, carbon by the tonne. Their
// defaults are protocol.DefaultWeights.
type Weights struct {
	Kappa         protocol.Microdollars // per tonne of CO2-equivalent
	WaitNow       protocol.Microdollars // per GPU-hour of waiting of a job that is wanted now
	WaitStandard  protocol.Microdollars // of a standard job of an hour
	WaitFlexible  protocol.Microdollars // of a flexible job
	WaitLimit     time.Duration         // after a standard job's arrival, and
	WaitLimitRuns protocol.Milli        // so many of its runs, it is offered no later start; 0: no limit
	Late          protocol.Microdollars // per GPU-hour past the deadline
	LateMost      protocol.Microdollars // per GPU-hour of the late job's run at most; 0: no limit
}

// Options override a scenario from the command line. Zero fields keep the scenario's
// values or defaults.
type Options struct {
	Data string  // folder that ${data} stands for; default ../shared/data
	Seed *uint64 // instead of the scenario's own

	Window      string            // CSV of hourly prices and carbon by zone
	Fill        bool              // missing values of the window repeat the hour before, for a week at most
	Jobs        string            // trace of jobs; default ${data}/workload/philly_2017.csv.gz
	JobsColumns map[string]string // where Gridbid's columns of Jobs, or of the scenario's trace, come from
	SkipBad     bool              // malformed rows of the trace are left out and listed in the notes, in place of refusing it
	JobsFrom    *int64            // seconds in the trace's own clock; default: its dense part, or its first job
	Carbon      string            // ByMarginal, or what the scenario says
	Kappa       *float64          // dollars per tonne, 0..10000, instead of the scenario's own
	MaxJobs     int               // default 2000, or what the scenario says; fewer than that are spread over the same period
	Draw        int               // above 0: this stratified draw of the day's jobs, instead of the first ones
	Gangs       float64           // above 0: so much of the jobs of 8 GPUs grows to gangs, and longer jobs of a trace are kept
	Fleet       string            // CSV of nodes; default ${data}/workload/nodes_alibaba_gpu_v2023.csv
	GridsOnly   bool              // only grids: jobs and nodes are neither read, checked nor counted
	FleetScale  float64           // fraction of nodes kept, above 0 and up to 1; 0: as many as give a load of 65 %
}
