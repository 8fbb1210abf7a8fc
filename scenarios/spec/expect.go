package spec

import (
	"maps"
	"slices"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// An Expectation is what a scenario's author expects of its run. One kind of it is set, which
// is a non-nil field; package acceptance judges it by the run's history.
type Expectation struct {
	Line int              `json:"-"`          // of the file
	Jobs []protocol.JobID `json:",omitempty"` // whom it concerns; each must meet Placed, Waits, Refused, Ends and Starts

	Placed  *Placement    `json:",omitempty"`
	Waits   *Wait         `json:",omitempty"`
	Refused *Refusal      `json:",omitempty"`
	Ends    *Ending       `json:",omitempty"`
	Starts  *int          `json:",omitempty"` // how often it starts in all
	Running *RunningCount `json:",omitempty"`
	Nodes   *int          `json:",omitempty"` // how many nodes the first starts of Jobs are on in all
	Never   []Presence    `json:",omitempty"` // at no instant all of these

	Service protocol.ServiceID `json:",omitempty"` // whom Divided concerns
	Divided *ServiceDivision   `json:",omitempty"`
}

// A Placement is one start of a job, and where it is. A zero field expects nothing.
type Placement struct {
	Nth               int // which of its starts, from 1
	Site, Node, Model string
	Pods              int
	By                protocol.Time
}

// A Wait is a time in which a job waits: it does not run and is not over.
type Wait struct {
	From, Until protocol.Time // From 0: from its arrival on
	Why         protocol.Code // just before Until; "": any reason
}

// A Refusal is that the market will not run a job.
type Refusal struct {
	Why protocol.Code // "": any reason
	By  protocol.Time // 0: at any time
}

// An Ending is the final state of a job that the market took.
type Ending struct {
	As string        // done, failed or cancelled
	By protocol.Time // 0: at any time
}

// A RunningCount is how many of some jobs run at an instant.
type RunningCount struct {
	At    protocol.Time
	Count int
	Site  string // "": at all sites
}

// A Presence is that a job runs; at a site or on a node if these are given.
type Presence struct {
	Job  protocol.JobID `yaml:"job"`
	Site string         `yaml:"site"`
	Node string         `yaml:"node"`
}

// An expectSpec is an expectation of a file.
type expectSpec struct {
	Job     string       `yaml:"job"`
	Jobs    []string     `yaml:"jobs"`
	Placed  *placedSpec  `yaml:"placed"`
	Waits   *waitsSpec   `yaml:"waits"`
	Refused *refusedSpec `yaml:"refused"`
	Ends    *endsSpec    `yaml:"ends"`
	Starts  *int         `yaml:"starts"`
	Running *runningSpec `yaml:"running"`
	Nodes   *int         `yaml:"nodes"`
	Never   []Presence   `yaml:"never"`
	Service string       `yaml:"service"`
	Divided *dividedSpec `yaml:"divided"`
}

type placedSpec struct {
	Nth   int    `yaml:"nth"`
	Site  string `yaml:"site"`
	Node  string `yaml:"node"`
	Model string `yaml:"model"`
	Pods  int    `yaml:"pods"`
	By    string `yaml:"by"`
}

type waitsSpec struct {
	From  string        `yaml:"from"`
	Until string        `yaml:"until"`
	Why   protocol.Code `yaml:"why"`
}

type refusedSpec struct {
	Why protocol.Code `yaml:"why"`
	By  string        `yaml:"by"`
}

type endsSpec struct {
	As string `yaml:"as"`
	By string `yaml:"by"`
}

type runningSpec struct {
	At    string `yaml:"at"`
	Count int    `yaml:"count"`
	Site  string `yaml:"site"`
}

// expectKinds are the keys of an expectation that say what is expected.
var expectKinds = []string{"placed", "waits", "refused", "ends", "starts", "running", "nodes", "never", "divided"}

// kinds returns the keys of expectKinds that an expectation has.
func (e expectSpec) kinds() (has []string) {
	for i, given := range []bool{e.Placed != nil, e.Waits != nil, e.Refused != nil, e.Ends != nil, e.Starts != nil, e.Running != nil, e.Nodes != nil, e.Never != nil, e.Divided != nil} {
		if given {
			has = append(has, expectKinds[i])
		}
	}
	return has
}

// A usedName is a name that a file uses, and where below its expectation.
type usedName struct {
	what, text string
	path       []any
}

// names returns the names of jobs, sites and nodes that an expectation uses.
func (e expectSpec) names() (all []usedName) {
	all = append(all, usedName{"job", e.Job, []any{"job"}})
	for k, id := range e.Jobs {
		all = append(all, usedName{"job", id, []any{"jobs", k}})
	}
	if p := e.Placed; p != nil {
		all = append(all, usedName{"site", p.Site, []any{"placed", "site"}}, usedName{"node", p.Node, []any{"placed", "node"}})
	}
	if r := e.Running; r != nil {
		all = append(all, usedName{"site", r.Site, []any{"running", "site"}})
	}
	all = append(all, usedName{"service", e.Service, []any{"service"}})
	if d := e.Divided; d != nil {
		for _, site := range slices.Sorted(maps.Keys(d.Sites)) {
			all = append(all, usedName{"site", site, []any{"divided", "sites", site}})
		}
	}
	for k, p := range e.Never {
		all = append(all, usedName{"job", string(p.Job), []any{"never", k, "job"}},
			usedName{"site", p.Site, []any{"never", k, "site"}}, usedName{"node", p.Node, []any{"never", k, "node"}})
	}
	return all
}

// addExpectations adds the expectations of a file.
func (out *Scenario) addExpectations(s scenarioSpec) error {
	for i, x := range s.Expect {
		at := func(path ...any) faultLocator { return s.where(append([]any{"expect", i}, path...)...) }
		e, err := out.readExpectation(x, at)
		if err != nil {
			return err
		}
		e.Line = s.lineOf("expect", i)
		out.Expect = append(out.Expect, e)
	}
	return nil
}

// readExpectation converts one expectation; at locates a key below it.
func (out *Scenario) readExpectation(x expectSpec, at func(...any) faultLocator) (e Expectation, err error) {
	switch kinds := x.kinds(); {
	case len(kinds) == 0:
		return e, at()("says not what is expected: add one of %s", joinKinds(expectKinds))
	case len(kinds) > 1:
		return e, at()("has both %s and %s: write one expectation for each", kinds[0], kinds[1])
	case x.Never != nil && (x.Job != "" || x.Jobs != nil):
		return e, at("never")("names its jobs itself: drop job and jobs")
	case (x.Divided == nil) != (x.Service == ""):
		return e, at()("want service together with divided, and nowhere else")
	case x.Divided != nil && (x.Job != "" || x.Jobs != nil):
		return e, at()("is of a service: drop job and jobs")
	case x.Never == nil && x.Divided == nil && (x.Job == "") == (x.Jobs == nil):
		return e, at()("want either job, or jobs for several")
	}
	for _, id := range x.Jobs {
		e.Jobs = append(e.Jobs, protocol.JobID(id))
	}
	if x.Job != "" {
		e.Jobs = []protocol.JobID{protocol.JobID(x.Job)}
	}
	e.Starts, e.Nodes, e.Never = x.Starts, x.Nodes, x.Never
	instant := func(span string, path ...any) (t protocol.Time) {
		if span != "" && err == nil {
			t, err = out.spanAt(at(path...), span)
		}
		return t
	}
	if p := x.Placed; p != nil {
		if _, known := power.DefaultTable().LookupModel(p.Model); !known && p.Model != "" {
			return e, at("placed", "model")("%s", unknownModelReason(p.Model))
		}
		e.Placed = &Placement{Nth: max(p.Nth, 1), Site: p.Site, Node: p.Node, Model: p.Model, Pods: p.Pods, By: instant(p.By, "placed", "by")}
	}
	if w := x.Waits; w != nil {
		e.Waits = &Wait{From: instant(w.From, "waits", "from"), Until: instant(w.Until, "waits", "until"), Why: w.Why}
		if err == nil && e.Waits.Until <= e.Waits.From {
			return e, at("waits", "until")("is %q: want it after from", w.Until)
		}
		for _, id := range e.Jobs {
			if j, ok := out.findJob(id); ok && err == nil && e.Waits.Until <= j.Arrival {
				return e, at("waits", "until")("is %q: %s arrives only %v after start", w.Until, id, j.Arrival.Sub(out.Start))
			}
		}
	}
	if r := x.Refused; r != nil {
		e.Refused = &Refusal{Why: r.Why, By: instant(r.By, "refused", "by")}
	}
	if n := x.Ends; n != nil {
		e.Ends = &Ending{As: n.As, By: instant(n.By, "ends", "by")}
		if e.Ends.As == "" {
			e.Ends.As = "done"
		}
	}
	if r := x.Running; r != nil {
		e.Running = &RunningCount{At: instant(r.At, "running", "at"), Count: r.Count, Site: r.Site}
		if r.Count > len(e.Jobs) {
			return e, at("running", "count")("is %d of %d jobs: want at most all of them", r.Count, len(e.Jobs))
		}
	}
	if d := x.Divided; d != nil {
		e.Service, e.Divided = protocol.ServiceID(x.Service), d.division(instant(d.At, "divided", "at"))
	}
	return e, err
}

// findJob returns a job of the scenario.
func (out *Scenario) findJob(id protocol.JobID) (protocol.Job, bool) {
	for _, j := range out.Jobs {
		if j.ID == id {
			return j, true
		}
	}
	return protocol.Job{}, false
}
