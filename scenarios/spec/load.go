package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/nearest"
	realdays "github.com/gridbid/gridbid/scenarios/real-days"
	sixregions "github.com/gridbid/gridbid/scenarios/six-regions"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// DefaultScenario is the scenario that is replayed if none is named.
const DefaultScenario = "six-regions"

const fileName = "scenario.yaml"

// Defaults of Options.
const (
	defaultData  = "../shared/data"
	defaultJobs  = "workload/philly_2017.csv.gz"
	defaultFleet = "workload/nodes_alibaba_gpu_v2023.csv"
	defaultMax   = 2000
)

// ShippedNames returns the names of the scenarios that ship in the binary: the default first,
// then the recorded days.
func ShippedNames() []string {
	out := []string{DefaultScenario}
	days, err := fs.Glob(realdays.Files, "*/"+fileName)
	if err != nil {
		return out
	}
	for _, d := range days {
		out = append(out, "real-days/"+strings.TrimSuffix(d, "/"+fileName))
	}
	return out
}

// ShippedAs returns the name in ShippedNames of the scenario whose own name is name, if
// there is one.
func ShippedAs(name string) (what string, ok bool) {
	for _, what := range ShippedNames() {
		file, text, _, err := ScenarioSource(what)
		if err != nil {
			continue
		}
		if s, err := parseSpec(file, text); err == nil && s.Name == name {
			return what, true
		}
	}
	return "", false
}

// ScenarioSource returns the text of a scenario and the folder that its relative paths start
// from. What is a shipped name, a folder with a scenario.yaml or a file; shipped
// names take precedence.
func ScenarioSource(what string) (file string, text []byte, folder string, err error) {
	if slices.Contains(ShippedNames(), what) {
		file = what + "/" + fileName
		if what == DefaultScenario {
			text, err = sixregions.Files.ReadFile(fileName)
		} else {
			text, err = realdays.Files.ReadFile(strings.TrimPrefix(file, "real-days/"))
		}
		return file, text, ".", err
	}
	file = what
	switch info, err := os.Stat(what); {
	case err != nil:
		return "", nil, "", fmt.Errorf("spec: no scenario %q%s: give a folder with a %s, a file, or one of %s", what, nearest.DidYouMean(what, ShippedNames()), fileName, strings.Join(ShippedNames(), ", "))
	case info.IsDir():
		file = filepath.Join(what, fileName)
	case IsTableFile(what):
		return "", nil, "", fmt.Errorf("spec: %s is a CSV table, not a scenario: give it as --window FILE", what)
	}
	text, err = readFileLimited(file, maxSpecBytes)
	return file, text, filepath.Dir(file), err
}

// IsTableFile reports whether a file name is that of a CSV table instead of a scenario.
func IsTableFile(name string) bool { return strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".csv") }

// CheckSyntax validates a scenario as LoadScenario does, without reading the data files that it
// names. Several faults are returned as one error, one line for each.
func CheckSyntax(what string) error {
	file, text, _, err := ScenarioSource(what)
	if err != nil {
		return err
	}
	s, err := parseSpec(file, text)
	if err != nil {
		return err
	}
	return s.checkDates()
}

// checkDates checks the dates and the names that a scenario contains.
func (s scenarioSpec) checkDates() error {
	var out Scenario
	if s.Start != "" { // else LoadScenario takes the period from the window
		if err := out.setTimeRange(s, nil); err != nil {
			return err
		}
	}
	for i, site := range s.Sites {
		if err := site.addSiteEvents(s.where("sites", i, "outages"), out.Start, out.End, new(Site)); err != nil {
			return err
		}
	}
	if s.Start != "" {
		if err := errors.Join(out.addListedJobs(s), out.addServices(s), out.addEvents(s), out.addExpectations(s)); err != nil {
			return err
		}
	}
	return s.checkNames(s.inlineNames())
}

// LoadScenario reads the scenario of a shipped name, folder or file (see ScenarioSource) and all
// data files that it names.
func LoadScenario(what string, o Options) (Scenario, error) {
	file, text, folder, err := ScenarioSource(what)
	if err != nil {
		return Scenario{}, err
	}
	s, err := parseSpec(file, text)
	if err != nil {
		return Scenario{}, err
	}
	l := fileLibrary{data: o.dataFolder(), folder: folder}
	return l.assembleScenario(l.resolvePaths(s), o)
}

// LoadWindow builds a scenario of o.Window without a scenario file: each of its zones is
// a site, and jobs arrive on its middle day.
func LoadWindow(o Options) (Scenario, error) {
	if o.Window == "" {
		return Scenario{}, fmt.Errorf("spec: no window: give --window a CSV of hourly prices and carbon by zone")
	}
	base := strings.TrimSuffix(filepath.Base(o.Window), ".gz")
	s := scenarioSpec{
		Name:  cmp.Or(identifierSlug(strings.TrimSuffix(base, filepath.Ext(base))), "window"), // the fallback is for a name without Latin letters or digits
		About: "all zones of " + base + ", on its middle day",
	}
	s.where = func(...any) faultLocator {
		return func(format string, args ...any) error {
			return fmt.Errorf("spec: "+format, args...)
		}
	}
	s.Window = &windowSpec{}
	s.Jobs.OneNode = true // as the recorded days that ship
	s.Jobs.Trace, s.Nodes = "${data}/"+defaultJobs, &nodesSpec{File: "${data}/" + defaultFleet}
	l := fileLibrary{data: o.dataFolder(), folder: "."}
	return l.assembleScenario(l.resolvePaths(s), o)
}

// dataFolder returns the folder that ${data} stands for.
func (o Options) dataFolder() string {
	if o.Data == "" {
		return defaultData
	}
	return o.Data
}

// Upper bounds of Options.
const (
	maxKappa = 10_000      // dollars per tonne
	maxJobs  = 200_000     // same limit as in schema.json
	maxFrom  = 315_360_000 // seconds; same limit as in schema.json
	maxDraw  = 1000
)

// validateOptions reports options that are out of range, or have no effect on s.
func (o Options) validateOptions(s scenarioSpec) error {
	listed := s.Jobs.List != nil && (o.Jobs != "" || o.MaxJobs > 0 || o.Draw > 0 || o.Gangs > 0 || o.JobsFrom != nil || len(o.JobsColumns) > 0)
	ownJobs := s.Jobs.Count > 0 && o.Jobs == ""
	ownFleets := len(s.Sites) > 0 && !slices.ContainsFunc(s.Sites, func(x siteSpec) bool { return len(x.Fleet) == 0 })
	switch k, from, scale := o.Kappa, o.JobsFrom, o.FleetScale; {
	case k != nil && !(*k >= 0 && *k <= maxKappa):
		return fmt.Errorf("kappa %g: want 0..%d, dollars per tonne", *k, maxKappa)
	case listed:
		return fmt.Errorf("jobs, max-jobs, draw, gangs, jobs-from, jobs-columns: %s lists its jobs; edit its file, or drop the option", s.Name)
	case o.MaxJobs < 0 || o.MaxJobs > maxJobs:
		return fmt.Errorf("max-jobs %d: want 1..%d, or 0 for the scenario's own limit", o.MaxJobs, maxJobs)
	case o.Draw < 0 || o.Draw > maxDraw:
		return fmt.Errorf("draw %d: want 1..%d, or 0 for the day's own jobs", o.Draw, maxDraw)
	case from != nil && (*from < 0 || *from > maxFrom):
		return fmt.Errorf("jobs-from %d: want 0..%d, as seconds of the trace", *from, maxFrom)
	case !(o.Gangs >= 0 && o.Gangs <= 1):
		return fmt.Errorf("gangs %g: want a fraction of the jobs of 8 GPUs, above 0 and up to 1", o.Gangs)
	case len(o.JobsColumns) > 0 && ownJobs:
		return fmt.Errorf("jobs-columns: %s generates its jobs; name a trace too (--jobs)", s.Name)
	case o.SkipBad && ownJobs:
		return fmt.Errorf("skip-bad: %s generates its jobs; name a trace too (--jobs)", s.Name)
	case from != nil && ownJobs:
		return fmt.Errorf("jobs-from %d: %s generates its jobs; name a trace too (--jobs)", *from, s.Name)
	case !(scale >= 0 && scale <= 1):
		return fmt.Errorf("fleet-scale %g: want a fraction of the nodes, above 0 and up to 1", scale)
	case o.Fill && o.Window == "" && s.Window == nil:
		return fmt.Errorf("fill: %s has no window to fill", s.Name)
	case (o.Fleet != "" || scale > 0) && ownFleets:
		return fmt.Errorf("fleet, fleet-scale: the sites of %s have fleets of their own", s.Name)
	}
	return nil
}

// overrideSpec replaces values of the scenario by those of the command line. Paths of the
// command line are relative to the working directory.
func (o Options) overrideSpec(s scenarioSpec) scenarioSpec {
	if o.Seed != nil {
		s.Seed = o.Seed
	}
	if o.Window != "" {
		s.Window = &windowSpec{File: o.Window}
	}
	if o.Fill {
		s.Window = &windowSpec{File: s.Window.File, Fill: trace.PersistGaps}
	}
	if o.Jobs != "" {
		s.Jobs.Trace, s.Jobs.Count, s.Jobs.From, s.Jobs.Columns, s.Jobs.OneNode = o.Jobs, 0, nil, nil, false
	}
	if len(o.JobsColumns) > 0 {
		s.Jobs.Columns = o.JobsColumns
	}
	s.Jobs.skipBad = o.SkipBad
	if o.Carbon != "" {
		s.Carbon = o.Carbon
	}
	if o.Kappa != nil {
		s.Weights.Kappa = o.Kappa
	}
	if o.JobsFrom != nil {
		s.Jobs.From = o.JobsFrom
	}
	if o.Gangs > 0 {
		s.Jobs.Gangs, s.Jobs.OneNode = &gangsSpec{Share: o.Gangs}, false
	}
	s.Jobs.draw = o.Draw
	s.Jobs.limitJobs(o.MaxJobs)
	if o.Fleet != "" {
		s.Nodes = &nodesSpec{File: o.Fleet}
	}
	if o.FleetScale > 0 && s.Nodes != nil {
		s.Nodes = &nodesSpec{File: s.Nodes.File, Scale: fleetPart(o.FleetScale)}
	}
	return s
}

// A fileLibrary locates the files that a scenario names.
type fileLibrary struct{ data, folder string }

// resolvePaths makes the paths of a scenario file relative to the working directory.
func (l fileLibrary) resolvePaths(s scenarioSpec) scenarioSpec {
	path := func(p *string) {
		switch {
		case strings.HasPrefix(*p, "${data}"):
			*p = filepath.Join(l.data, strings.TrimPrefix(*p, "${data}"))
		case *p != "" && !filepath.IsAbs(*p):
			*p = filepath.Join(l.folder, *p)
		}
	}
	if s.Window != nil {
		path(&s.Window.File)
	}
	if s.Nodes != nil {
		path(&s.Nodes.File)
	}
	path(&s.Jobs.Trace)
	for _, site := range s.Sites {
		for _, q := range signalQuantities {
			for _, series := range []*seriesSpec{site.Signals[q], site.Forecasts[q]} {
				if series != nil {
					path(&series.File)
				}
			}
		}
	}
	return s
}

// maxFileBytes bounds an input file, in bytes before unpacking.
const maxFileBytes = 256 << 20

// openFile reads a whole file into memory, so that a concurrent change of the file cannot
// mix two versions.
func openFile(path string) (io.Reader, error) {
	text, err := readFileLimited(path, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("spec: %s: no such file: put it there, or name the data folder (--data DIR, `data` under `simulate`, or GRIDBID_DATA); docs/recorded-days.md says where public data is, and `gridbid scenario join` makes a window of it", path)
	}
	return bytes.NewReader(text), err
}

// readFileLimited reads a file of at most most bytes.
func readFileLimited(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("spec: %w", err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("spec: %s: over %d bytes: shorten the file", path, most)
	}
	return text, nil
}
