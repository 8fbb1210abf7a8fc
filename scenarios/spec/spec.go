package spec

import (
	"errors"
	"fmt"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A scenarioSpec is a decoded scenario.yaml: see schema.json.
type scenarioSpec struct {
	Name     string                    `yaml:"name"`
	About    string                    `yaml:"about"`
	Seed     *uint64                   `yaml:"seed"`
	Start    string                    `yaml:"start"`
	End      string                    `yaml:"end"`
	Window   *windowSpec               `yaml:"window"`
	Sites    []siteSpec                `yaml:"sites"`
	Nodes    *nodesSpec                `yaml:"nodes"`
	Jobs     jobsSpec                  `yaml:"jobs"`
	Policies []string                  `yaml:"policies"`
	Weights  protocol.WeightSettings   `yaml:"weights"`
	Carbon   string                    `yaml:"carbon"`
	Lag      *float64                  `yaml:"lag_hours"`
	Services []listedServiceSpec       `yaml:"services"`
	Imports  []importSpec              `yaml:"imports"`
	Events   []eventSpec               `yaml:"events"`
	Expect   []expectSpec              `yaml:"expect"`
	Quotas   []quota.FileQuota         `yaml:"quotas"`
	Classes  []protocol.PriorityClass  `yaml:"priority_classes"`
	where    func(...any) faultLocator // returns a builder of errors at a path
	lineOf   func(...any) int          // returns the line of a path
}

// A faultLocator builds an error that names file, line and path of a fault.
type faultLocator func(format string, args ...any) error

// A windowSpec names a file with hourly grid data of several zones.
type windowSpec struct {
	File string          `yaml:"file"`
	Fill trace.GapPolicy `yaml:"fill"`
}

// A nodesSpec names a list of nodes and the part of it that is used.
type nodesSpec struct {
	File  string    `yaml:"file"`
	Scale fleetPart `yaml:"scale"`
}

// A fleetPart is the fraction of nodes kept; 0 means auto.
type fleetPart float64

// UnmarshalYAML reads "auto" as 0.
func (s *fleetPart) UnmarshalYAML(read func(any) error) error {
	var word string
	if read(&word) == nil && word == "auto" {
		*s = 0
		return nil
	}
	return read((*float64)(s))
}

// A jobsSpec selects jobs of a trace, a number of synthetic jobs, or lists jobs. Fractions
// are 0..1; nil means the default.
type jobsSpec struct {
	List       []listedJobSpec   `yaml:"list"`
	Trace      string            `yaml:"trace"`
	Columns    map[string]string `yaml:"columns"`
	From       *int64            `yaml:"from"`
	Max        int               `yaml:"max"`
	Count      int               `yaml:"count"`
	Deferrable *float64          `yaml:"deferrable"`
	Flexible   *float64          `yaml:"flexible"`
	Resident   *float64          `yaml:"resident"`
	Input      *float64          `yaml:"input"`
	Pausable   *float64          `yaml:"pausable"`
	OneNode    bool              `yaml:"one_node"`
	Gangs      *gangsSpec        `yaml:"gangs"`
	Elastic    *elasticSpec      `yaml:"elastic"`

	thinTo  int  // of the jobs above, how many are kept (see thinTraceJobs); 0: all
	draw    int  // that of Options
	skipBad bool // likewise
}

// A siteSpec configures one site. Units: PUE as a ratio, host power in watts.
type siteSpec struct {
	Name      string                            `yaml:"name"`
	Zone      string                            `yaml:"zone"`
	DayAhead  *bool                             `yaml:"day_ahead"`
	Lag       *float64                          `yaml:"lag_hours"`
	PUE       float64                           `yaml:"pue"`
	Region    *regionSpec                       `yaml:"region"`
	Signals   map[protocol.Quantity]*seriesSpec `yaml:"signals"`
	Forecasts map[protocol.Quantity]*seriesSpec `yaml:"forecasts"`
	Host      hostSpec                          `yaml:"host"`
	Topology  []string                          `yaml:"topology"`
	Fleet     []rackSpec                        `yaml:"fleet"`
	Outages   []outageSpec                      `yaml:"outages"`
	Bids      bidsSpec                          `yaml:"bids"`
	Terms     terms.File                        `yaml:"terms"`
	Location  protocol.Location                 `yaml:"location"`
}

// An outageSpec is a period without power, in RFC 3339.
type outageSpec struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// A bidsSpec says how a site misreports its bids, as factors of the true values.
type bidsSpec struct {
	Price  float64 `yaml:"price"`
	Energy float64 `yaml:"energy"`
	Stuck  int     `yaml:"stuck"`
}

// A seriesSpec names a file and column with the values of one quantity.
type seriesSpec struct {
	File   string          `yaml:"file"`
	Column string          `yaml:"column"`
	Fill   trace.GapPolicy `yaml:"fill"` // of signals

	// Of forecasts that are an hourly series: see publicationRule.
	Published *int `yaml:"published"`  // hour of the day, UTC
	Ends      *int `yaml:"ends"`       // hour of the day, UTC
	Lead      *int `yaml:"lead_hours"` // hours
}

// A dailySpec is the typical day of a quantity: see generate.DailyProfile.
type dailySpec struct {
	Mean  float64 `yaml:"mean"`
	Swing float64 `yaml:"swing"`
}

// A regionSpec describes a synthetic grid: see generate.SyntheticRegion.
type regionSpec struct {
	Price  dailySpec `yaml:"price"`
	Carbon dailySpec `yaml:"carbon"`
	Match  float64   `yaml:"match"`
	Peak   int       `yaml:"peak"`
}

// A hostSpec overrides the power of a site's hosts, in watts, and how they sleep, in seconds.
type hostSpec struct {
	Idle   float64 `yaml:"idle"`
	Asleep float64 `yaml:"asleep"`
	Core   float64 `yaml:"core"`
	Linger float64 `yaml:"linger"`
	Wake   float64 `yaml:"wake"`
}

// A rackSpec is a number of equal nodes. Memory is in GiB, CPU in cores.
type rackSpec struct {
	Name      string  `yaml:"name"`
	Count     int     `yaml:"count"`
	CPU       float64 `yaml:"cpu"`
	Memory    int64   `yaml:"memory"`
	GPUs      int     `yaml:"gpus"`
	Model     string  `yaml:"model"`
	GPUMemory int64   `yaml:"gpu_memory"`
	// Labels say where the nodes stand, by level of the site's topology.
	Labels map[string]string `yaml:"labels"`
}

// parseSpec reads a scenario.yaml and applies the schema and the checks that a schema
// cannot express.
func parseSpec(file string, text []byte) (scenarioSpec, error) {
	p, err := scenarioSchemaKind.ParsePage(file, text)
	if err != nil {
		return scenarioSpec{}, err
	}
	var s scenarioSpec
	if err := p.DecodeInto(&s); err != nil {
		return scenarioSpec{}, err
	}
	pathOf := func(path []any) []string {
		words := make([]string, len(path))
		for i, w := range path {
			words[i] = fmt.Sprint(w)
		}
		return words
	}
	s.where = func(path ...any) faultLocator {
		return func(format string, args ...any) error { return p.FaultAt(pathOf(path), format, args...) }
	}
	s.lineOf = func(path ...any) int { return p.LineOf(pathOf(path)) }
	if err := s.readImports(); err != nil {
		return s, err
	}
	return s, s.validateSpec()
}

// maxNodes is the maximum number of nodes of a scenario; node lists have the same limit.
const maxNodes = 200_000

// validateSpec validates rules that involve more than one key.
func (s *scenarioSpec) validateSpec() error {
	at := s.where
	kinds := 0
	for _, given := range []bool{s.Jobs.Trace != "", s.Jobs.Count != 0, s.Jobs.List != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds == 0 && len(s.Services) == 0 && s.lineOf("jobs") == s.lineOf():
		return at()("lacks jobs: add it, or services")
	case kinds != 1 && !s.hasNoJobs():
		return at("jobs")("want one of trace, count and list")
	case s.Jobs.List != nil && s.Jobs.drawsTraits():
		return at("jobs")("deferrable, flexible, resident, input and pausable draw traits of jobs, gangs lets them grow, and elastic lets them scale; those of list say theirs: drop them")
	case len(s.Expect) > 0 && s.Jobs.List == nil && !s.hasNoJobs():
		return at("expect")("names jobs, and these have no names that a file knows: list them under jobs/list")
	case s.Jobs.Trace == "" && (s.Jobs.From != nil || s.Jobs.Max != 0 || s.Jobs.Columns != nil || s.Jobs.OneNode):
		return at("jobs")("from, max, columns and one_node belong to a trace: drop them")
	case s.Window == nil && len(s.Sites) == 0:
		return at()("no sites: name some, or a window whose zones are the sites")
	case s.Window == nil && s.Start == "":
		return at()("lacks start: add it, or a window")
	}
	if err := trace.ParseJobColumns(s.Jobs.Columns); err != nil {
		return at("jobs", "columns")("%v", err)
	}
	seen, named, nodes := make(map[string]bool), make(map[string]bool), 0
	for i, site := range s.Sites {
		for k, rack := range site.Fleet {
			if rack.Name != "" && named[rack.Name] {
				return at("sites", i, "fleet", k, "name")("duplicate node name %s: rename one", rack.Name)
			}
			named[rack.Name] = true
			if nodes += max(rack.Count, 1); nodes > maxNodes {
				return at("sites", i, "fleet")("over %d nodes in all: want fewer", maxNodes)
			}
		}
		if seen[site.Name] {
			return at("sites", i, "name")("duplicate site name %s: rename one", site.Name)
		}
		seen[site.Name] = true
		if err := s.validateSite(i, site); err != nil {
			return err
		}
	}
	return nil
}

// drawsTraits reports whether a spec says how traits of jobs are drawn.
func (j jobsSpec) drawsTraits() bool {
	return j.Deferrable != nil || j.Flexible != nil || j.Resident != nil || j.Input != nil || j.Pausable != nil || j.Gangs != nil || j.Elastic != nil
}

// validateSite validates the keys of one site.
func (s *scenarioSpec) validateSite(i int, site siteSpec) error {
	at := s.where
	own := site.Signals[protocol.GridPrice] != nil && site.Signals[protocol.GridCarbon] != nil
	switch {
	case site.Region != nil && site.Zone != "" && s.Window != nil:
		return at("sites", i)("both region and zone: drop one")
	case site.Region == nil && !own && s.Window == nil:
		return at("sites", i)("%s has no grid: add a region, signals for price and carbon, or a window to the scenario", site.Name)
	case site.Region == nil && !own && site.Zone == "":
		return at("sites", i)("%s has no zone of the window: add it", site.Name)
	case len(site.Fleet) == 0 && s.Nodes == nil:
		return at("sites", i)("%s has no fleet: add one, or a list of nodes to the scenario", site.Name)
	}
	for _, q := range signalQuantities {
		if f := site.Forecasts[q]; f != nil {
			if err := f.validatePublication(at("sites", i, "forecasts", q)); err != nil {
				return err
			}
		}
	}
	var fault terms.Fault
	if _, err := site.Terms.Terms(); errors.As(err, &fault) {
		path := []any{"sites", i, "terms"}
		for _, key := range fault.Path {
			path = append(path, key)
		}
		return at(path...)("%s", fault.Problem)
	}
	for k, rack := range site.Fleet {
		if (rack.GPUs > 0) != (rack.Model != "") {
			return at("sites", i, "fleet", k)("gpus and model go together: give both or neither")
		}
		if _, known := power.DefaultTable().LookupModel(rack.Model); !known && rack.Model != "" {
			return at("sites", i, "fleet", k, "model")("%s", unknownModelReason(rack.Model))
		}
	}
	return nil
}
