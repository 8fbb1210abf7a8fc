package program

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

//go:embed config.schema.json
var configSchema []byte

// A Config is the configuration file of a site, with its YAML keys. Exactly one of
// Kubernetes and Simulate is set, or only Queue for a hub: a site without GPUs that
// only submits.
type Config struct {
	daemon.Settings `yaml:",inline"`
	Site            string      `yaml:"site"`
	Folder          string      `yaml:"folder"`
	Held            string      `yaml:"held"`
	Simulate        *Simulate   `yaml:"simulate"`
	Kubernetes      *Kubernetes `yaml:"kubernetes"`
	Queue           *Queue      `yaml:"queue"`
	Grid            *Grid       `yaml:"grid"`
	Terms           terms.File  `yaml:"terms"`

	// Location is what the site says of itself: a service may be spread by it.
	Location protocol.Location `yaml:"location"`

	page      *yamlschema.Page
	siteTerms terms.Terms
}

// SiteTerms returns the terms on which the site runs jobs of others.
func (c Config) SiteTerms() terms.Terms { return c.siteTerms }

// Simulate names the site of a scenario that is simulated.
type Simulate struct {
	Scenario string `yaml:"scenario"` // a shipped name or a path, as it was written
	As       string `yaml:"as"`       // "": the site of the same name
	Data     string `yaml:"data"`
	// Dir is the folder of the configuration file, from which Scenario is taken if
	// it is a path.
	Dir string `yaml:"-"`
}

// Kubernetes says how a real cluster is used.
type Kubernetes struct {
	Kubeconfig string            `yaml:"kubeconfig"`
	Namespaces []string          `yaml:"namespaces"`
	Sharing    string            `yaml:"sharing"`
	Nodes      string            `yaml:"nodes"`
	Driver     string            `yaml:"driver"`
	Class      string            `yaml:"class"`
	Models     map[string]string `yaml:"models"`
	Abandon    string            `yaml:"abandon"`
	Metered    string            `yaml:"metered"`
	Power      map[string]GPU    `yaml:"power"`
	Curves     map[string]string `yaml:"curves"`
	Ceiling    float64           `yaml:"ceiling"` // watts, for metrics: the node daemons keep it
	Prometheus *Prometheus       `yaml:"prometheus"`
}

// A GPU is the power model of a GPU model, in place of the built-in one if there is one. Power is
// in watts, speed relative to a V100.
type GPU struct {
	Idle  float64 `yaml:"idle"`  // awake without work
	Load  float64 `yaml:"load"`  // with a usual training job, without a cap
	Limit float64 `yaml:"limit"` // the default power limit
	Speed float64 `yaml:"speed"` // without a cap; a V100 has 1
	Caps  []Cap   `yaml:"caps"`  // from the highest limit to the lowest; none: no cap is offered
}

// A Cap is the effect of a lower power limit on a usual job.
type Cap struct {
	Limit  float64 `yaml:"limit"`  // watts
	Speed  float64 `yaml:"speed"`  // part of the speed without a cap
	Energy float64 `yaml:"energy"` // per unit of work, part of the energy without a cap
}

// PowerTable returns the built-in power table with the models of the configuration.
func (k Kubernetes) PowerTable() (t power.Table, err error) {
	t = power.DefaultTable()
	for _, model := range slices.Sorted(maps.Keys(k.Power)) {
		x := k.Power[model]
		watts := func(v float64) protocol.Milliwatts { return protocol.Milliwatts(math.Round(v * 1000)) }
		parts := func(v float64) protocol.Milli { return protocol.Milli(math.Round(v * 1000)) }
		g := power.GPU{Model: model, Idle: watts(x.Idle), Load: watts(x.Load), Limit: watts(x.Limit), Speed: parts(x.Speed), Source: "the site's configuration"}
		for _, c := range x.Caps {
			g.Caps = append(g.Caps, power.Cap{Limit: watts(c.Limit), Speed: parts(c.Speed), Energy: parts(c.Energy)})
		}
		if t, err = t.WithGPU(g); err != nil {
			return t, err
		}
	}
	return t, nil
}

// Prometheus is a server with energy and utilization metrics of the cluster.
type Prometheus struct {
	URL       string `yaml:"url"`
	TokenFile string `yaml:"token_file"`
	Cards     bool   `yaml:"cards"`
	Cores     bool   `yaml:"cores"`
	Use       bool   `yaml:"use"`
	Site      string `yaml:"site"`
}

// Queue says which cluster's Jobs are submitted to the market.
type Queue struct {
	Kubeconfig string   `yaml:"kubeconfig"`
	Namespaces []string `yaml:"namespaces"`
	Kueue      *Kueue   `yaml:"kueue"`
}

// Kueue says how a queue dispatches for Kueue's MultiKueue.
type Kueue struct {
	Clusters map[string]string `yaml:"clusters"`
	Run      string            `yaml:"run"`
}

// Grid says what a site's energy costs. Price, Carbon and PUE are used for all hours
// where no source is configured, and otherwise until a source has reported.
type Grid struct {
	Price  float64 `yaml:"price"`  // dollars per MWh
	Carbon float64 `yaml:"carbon"` // grams per kWh
	PUE    float64 `yaml:"pue"`    // 0: defaultPUE

	// NodesSleep says that the site's empty nodes are switched off: bids then include what keeping
	// them awake costs.
	NodesSleep bool `yaml:"nodes_sleep"`

	Sources []signals.Config `yaml:"sources"`
}

// LoadConfig reads and checks a site's configuration file for a program, whose name begins
// its errors. Checks that depend on the kind of site are the program's. Relative paths
// are resolved from the file's folder, except Simulate.Scenario, which may be a name.
func LoadConfig(by, file string) (Config, error) {
	c := Config{}
	if file == "" {
		return c, fmt.Errorf("%s: no configuration: give --config FILE (see docs/live.md)", by)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("%s: %w", by, err)
	}
	kind := yamlschema.SchemaKind{Reader: by, FileKind: "configuration", Docs: "docs/live.md", Schema: configSchema}
	if c.page, err = kind.ParsePage(file, text); err != nil {
		return c, err
	}
	if err := c.page.DecodeInto(&c); err != nil {
		return c, err
	}
	if err := c.checkSections(by, file); err != nil {
		return c, err
	}
	if err := c.parseTerms(); err != nil {
		return c, err
	}
	dir := filepath.Dir(file)
	if err := c.openSources(dir); err != nil {
		return c, err
	}
	c.resolvePaths(dir)
	return c, nil
}

// FaultAt returns an error with file and line for a path of keys and indexes.
func (c Config) FaultAt(path []string, format string, args ...any) error {
	return c.page.FaultAt(path, format, args...)
}

// checkSections refuses sections that exclude each other.
func (c Config) checkSections(by, file string) error {
	switch {
	case c.Simulate != nil && c.Kubernetes != nil || c.Simulate == nil && c.Kubernetes == nil && c.Queue == nil:
		return fmt.Errorf("%s: %s: want one of the sections kubernetes (a real cluster) and simulate, or queue alone for a hub without GPUs", by, file)
	case c.Queue != nil && c.Simulate != nil:
		return c.FaultAt([]string{"queue"}, "a queue needs a real cluster: remove simulate or queue")
	case c.Queue != nil && c.Kubernetes != nil && (c.Queue.Kubeconfig != "" || len(c.Queue.Namespaces) > 0):
		return c.FaultAt([]string{"queue"}, "kubeconfig and namespaces are for a hub: with a section kubernetes the queue uses that cluster and those namespaces: remove them")
	case c.Kubernetes != nil && c.Grid == nil:
		return c.FaultAt([]string{"kubernetes"}, "needs a section grid: add one with the price and carbon of the site's energy")
	case !c.Terms.IsEmpty() && c.Kubernetes == nil && c.Simulate == nil:
		return c.FaultAt([]string{"terms"}, "a hub with only a queue runs no jobs and needs no terms: remove terms, or add a section kubernetes")
	case c.Grid != nil && c.Kubernetes == nil && c.Simulate == nil:
		return c.FaultAt([]string{"grid"}, "a hub with only a queue runs no jobs and needs no grid: remove grid, or add a section kubernetes")
	}
	return nil
}

// parseTerms reads the section terms.
func (c *Config) parseTerms() (err error) {
	c.siteTerms, err = c.Terms.Terms()
	var f terms.Fault
	if errors.As(err, &f) {
		return c.FaultAt(append([]string{"terms"}, f.Path...), "%s", f.Problem)
	}
	return err
}

// openSources checks the grid's sources and resolves their files from dir. Marginal
// carbon (watttime) and average carbon are different quantities, so sources of both
// cannot be mixed.
func (c Config) openSources(dir string) (err error) {
	if c.Grid == nil {
		return nil
	}
	for i, x := range c.Grid.Sources {
		if c.Grid.Sources[i], err = x.ResolveAndValidate(dir); err != nil {
			return c.sourceFault(i, err)
		}
		if i > 0 && x.Tells == "carbon" && (x.From == "watttime") != (c.Grid.carbonSource() == "watttime") {
			return c.sourceFault(i, signals.ConfigFault{Key: "from", Problem: "watttime reports marginal carbon and the other sources average carbon, which cannot be mixed: keep watttime or the others"})
		}
	}
	for i, x := range c.Grid.Sources {
		isFact := func(y signals.Config) bool { return y.Tells == x.Tells && !y.Forecast }
		if x.Forecast && !slices.ContainsFunc(c.Grid.Sources, isFact) {
			return c.sourceFault(i, signals.ConfigFault{Key: "forecast", Problem: "no other source reports the " + x.Tells + " that this one forecasts: add it, or remove forecast"})
		}
	}
	return nil
}

// sourceFault adds the file and line to an error of a source.
func (c Config) sourceFault(i int, err error) error {
	var f signals.ConfigFault
	if !errors.As(err, &f) {
		return err
	}
	return c.FaultAt([]string{"grid", "sources", strconv.Itoa(i), f.Key}, "%s", f.Problem)
}

// resolvePaths resolves relative file names from dir.
func (c *Config) resolvePaths(dir string) {
	if k := c.Kubernetes; k != nil {
		k.Kubeconfig = daemon.ResolveUnder(dir, k.Kubeconfig)
		if p := k.Prometheus; p != nil {
			p.TokenFile = daemon.ResolveUnder(dir, p.TokenFile)
		}
		for model, file := range k.Curves {
			k.Curves[model] = daemon.ResolveUnder(dir, file)
		}
	}
	if c.Queue != nil {
		c.Queue.Kubeconfig = daemon.ResolveUnder(dir, c.Queue.Kubeconfig)
	}
	if s := c.Simulate; s != nil {
		s.Dir, s.Data = dir, daemon.ResolveUnder(dir, s.Data)
	}
	c.Folder, c.Held = daemon.ResolveUnder(dir, c.Folder), daemon.ResolveUnder(dir, c.Held)
	c.ResolvePaths(dir)
}

// carbonSource returns the kind of the first source that reports carbon, or "".
func (g Grid) carbonSource() string {
	for _, x := range g.Sources {
		if x.Tells == "carbon" {
			return x.From
		}
	}
	return ""
}

// defaultPUE is the power usage effectiveness of a site whose configuration has none.
const defaultPUE = 1.1

// ForecastConfig returns how the agent forecasts hours that no source reported: the
// configured values as a default, and for prices the forecast rule that fits the
// market of the first price source.
func (g Grid) ForecastConfig() forecast.Config {
	if g.PUE == 0 {
		g.PUE = defaultPUE
	}
	r := forecast.Config{NoPUE: protocol.Milli(math.Round(g.PUE * 1000)), Default: &forecast.DefaultSignal{
		Price: protocol.Microdollars(math.Round(g.Price * 1000)), Carbon: protocol.Milligrams(math.Round(g.Carbon * 1000)),
	}}
	for _, x := range g.Sources {
		if x.Tells == "price" && !x.Forecast {
			r.Price = forecast.DefaultRule(protocol.GridPrice, forecast.Market{Ahead: x.Market != "real-time"})
			break // the first source of a quantity has precedence
		}
	}
	return r
}

// NewPoller returns the party that reports the site's grid signals to its agent, or nil if
// no grid is configured. It keeps what it has read in the site's folder.
func (c Config) NewPoller(log *slog.Logger) *signals.Poller {
	g := c.Grid
	if g == nil {
		return nil
	}
	f := &signals.Poller{Site: c.Site, Log: log, Fixed: map[protocol.Quantity]float64{protocol.GridPrice: g.Price, protocol.GridCarbon: g.Carbon}}
	for _, x := range g.Sources {
		r := signals.NewSource(x, filepath.Join(c.Folder, "signals"))
		delete(f.Fixed, r.Quantity())
		f.Sources = append(f.Sources, r)
	}
	return f
}
