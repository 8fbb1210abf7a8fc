package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// buildTraceJobs builds the jobs of a trace. What the trace does not say of a job is drawn.
// It returns the jobs whose regions are the trace's.
func (out *Scenario) buildTraceJobs(s scenarioSpec, habits generate.TraitRates) (resident map[protocol.JobID]bool, err error) {
	r, err := openFile(s.Jobs.Trace)
	if err != nil {
		return nil, err
	}
	// From -1 selects the dense part of the trace.
	take := trace.Selection{From: -1, Max: s.Jobs.traceJobs(), OneNode: s.Jobs.OneNode, SkipBad: s.Jobs.skipBad}
	if s.Jobs.From != nil {
		take.From = time.Duration(*s.Jobs.From) * time.Second
	}
	h, err := trace.ReadJobs(r, s.Jobs.Trace, take, s.Jobs.Columns)
	if err != nil {
		return nil, err
	}
	period := out.End.Sub(out.Start)
	kept, err := s.Jobs.selectRecords(h.Records, out.Seed)
	if err != nil {
		return nil, fmt.Errorf("spec: %s: %w", s.Jobs.Trace, err)
	}
	// Jobs whose dates are in the period keep them.
	sinceStart := protocol.FromStdTime(h.Day).Sub(out.Start)
	ownDates := !h.Day.IsZero() && sinceStart >= 0 && sinceStart < period
	if !ownDates {
		sinceStart = 0
	}
	resident = make(map[protocol.JobID]bool)
	for _, rec := range kept {
		if err := checkGivenSites(s.Jobs.Trace, rec, habits.Sites); err != nil {
			return nil, err
		}
		if rec.Given.Regions {
			resident[rec.Job.ID] = true
		}
		// Wrapping by the period keeps the time of day if the period is whole days.
		rec.Job.Arrival = out.Start.Add((sinceStart + rec.Submit) % period)
		rec.Job.Models = catalogueNames(rec.Job.Models)
		out.Jobs = append(out.Jobs, drawMissingTraits(habits, out.Seed, rec))
	}
	slices.SortFunc(out.Jobs, compareArrivals)
	last := h.Records[len(h.Records)-1].Submit - h.From
	out.addNote("%d jobs of %s, submitted within %.1f h from second %.0f on; arrivals keep their time of day", len(h.Records), h.Source, last.Hours(), h.From.Seconds())
	switch {
	case s.Jobs.draw > 0:
		out.addNote("%d of these jobs are replayed: %s", len(kept), s.Jobs.drawNote(len(h.Records)))
	case len(kept) < len(h.Records):
		out.addNote("%d of these jobs are replayed, evenly spaced in their order of submission", len(kept))
	}
	if !h.Day.IsZero() && !ownDates {
		out.addNote("these jobs were submitted from %s on, outside of the period, and meet its prices and carbon", h.Day.Format(time.DateOnly))
	}
	for _, n := range h.Notes {
		out.addNote("jobs: %s", n)
	}
	out.noteTraits(kept, habits)
	return resident, nil
}

// drawMissingTraits draws the traits of a job that its trace does not give, and keeps the others.
func drawMissingTraits(habits generate.TraitRates, seed uint64, rec trace.TraceJob) protocol.Job {
	given, was := rec.Given, rec.Job
	if was.Pause > 0 && !given.Urgency { // a job that can be paused may wait
		given.Urgency, was.Urgency = true, protocol.UrgencyStandard
	}
	j := habits.AssignTraits(seed, was, generate.Given{Home: given.Home, Urgency: given.Urgency})
	if given.Deadline {
		j.Deadline = j.Arrival.Add(rec.Within)
	}
	if given.Regions {
		j.Regions = was.Regions
	}
	if given.Input {
		j.Input = was.Input
	}
	if given.Pause {
		j.Pause, j.State = was.Pause, was.State
	}
	return j
}

// checkGivenSites checks that the home and the regions that a trace gives are sites.
func checkGivenSites(file string, rec trace.TraceJob, sites []string) error {
	names, column := rec.Job.Regions, "regions"
	if rec.Given.Home && !slices.Contains(sites, rec.Job.Home) {
		names, column = []string{rec.Job.Home}, "home"
	}
	for _, name := range names {
		if !slices.Contains(sites, name) {
			return fmt.Errorf("spec: %s:%d: %s is %q, and no site is called that: want one of %s, or draw it with --jobs-columns %s=",
				file, rec.Line, column, name, strings.Join(sites, ", "), column)
		}
	}
	return nil
}

// catalogueNames returns models by the names that fleets have for them: a trace may write a100 for
// A100. Other names stay, and no node fits them.
func catalogueNames(models []string) []string {
	for i, m := range models {
		for _, known := range power.DefaultTable().ModelNames() {
			if strings.EqualFold(m, known) {
				models[i] = known
			}
		}
	}
	return models
}

// noteTraits notes which traits of the jobs the trace gives, which are drawn, and which no job has that
// does not state them: those are never drawn.
func (out *Scenario) noteTraits(jobs []trace.TraceJob, habits generate.TraitRates) {
	out.noteStated(jobs)
	rates := fmt.Sprintf("%.0f %% may wait, %.0f %% of them flexible, %.0f %% resident, %.0f %% with input",
		float64(habits.Deferrable)/10, float64(habits.Flexible)/10, float64(habits.Resident)/10, float64(habits.Input)/10)
	var given []string
	some := false
	for _, trait := range []struct {
		name string
		has  func(trace.Given) bool
	}{
		{"homes", func(g trace.Given) bool { return g.Home }},
		{"deadlines", func(g trace.Given) bool { return g.Deadline }},
		{"urgency", func(g trace.Given) bool { return g.Urgency }},
		{"regions", func(g trace.Given) bool { return g.Regions }},
		{"input data", func(g trace.Given) bool { return g.Input }},
		{"pauses", func(g trace.Given) bool { return g.Pause }},
	} {
		n := 0
		for _, j := range jobs {
			if trait.has(j.Given) {
				n++
			}
		}
		some = some || n > 0
		given = append(given, fmt.Sprintf("%s of %d", trait.name, n))
	}
	if !some {
		out.addNote("homes, deadlines, urgency, regions, input data and pauses are drawn by seed and job, as the trace has none: %s", rates)
		return
	}
	out.addNote("taken from the trace, of %d jobs: %s; those of the others are drawn by seed and job: %s", len(jobs), strings.Join(given, ", "), rates)
}

// noteStated notes of how many jobs the trace gives a tenant, models and a priority.
func (out *Scenario) noteStated(jobs []trace.TraceJob) {
	tenants, models, priorities := 0, 0, 0
	for _, j := range jobs {
		if j.Job.Tenant != "" {
			tenants++
		}
		if len(j.Job.Models) > 0 {
			models++
		}
		if j.Job.Priority != 0 {
			priorities++
		}
	}
	out.addNote("taken from the trace, of %d jobs: tenants of %d, GPU models of %d, a priority other than 0 of %d; none of these is drawn: the others have no tenant, run on any model and have priority 0",
		len(jobs), tenants, models, priorities)
}
