package timeline

import (
	"slices"
	"sort"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// An Instant is the whole run as it stood. Jobs are counted by history.State.
type Instant struct {
	At        protocol.Time
	Decisions int

	Pending, Planned, Running, Preempted int // jobs that are not over
	Done, Failed, Cancelled, Refused     int

	history.CostSoFar
	Sites []Site // by name
}

// A Site is one site as it stood.
type Site struct {
	Name string
	GPUs protocol.Milli
	history.SiteUse
	Known bool // whether GridHour is: of the hour of the instant
	history.GridHour
	Draw        protocol.Milliwatts   // mean of the last metered hour
	Metered     protocol.Time         // begin of that hour; 0 without
	LastMessage protocol.Time         // 0: nothing yet
	Condition   history.SiteCondition // State "": it has not registered
}

// InstantAt returns the run as it stood at an instant. It goes through all jobs of the run.
func (d *Timeline) InstantAt(at protocol.Time) Instant {
	states, uses := d.history.CountJobsAt(at)
	now := Instant{
		At: at, Pending: states[history.Pending], Planned: states[history.Planned], Running: states[history.Running], Preempted: states[history.Preempted],
		Done: states[history.Done], Failed: states[history.Failed], Cancelled: states[history.Cancelled], Refused: states[history.Refused],
	}
	now.Decisions = sort.Search(len(d.entries), func(i int) bool { return d.entries[i].At > at })
	// Running sums are ordered by time, so the last one until at holds.
	spent := d.history.RunningCosts()
	if i := sort.Search(len(spent), func(i int) bool { return spent[i].At > at }); i > 0 {
		now.CostSoFar = spent[i-1]
	}
	for _, name := range d.history.ReportingSiteNames() {
		s := siteAt(d.history.ReportingSite(name), at)
		s.SiteUse, s.Condition = uses[name], d.history.ConditionAt(name, at)
		s.GridHour, s.Known = d.history.GridAt(name, at)
		now.Sites = append(now.Sites, s)
	}
	return now
}

// siteAt returns a site as it stood at an instant, without jobs, grid and state: GPUs, and the
// meter reading of the newest hour.
func siteAt(s *history.SiteRecord, at protocol.Time) Site {
	now := Site{Name: s.Site}
	for i, x := range s.Inventories {
		if !x.Decommissioned && (i == 0 || x.At <= at) { // before its first report it counts as that report describes it
			now.GPUs = 0
			for _, p := range x.Pools {
				now.GPUs += protocol.Milli(p.GPUs) * 1000
			}
		}
	}
	if i := sort.Search(len(s.MessageTimes), func(i int) bool { return s.MessageTimes[i] > at }); i > 0 {
		now.LastMessage = s.MessageTimes[i-1]
	}
	for _, m := range slices.Backward(s.Meters) {
		if m.IsMeterReading() && m.At <= at {
			now.Metered, now.Draw = m.Hour, m.MeanPower()
			break
		}
	}
	return now
}

// A JobFilter says which jobs a list has. What is empty holds for all.
type JobFilter struct {
	Find   string // part of an id or a tenant, in any case
	State  string // a history.State
	Site   string
	Tenant string
}

// A ListedJob is one job as it stood at an instant.
type ListedJob struct {
	history.JobState
	Job       protocol.Job
	End       protocol.Time // 0 until it ended
	Late      bool          // it ended after its deadline, or goes on past it
	Place, Of int           // in the queue of its site, from 1; 0: it is in none
	Decision  string        // id of the newest decision on it; "" before the first
}

// A JobList is a part of the jobs that a filter lets through, newest first.
type JobList struct {
	Jobs    []ListedJob
	Matches int                   // that the filter lets through
	All     int                   // that began until then
	States  map[history.State]int // of all
	Order   []history.State       // of States
	Tenants []string              // of all, as they are shown, in the order in which they began
}

// JobsAt returns the jobs that a filter lets through as they stood at an instant: n of them, after
// the first skip.
func (d *Timeline) JobsAt(at protocol.Time, f JobFilter, skip, n int) (l JobList) {
	l.States, l.Order = make(map[history.State]int), history.AllStates()
	tenants, find := make(map[string]bool), strings.ToLower(strings.TrimSpace(f.Find))
	var found []*history.JobRecord
	for r := range d.history.AllInstances() {
		s := d.history.JobStateAt(r, at)
		if s.State == "" {
			continue
		}
		l.All++
		l.States[s.State]++
		tenant := format.CleanText(r.Job.Tenant)
		if !tenants[tenant] {
			tenants[tenant] = true
			l.Tenants = append(l.Tenants, tenant)
		}
		if f.State != "" && string(s.State) != f.State || f.Site != "" && s.Site != f.Site || f.Tenant != "" && tenant != f.Tenant ||
			find != "" && !strings.Contains(strings.ToLower(string(r.Job.ID)), find) && !strings.Contains(strings.ToLower(r.Job.Tenant), find) {
			continue
		}
		found = append(found, r)
	}
	l.Matches = len(found)
	var queues map[string]history.SiteQueue // which take going through all jobs
	for i := len(found) - 1 - skip; i >= 0 && len(l.Jobs) < n; i-- {
		x := ListedJob{JobState: d.history.JobStateAt(found[i], at), Job: found[i].Job, Decision: d.lastDecisionUntil(found[i], at)}
		if x.Start != 0 && (x.State == history.Planned || x.State == history.Preempted) {
			if queues == nil {
				queues = d.history.SiteQueuesAt(at)
			}
			x.Place, _ = queues[x.Site].PlaceOf(x.Job.ID)
			x.Of = len(queues[x.Site])
		}
		if x.State.IsFinal() {
			x.End = x.Since
		}
		x.Late = x.Job.Deadline != 0 && (x.End > x.Job.Deadline || x.End == 0 && at > x.Job.Deadline)
		l.Jobs = append(l.Jobs, x)
	}
	return l
}

// lastDecisionUntil returns the id of the newest decision on a job until an instant; "" before the first.
func (d *Timeline) lastDecisionUntil(r *history.JobRecord, at protocol.Time) string {
	for _, n := range slices.Backward(r.Decisions) {
		if e := d.entries[d.byID[n]]; e.At <= at {
			return e.ID
		}
	}
	return ""
}
