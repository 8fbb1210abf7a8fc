// Package acceptance judges a run by what the scenario's author expected of it. Its folder holds
// the cases that every change of the market must pass, as scenario files: docs/acceptance.md
// explains them, and the test of this package plays each.
//
// All facts are those of the run's history. Package scenarios/spec reads the files, and package
// scenarios plays them.
package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A Verdict is what became of one expectation, of one job where several were to meet it.
type Verdict struct {
	Line     int            // of the scenario's file
	Job      protocol.JobID // or service, that explains it; of several the first
	Expected string         // in words
	Got      string         // what happened instead; "" if the expectation holds
}

// Holds reports whether the expectation was met.
func (v Verdict) Holds() bool { return v.Got == "" }

// Judge judges a run by the expectations of its scenario, in their order. Apart is how far two instants of the run
// may lie from each other that would be one if messages took no time; 0 of a replay.
func Judge(s spec.Scenario, h *history.History, apart time.Duration) (all []Verdict) {
	j := judge{s, h, apart}
	for _, e := range s.Expect {
		all = append(all, j.judgeExpectation(e)...)
	}
	return all
}

// A judge knows a scenario and the history of its run.
type judge struct {
	scenario spec.Scenario
	history  *history.History
	apart    time.Duration
}

// judgeExpectation judges one expectation: for each of its jobs, or once.
func (j judge) judgeExpectation(e spec.Expectation) (all []Verdict) {
	one := func(job protocol.JobID, expected, got string) {
		all = append(all, Verdict{Line: e.Line, Job: job, Expected: expected, Got: got})
	}
	switch {
	case e.Running != nil:
		expected, got := j.running(e.Jobs, *e.Running)
		one(e.Jobs[0], expected, got)
		return all
	case e.Nodes != nil:
		expected, got := j.nodes(e.Jobs, *e.Nodes)
		one(e.Jobs[0], expected, got)
		return all
	case e.Never != nil:
		expected, got := j.never(e.Never)
		one(e.Never[0].Job, expected, got)
		return all
	case e.Divided != nil:
		expected, got := j.divided(e.Service, *e.Divided)
		one(protocol.JobID(e.Service), expected, got)
		return all
	}
	for _, id := range e.Jobs {
		r, submitted := j.history.LatestJob(id)
		var expected, got string
		switch {
		case e.Placed != nil:
			expected, got = j.placed(&r, *e.Placed)
		case e.Waits != nil:
			expected, got = j.waits(&r, *e.Waits)
		case e.Refused != nil:
			expected, got = j.refused(&r, *e.Refused)
		case e.Ends != nil:
			expected, got = j.ends(&r, *e.Ends)
		case e.Starts != nil:
			expected, got = j.starts(&r, *e.Starts)
		}
		if !submitted {
			got = "it was not submitted"
		}
		one(id, fmt.Sprintf("%s %s", id, expected), got)
	}
	return all
}

// after says an instant as the scenario's file does: the time since its start.
func (j judge) after(t protocol.Time) string {
	text := t.Sub(j.scenario.Start).Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// by says that something is to be by an instant, if one is given.
func (j judge) by(t protocol.Time) string {
	if t == 0 {
		return ""
	}
	return " by " + j.after(t)
}

// tooLate says that something was after an instant, if one is given and it was.
func (j judge) tooLate(what string, at, by protocol.Time) string {
	if by == 0 || at <= by {
		return ""
	}
	return fmt.Sprintf("%s at %s", what, j.after(at))
}

// state says how a job stands in the end.
func (j judge) state(r *history.JobRecord) history.JobState {
	return j.history.JobStateNow(r, j.history.Coverage().Last)
}

// placed judges one start of a job.
func (j judge) placed(r *history.JobRecord, p spec.Placement) (expected, got string) {
	expected = "starts"
	if p.Nth > 1 {
		expected = fmt.Sprintf("starts for the %s time", ordinal(p.Nth))
	}
	if p.Site != "" {
		expected += " at " + p.Site
	}
	if p.Node != "" {
		expected += " on node " + p.Node
	}
	if p.Model != "" {
		expected += " on " + p.Model
	}
	if p.Pods != 0 {
		expected += fmt.Sprintf(" with %d pods", p.Pods)
	}
	expected += j.by(p.By)
	all := startsOf(r)
	if len(all) < p.Nth {
		return expected, j.timesStarted(all) + "; it is " + string(j.state(r).State)
	}
	s := all[p.Nth-1]
	job := r.JobIn(s.run)
	switch {
	case p.Pods != 0 && job.PodCount() != p.Pods:
		return expected, fmt.Sprintf("it started with %d pods", job.PodCount())
	case p.Site != "" && s.run.Site != p.Site, p.Node != "" && !s.run.IsOnNode(p.Node), p.Model != "" && s.run.Model != p.Model:
		got = fmt.Sprintf("it started at %s on node %s", s.run.Site, strings.Join(s.run.NodeNames(), ", "))
		if s.run.Model != "" {
			got += ", " + s.run.Model
		}
		return expected, got
	}
	return expected, j.tooLate("it started", s.at, p.By)
}

// timesStarted says how often a job started, and where.
func (j judge) timesStarted(all []start) string {
	if len(all) == 0 {
		return "it never started"
	}
	var where []string
	for _, s := range all {
		where = append(where, fmt.Sprintf("at %s after %s", s.run.Site, j.after(s.at)))
	}
	if len(all) == 1 {
		return "it started once, " + where[0]
	}
	return fmt.Sprintf("it started %d times, %s", len(all), strings.Join(where, ", "))
}

// ordinal returns a number as an ordinal.
func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprint(n, "st")
	case n%10 == 2:
		return fmt.Sprint(n, "nd")
	case n%10 == 3:
		return fmt.Sprint(n, "rd")
	}
	return fmt.Sprint(n, "th")
}

// starts judges how often a job started.
func (j judge) starts(r *history.JobRecord, want int) (expected, got string) {
	switch expected = fmt.Sprintf("starts %d times", want); want {
	case 0:
		expected = "never starts"
	case 1:
		expected = "starts once"
	}
	if all := startsOf(r); len(all) != want {
		got = j.timesStarted(all)
	}
	return expected, got
}

// waits judges that a job neither runs nor is over for a time.
func (j judge) waits(r *history.JobRecord, w spec.Wait) (expected, got string) {
	from := max(w.From, r.BeginTime())
	expected = fmt.Sprintf("waits from %s until %s", j.after(from), j.after(w.Until))
	if w.Why != "" {
		expected += ", for " + string(w.Why)
	}
	for _, s := range startsOf(r) {
		if s.at < w.Until && (s.until == 0 || s.until > from) {
			return expected, fmt.Sprintf("it runs at %s from %s on", s.run.Site, j.after(s.at))
		}
	}
	switch last := j.history.JobStateAt(r, w.Until-1); {
	case last.State.IsFinal():
		return expected, fmt.Sprintf("it is %s since %s", last.State, j.after(last.Since))
	case w.Why != "" && last.Why.Code != w.Why:
		return expected, fmt.Sprintf("it is %s, for %s", last.State, codeText(last.Why.Code))
	}
	return expected, ""
}

// codeText returns a reason as text.
func codeText(c protocol.Code) string {
	if c == "" {
		return "no reason"
	}
	return string(c)
}

// refused judges that the market will not run a job.
func (j judge) refused(r *history.JobRecord, f spec.Refusal) (expected, got string) {
	if expected = "is refused"; f.Why != "" {
		expected += ", for " + string(f.Why)
	}
	expected += j.by(f.By)
	switch s := j.state(r); {
	case s.State != history.Refused:
		return expected, fmt.Sprintf("it is %s", s.State)
	case f.Why != "" && s.Why.Code != f.Why:
		return expected, "it is refused for " + codeText(s.Why.Code)
	default:
		return expected, j.tooLate("it is refused", s.Since, f.By)
	}
}

// ends judges the final state of a job.
func (j judge) ends(r *history.JobRecord, e spec.Ending) (expected, got string) {
	expected = "ends as " + e.As + j.by(e.By)
	s := j.state(r)
	if string(s.State) != e.As {
		return expected, fmt.Sprintf("it is %s", s.State)
	}
	return expected, j.tooLate("it ended", s.Since, e.By)
}

// running judges how many jobs run at an instant.
func (j judge) running(jobs []protocol.JobID, c spec.RunningCount) (expected, got string) {
	expected = fmt.Sprintf("%d of %s run", c.Count, joinIDs(jobs))
	if len(jobs) == 1 {
		expected = fmt.Sprintf("%s runs", jobs[0])
		if c.Count == 0 {
			expected = fmt.Sprintf("%s does not run", jobs[0])
		}
	}
	if c.Site != "" {
		expected += " at " + c.Site
	}
	expected += " after " + j.after(c.At)
	var run []protocol.JobID
	for _, id := range jobs {
		if j.presentAt(spec.Presence{Job: id, Site: c.Site}, c.At) {
			run = append(run, id)
		}
	}
	if len(run) == c.Count {
		return expected, ""
	}
	if len(run) == 0 {
		return expected, "none runs then"
	}
	return expected, fmt.Sprintf("%d run then: %s", len(run), joinIDs(run))
}

// nodes judges on how many nodes jobs start in all.
func (j judge) nodes(jobs []protocol.JobID, want int) (expected, got string) {
	expected = fmt.Sprintf("%s start on %d nodes in all", joinIDs(jobs), want)
	if want == 1 {
		expected = fmt.Sprintf("%s start on one node", joinIDs(jobs))
	}
	var nodes []string
	for _, id := range jobs {
		r, _ := j.history.LatestJob(id)
		all := startsOf(&r)
		if len(all) == 0 {
			return expected, fmt.Sprintf("%s never started", id)
		}
		for _, n := range all[0].run.NodeNames() {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	if len(nodes) != want {
		got = fmt.Sprintf("they started on %d: %s", len(nodes), strings.Join(nodes, ", "))
	}
	return expected, got
}

// never judges that at no instant all of some jobs run where they may not, but for one that begins as another ends.
// All run at some instant only if all run at the start of one of them.
func (j judge) never(all []spec.Presence) (expected, got string) {
	var words []string
	for _, p := range all {
		words = append(words, presenceText(p))
	}
	expected = "never: " + strings.Join(words, " and ")
	var instants []protocol.Time
	for _, p := range all {
		r, _ := j.history.LatestJob(p.Job)
		for _, s := range startsOf(&r) {
			instants = append(instants, s.at)
		}
	}
	slices.Sort(instants)
	for _, at := range instants {
		if !slices.ContainsFunc(all, func(p spec.Presence) bool { return !j.presentAt(p, at) || !j.presentAt(p, at.Add(j.apart)) }) {
			return expected, "so it is after " + j.after(at)
		}
	}
	return expected, ""
}

// presentAt reports whether a job runs at an instant, where p says.
func (j judge) presentAt(p spec.Presence, at protocol.Time) bool {
	r, _ := j.history.LatestJob(p.Job)
	return slices.ContainsFunc(startsOf(&r), func(s start) bool {
		return s.includes(at) && (p.Site == "" || s.run.Site == p.Site) && (p.Node == "" || s.run.IsOnNode(p.Node))
	})
}

// presenceText says that a job runs.
func presenceText(p spec.Presence) string {
	text := string(p.Job) + " runs"
	if p.Site != "" {
		text += " at " + p.Site
	}
	if p.Node != "" {
		text += " on node " + p.Node
	}
	return text
}

// joinIDs lists jobs.
func joinIDs(ids []protocol.JobID) string {
	text := make([]string, len(ids))
	for i, id := range ids {
		text[i] = string(id)
	}
	return strings.Join(text, ", ")
}
