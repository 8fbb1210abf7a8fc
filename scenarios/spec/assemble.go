package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

const oneDay = 24 * time.Hour

// maxDays is the longest period, in days, in which jobs may arrive.
const maxDays = 31

// assembleScenario reads the files that a spec names and builds the scenario.
func (l fileLibrary) assembleScenario(s scenarioSpec, o Options) (Scenario, error) {
	if err := o.validateOptions(s); err != nil {
		return Scenario{}, fmt.Errorf("spec: %v", err)
	}
	s = o.overrideSpec(s)
	out := Scenario{Name: s.Name, About: s.About, Seed: 1, Policies: s.Policies, Weights: weightsOf(s.Weights)}
	if s.Carbon == ByMarginal {
		out.Carbon = ByMarginal
	}
	if s.Seed != nil {
		out.Seed = *s.Seed
	}
	// The period may depend on the window, and signals on the period.
	g := gridLoader{s: s}
	if err := g.readWindow(); err != nil {
		return Scenario{}, err
	}
	if err := out.setTimeRange(s, g.zones); err != nil {
		return Scenario{}, err
	}
	if err := g.addSites(&out); err != nil {
		return Scenario{}, err
	}
	if o.GridsOnly {
		return out.validateAndHash()
	}
	resident, err := out.buildJobs(s)
	if err != nil {
		return Scenario{}, err
	}
	if s.Jobs.Gangs != nil {
		out.growGangs(*s.Jobs.Gangs)
	}
	if s.Jobs.Elastic != nil {
		out.makeElastic(*s.Jobs.Elastic)
	}
	if err := out.buildFleets(s); err != nil {
		return Scenario{}, err
	}
	if err := out.addQuotas(s); err != nil {
		return Scenario{}, err
	}
	if err := out.addServices(s); err != nil {
		return Scenario{}, err
	}
	if err := out.addClasses(s); err != nil {
		return Scenario{}, err
	}
	if err := out.addEvents(s); err != nil {
		return Scenario{}, err
	}
	if err := out.addExpectations(s); err != nil {
		return Scenario{}, err
	}
	if err := s.checkNames(out.siteNames()); err != nil {
		return Scenario{}, err
	}
	// Jobs are drawn before fleets are sized by them; now lift limits that no node can
	// meet.
	out.liftUnmeetableLimits(s.Jobs.Count > 0, resident)
	out.noteGangsThatFitNowhere()
	if busy := out.GPULoad(); busy > 0 {
		out.addNote("the jobs would keep %.0f %% of the fleets' GPU-hours between start and end busy, at the fleets' mean speed", 100*busy)
	}
	return out.validateAndHash()
}

// addQuotas adds the quota tree. What it guarantees together must not be more than the fleets have.
func (out *Scenario) addQuotas(s scenarioSpec) (err error) {
	var fault quota.Fault
	if out.Quotas, err = quota.QuotasOf(s.Quotas); errors.As(err, &fault) {
		path := []any{"quotas", fault.Index}
		if fault.Field != "" {
			for key := range strings.SplitSeq(fault.Field, "/") {
				path = append(path, key)
			}
		}
		return s.where(path...)("%s", fault.Problem)
	}
	var gpus protocol.Milli
	of := make(map[string]protocol.Milli) // by model
	for _, site := range out.Sites {
		for _, n := range site.Nodes {
			gpus, of[n.Model] = gpus+protocol.Milli(n.GPUs)*1000, of[n.Model]+protocol.Milli(n.GPUs)*1000
		}
	}
	tree, err := quota.NewTree(out.Quotas)
	if err != nil {
		return err
	}
	if problem := tree.LacksCapacity(gpus, of); problem != "" {
		return s.where("quotas")("guarantees %s: lower the min of some", problem)
	}
	return nil
}

// addClasses adds the priority classes. The listed jobs name no other.
func (out *Scenario) addClasses(s scenarioSpec) error {
	if i, key, problem := protocol.InvalidPriorityClass(s.Classes); problem != "" {
		return s.where("priority_classes", i, key)("%s", problem)
	}
	out.Classes = s.Classes
	var known []string
	for _, c := range s.Classes {
		known = append(known, c.Name)
	}
	for i, x := range s.Jobs.List {
		if x.PriorityClass != "" && !slices.Contains(known, x.PriorityClass) {
			return s.where("jobs", "list", i, "priority_class")("unknown priority class %q%s", x.PriorityClass, nearest.WhatThereIs(x.PriorityClass, known))
		}
	}
	return nil
}

// weightsOf returns the weights that a spec sets. Kappa is per tonne, protocol.Weights counts carbon
// per kilogram.
func weightsOf(s protocol.WeightSettings) Weights {
	w := s.Weights()
	return Weights{
		Kappa:   protocol.DollarsToMicrodollars(s.Kappa, 1000*w.Carbon),
		WaitNow: w.WaitNow, WaitStandard: w.WaitStandard, WaitFlexible: w.WaitFlexible,
		WaitLimit: w.WaitLimit, WaitLimitRuns: w.WaitLimitRuns,
		Late: w.Late, LateMost: w.LateMost,
	}
}

// setTimeRange sets Start and End as the spec says, or to the middle day of the window. Of
// two days it takes the second: forecasts need a day before Start.
func (out *Scenario) setTimeRange(s scenarioSpec, zones []trace.ZoneSignals) error {
	if s.Start != "" {
		at, err := time.Parse(time.RFC3339, s.Start)
		if err != nil {
			return s.where("start")("is %q: want an existing date", s.Start)
		}
		out.Start = protocol.FromStdTime(at)
	} else {
		first := zones[0].Price[0].At.Ceil(oneDay)
		end := zones[0].Price[len(zones[0].Price)-1].At.Add(time.Hour)
		days := int(end.Sub(first) / oneDay)
		if days < 2 {
			return s.where("window")("%s has %d whole days (UTC): want two at least, one of them before the jobs arrive", s.Window.File, days)
		}
		out.Start = first.Add(time.Duration(days/2) * oneDay)
	}
	out.End = out.Start.Add(oneDay)
	if s.End != "" {
		at, err := time.Parse(time.RFC3339, s.End)
		if err != nil {
			return s.where("end")("is %q: want an existing date", s.End)
		}
		out.End = protocol.FromStdTime(at)
	}
	if out.Start < protocol.Time(oneDay.Milliseconds()) { // forecasts need the day before it, and times before 1970 are negative
		return s.where("start")("is %v: want 1970-01-02 or later", out.Start)
	}
	if out.End <= out.Start || out.End.Sub(out.Start) > maxDays*oneDay {
		return s.where("end")("is %v with start %v: want it after start, by at most %d days", out.End, out.Start, maxDays)
	}
	return nil
}

// buildJobs builds the jobs: synthetic ones, those that the file lists, or those of a trace. It returns the
// ones whose regions are given and not drawn.
func (out *Scenario) buildJobs(s scenarioSpec) (resident map[protocol.JobID]bool, err error) {
	if s.Jobs.List != nil || s.hasNoJobs() {
		if err := out.addListedJobs(s); err != nil {
			return nil, err
		}
		resident = make(map[protocol.JobID]bool, len(out.Jobs))
		for _, j := range out.Jobs {
			resident[j.ID] = true
		}
		return resident, nil
	}
	habits := s.Jobs.traitRates()
	for _, site := range out.Sites {
		habits.Sites = append(habits.Sites, site.Name)
	}
	if s.Jobs.Count > 0 {
		mix := generate.WorkloadMix{Count: s.Jobs.Count * s.Jobs.poolSize(), TraitRates: habits}
		out.Jobs = mix.GenerateJobs(out.Seed, out.Start, out.End)
		if s.Jobs.draw > 0 {
			jobs, err := drawStratified(out.Jobs, s.Jobs.Count, s.Jobs.draw, out.Seed, func(j protocol.Job) protocol.Job { return j })
			if err != nil {
				return nil, fmt.Errorf("spec: %w", err)
			}
			out.addNote("%s", s.Jobs.drawNote(len(out.Jobs)))
			out.Jobs = jobs
			slices.SortFunc(out.Jobs, compareArrivals)
		}
		out.addNote("%d jobs are invented (docs/scenarios.md says like what)", s.Jobs.Count)
		return nil, nil
	}
	return out.buildTraceJobs(s, habits)
}

// compareArrivals orders jobs by arrival, then id.
func compareArrivals(a, b protocol.Job) int {
	return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
}

// traitRates returns the trait rates of the spec, in thousandths; absent ones have their
// defaults.
func (j jobsSpec) traitRates() generate.TraitRates {
	of := func(v *float64, usual protocol.Milli) protocol.Milli {
		if v == nil {
			return usual
		}
		return protocol.Milli(math.Round(1000 * *v))
	}
	return generate.TraitRates{
		Deferrable: of(j.Deferrable, generate.DefaultDeferrable),
		Flexible:   of(j.Flexible, 0),
		Resident:   of(j.Resident, generate.DefaultResident),
		Input:      of(j.Input, generate.DefaultInput),
		Pausable:   of(j.Pausable, 0),
	}
}

// addNote adds a note. Notes enter the scenario's hash: a changed text changes the hash.
func (out *Scenario) addNote(format string, args ...any) {
	out.Notes = append(out.Notes, fmt.Sprintf(format, args...))
}

// liftUnmeetableLimits lifts randomly drawn limits that no node can meet: a job restricted to a
// home without a fitting node may run anywhere, and a synthetic job whose models come
// only in too small nodes takes any model. Requirements from a trace stay as they
// are: resident jobs have their regions from it.
func (out *Scenario) liftUnmeetableLimits(invented bool, resident map[protocol.JobID]bool) {
	lifted := 0
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if len(j.Regions) > 0 && !resident[j.ID] && !out.SomeSiteFits(*j) {
			j.Regions = nil
			lifted++
		}
		if invented && !out.SomeSiteFits(*j) {
			j.Models = nil
			lifted++
		}
	}
	if lifted > 0 {
		out.addNote("%d drawn limits of region or model were lifted, because no node could have kept them", lifted)
	}
}

// GPULoad returns the fraction of the fleets' GPU-hours between Start and End that the jobs ask
// for, at the fleets' own speeds: 0.65 is 65 %; 0 without GPUs. Report it beside savings: deferral
// needs free capacity.
func (out *Scenario) GPULoad() float64 {
	var fast float64
	for _, site := range out.Sites {
		for _, n := range site.Nodes {
			fast += float64(n.GPUs) * relativeSpeed(n.Model)
		}
	}
	if fast == 0 {
		return 0
	}
	return totalGPUHours(out.Jobs) / (fast * out.End.Sub(out.Start).Hours())
}

// totalGPUHours returns the sum of GPUs times run time, at the reference clock.
func totalGPUHours(jobs []protocol.Job) float64 {
	var sum float64
	for _, j := range jobs {
		sum += float64(j.TotalGPUMilli()) / 1000 * j.Run.Hours()
	}
	return sum
}

// totalCoreHours returns the sum of cores times run time.
func totalCoreHours(jobs []protocol.Job) float64 {
	var sum float64
	for _, j := range jobs {
		sum += float64(j.CPU) / 1000 * j.Run.Hours()
	}
	return sum
}

// relativeSpeed returns a model's speed relative to a V100; unknown models count as a V100.
func relativeSpeed(model string) float64 {
	if g, ok := power.DefaultTable().LookupModel(model); ok {
		return float64(g.Speed) / 1000
	}
	return 1
}

// validateAndHash validates the jobs and sets Hash.
func (out Scenario) validateAndHash() (Scenario, error) {
	for _, j := range out.Jobs {
		if why := j.InvalidReason(); why != "" {
			return Scenario{}, fmt.Errorf("spec: job %s: %s", j.ID, why)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return Scenario{}, fmt.Errorf("spec: %w", err)
	}
	sum := sha256.Sum256(text)
	out.Hash = hex.EncodeToString(sum[:])
	return out, nil
}

// identifierSlug converts an external name to an identifier of lower-case letters, digits and
// hyphens, at most 63 bytes.
func identifierSlug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			r = '-'
		}
		b.WriteRune(r)
	}
	return strings.Trim(b.String()[:min(b.Len(), 63)], "-")
}
