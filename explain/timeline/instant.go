package timeline

import (
	"slices"
	"sort"

	"github.com/gridbid/gridbid/history"
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
