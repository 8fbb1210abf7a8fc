package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// A listedJobSpec is a job that a scenario lists: what a job file says, when it is submitted,
// and what becomes of its program.
type listedJobSpec struct {
	At           string `yaml:"at"`
	FailsAfter   string `yaml:"fails_after"`
	jobfile.Spec `yaml:",inline"`
}

// MeteredAfterEnd is for how long after the last arrival a scenario is played at least, so that
// policies that defer jobs are charged for as many idle hours as the others.
const MeteredAfterEnd = 48 * time.Hour

// spanAt returns the instant that lies a span of time after the scenario's start, for a key of
// the file. It must not lie after the time that is played for sure.
func (out *Scenario) spanAt(at faultLocator, span string) (protocol.Time, error) {
	d, err := time.ParseDuration(span)
	if most := out.End.Add(MeteredAfterEnd).Sub(out.Start); err != nil || d > most {
		return 0, at("is %q: want a time after start of at most %v, which is %v after end", span, most, MeteredAfterEnd)
	}
	return out.Start.Add(d), nil
}

// addListedJobs adds the jobs that a scenario lists, by arrival and id.
func (out *Scenario) addListedJobs(s scenarioSpec) error {
	line := make(map[protocol.JobID]int, len(s.Jobs.List))
	for i, x := range s.Jobs.List {
		at := func(key string) faultLocator {
			if key == "" {
				return s.where("jobs", "list", i)
			}
			path := []any{"jobs", "list", i}
			for part := range strings.SplitSeq(key, "/") {
				path = append(path, part)
			}
			return s.where(path...)
		}
		arrival := out.Start
		if x.At != "" {
			var err error
			if arrival, err = out.spanAt(at("at"), x.At); err != nil {
				return err
			}
			if arrival >= out.End {
				return at("at")("is %q: want it before end, %v after start", x.At, out.End.Sub(out.Start))
			}
		}
		j, err := x.JobAt(arrival, func(key, format string, args ...any) error { return at(key)(format, args...) })
		if err != nil {
			return err
		}
		if k, dup := line[j.ID]; dup {
			return at("id")("is %q, as that of job %d of the list: give each job an id of its own", j.ID, k+1)
		}
		for _, x := range x.ModelNames() {
			if _, known := power.DefaultTable().LookupModel(x.Model); !known {
				return at(x.Key)("%s", unknownModelReason(x.Model))
			}
		}
		if x.FailsAfter != "" {
			d, err := time.ParseDuration(x.FailsAfter)
			if err != nil || d <= 0 {
				return at("fails_after")("is %q: want a time of its run above 0", x.FailsAfter)
			}
			if out.FailsAfter == nil {
				out.FailsAfter = make(map[protocol.JobID]time.Duration)
			}
			out.FailsAfter[j.ID] = d
			for _, p := range j.PartJobs() {
				out.FailsAfter[p.ID] = d
			}
		}
		line[j.ID] = i
		out.Jobs = append(out.Jobs, j)
	}
	slices.SortFunc(out.Jobs, compareArrivals)
	return nil
}

// checkNames checks the names of sites and nodes that jobs, events and expectations of a file use. Nil
// nodes are not known yet.
func (s scenarioSpec) checkNames(sites, nodes []string) error {
	for i, x := range s.Jobs.List {
		if err := s.checkName("site", x.Home, sites, "jobs", "list", i, "home"); err != nil {
			return err
		}
		for k, name := range x.Regions {
			if err := s.checkName("site", name, sites, "jobs", "list", i, "regions", k); err != nil {
				return err
			}
		}
	}
	if err := s.checkServiceNames(sites); err != nil {
		return err
	}
	for i, e := range s.Events {
		for _, kind := range eventKinds {
			known, what := sites, "site"
			switch kind {
			case NodeDown:
				known, what = nodes, "node"
			case CancelJob:
				known, what = s.listedIDs(), "job"
			case ScaleService, RebalanceService, DeleteService:
				known, what = s.serviceIDs(), "service"
			}
			if err := s.checkName(what, e.nameOf(kind), known, "events", i, kind); err != nil {
				return err
			}
		}
	}
	for i, e := range s.Expect {
		for _, name := range e.names() {
			known := map[string][]string{"site": sites, "node": nodes, "job": append(s.listedIDs(), s.partIDs()...), "service": s.serviceIDs()}[name.what]
			if err := s.checkName(name.what, name.text, known, append([]any{"expect", i}, name.path...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName checks that a name is among the known ones; an empty name is not given, and of nil
// names nothing is known.
func (s scenarioSpec) checkName(what, name string, known []string, path ...any) error {
	if name == "" || known == nil || slices.Contains(known, name) {
		return nil
	}
	return s.where(path...)("unknown %s %q%s", what, name, nearest.WhatThereIs(name, known))
}

// listedIDs returns the ids of the jobs that the file lists.
func (s scenarioSpec) listedIDs() []string {
	ids := []string{} // none is known, and not unknown
	for _, x := range s.Jobs.List {
		ids = append(ids, x.ID)
	}
	return ids
}

// partIDs returns the ids of the parts of the jobs that the file lists.
func (s scenarioSpec) partIDs() (ids []string) {
	for _, x := range s.Jobs.List {
		for k := range x.Sites.Parts {
			ids = append(ids, fmt.Sprintf("%s.%d", x.ID, k+1))
		}
		for _, c := range x.Components {
			if c.Part != "" {
				ids = append(ids, x.ID+"."+c.Part)
			}
		}
	}
	return ids
}

// siteNames returns the names of all sites, and those of all nodes.
func (out *Scenario) siteNames() (sites, nodes []string) {
	for _, site := range out.Sites {
		sites = append(sites, site.Name)
		for _, n := range site.Nodes {
			nodes = append(nodes, n.Name)
		}
	}
	return sites, nodes
}

// inlineNames returns what siteNames will, as far as the file itself says it: nil where a window or
// a list of nodes does.
func (s scenarioSpec) inlineNames() (sites, nodes []string) {
	var out Scenario
	for i, site := range s.Sites {
		sites = append(sites, site.Name)
		out.Sites = append(out.Sites, Site{Name: site.Name})
		for k, r := range site.Fleet {
			out.addInlineNodes(i, k, r, nil)
		}
	}
	_, nodes = out.siteNames()
	if slices.ContainsFunc(s.Sites, func(site siteSpec) bool { return len(site.Fleet) == 0 }) {
		nodes = nil
	}
	return sites, nodes
}
