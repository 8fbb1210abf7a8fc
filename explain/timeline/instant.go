package timeline

import (
	"slices"
	"sort"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// An Instant is the whole run as it stood.
type Instant struct {
	At                                        protocol.Time
	Decisions                                 int
	Waiting, Planned, Running, Ended, Refused int // jobs
	Preempted                                 int // jobs whose runs were taken down to make room, and that wait since
	Late                                      int // of those that ended
	Energy                                    protocol.Millijoules
	Carbon                                    protocol.Milligrams // of ended jobs, and idle draw as far as it was metered
	Money                                     protocol.Microdollars
	Sites                                     []Site // by name
}

// A Site is one site as it stood.
type Site struct {
	Name        string
	GPUs        protocol.Milli
	Held        protocol.Milli // by running jobs
	Running     int
	Planned     int // jobs that it accepted and has not started
	Known       bool
	Carbon      protocol.Milligrams   // per kWh, this hour
	Price       protocol.Microdollars // per kWh, this hour
	Ahead       []protocol.Milligrams // per kWh, of the hours after
	Draw        protocol.Milliwatts   // mean of the last metered hour
	Metered     protocol.Time         // begin of that hour; 0 without
	LastMessage protocol.Time         // 0: nothing yet
}

// InstantAt returns the run as it stood at an instant. It goes through all jobs of the run.
func (d *Timeline) InstantAt(at protocol.Time) Instant {
	now := Instant{At: at}
	now.Decisions = sort.Search(len(d.entries), func(i int) bool { return d.entries[i].At > at })
	// Running sums are ordered by time, so the last one until at holds.
	spent := d.history.RunningCosts()
	if i := sort.Search(len(spent), func(i int) bool { return spent[i].At > at }); i > 0 {
		s := spent[i-1]
		now.Energy, now.Carbon, now.Money, now.Late = s.Energy, s.Carbon, s.Money, s.Late
	}
	place := make(map[string]int)
	for _, name := range d.history.ReportingSiteNames() {
		place[name] = len(now.Sites)
		now.Sites = append(now.Sites, siteAt(d.history.ReportingSite(name), at))
	}
	for r := range d.history.AllInstances() {
		state, site := r.StateAt(at)
		i, there := place[site]
		switch state {
		case history.Waiting:
			now.Waiting++
		case history.Preempted:
			now.Preempted++
		case history.Awarded:
			now.Planned++
			if there {
				now.Sites[i].Planned++
			}
		case history.Running:
			now.Running++
			if there {
				now.Sites[i].Running++
				now.Sites[i].Held += r.Job.TotalGPUMilli()
			}
		case history.Ended:
			now.Ended++
		case history.Refused:
			now.Refused++
		}
	}
	return now
}

// siteAt returns a site as it stood at an instant, without its jobs: GPUs, grid, and the meter
// reading of the newest hour.
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
	// A report's Total is in millijoules of one hour: over 3,600 seconds it gives milliwatts.
	for _, m := range slices.Backward(s.Meters) {
		if m.IsMeterReading() && m.At <= at {
			now.Metered, now.Draw = m.Hour, protocol.Milliwatts(int64(m.Total)/3600)
			break
		}
	}
	o, ok := s.ForecastAt(at)
	if !ok {
		return now
	}
	// The forecast may begin in an earlier hour than that of at.
	i := int(at.Sub(o.From) / time.Hour)
	if i < 0 || i >= len(o.Carbon) || i >= len(o.Price) {
		return now
	}
	now.Known, now.Carbon, now.Price, now.Ahead = true, o.Carbon[i], o.Price[i], o.Carbon[i+1:]
	return now
}
