package auction

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// outlook is a grid at so many cents a kWh from noon on, hour by hour, without
// carbon.
func outlook(cents ...int) protocol.GridForecast {
	g := protocol.GridForecast{From: noon}
	for _, c := range cents {
		g.Price = append(g.Price, protocol.Microdollars(c)*10_000)
		g.Carbon = append(g.Carbon, 0)
		g.PUE = append(g.PUE, 1000)
	}
	return g
}

// costs prices an option that draws a kilowatt by an outlook.
func costs(o protocol.BidOption, g protocol.GridForecast) protocol.BidOption {
	o.Energy = protocol.Millijoules(o.Finish.Sub(o.Start).Milliseconds()) * 1000 // of a kilowatt
	o.Money = 0
	for h, c := range g.Price {
		from := g.From.Add(time.Duration(h) * time.Hour)
		if part := min(o.Finish, from.Add(time.Hour)) - max(o.Start, from); part > 0 {
			o.Money += c * protocol.Microdollars(part) / 3_600_000
		}
	}
	return o
}

// pausable is a lot of one GPU for so many hours from now on, by an outlook.
func pausable(hours float64, g protocol.GridForecast) Lot {
	l := lot("train", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{costs(option("V100", 0, hours, 0), g)}})
	l.Job.Run, l.Job.Pause, l.Job.State = time.Duration(hours*float64(time.Hour)), 2*time.Minute, 1024
	return l
}

func paused(l Lot, g protocol.GridForecast) protocol.Time {
	site := oslo()
	site.Forecast = g
	return New(Config{}).Clear(round([]Lot{l}, site)).Decisions[0].PauseAt
}

func TestPauseIsPlannedIfItPaysItsOverhead(t *testing.T) {
	dear := outlook(1, 1, 1, 1, 30, 30, 30, 30, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	for name, c := range map[string]struct {
		g    protocol.GridForecast
		is   func(*protocol.Job)
		want protocol.Time
	}{
		"dear hours lie in its way":       {dear, func(*protocol.Job) {}, at(4)},
		"it cannot be paused":             {dear, func(j *protocol.Job) { j.Pause = 0 }, 0},
		"the rest would end too late":     {dear, func(j *protocol.Job) { j.Deadline = at(9) }, 0},
		"the rest just has time to spare": {dear, func(j *protocol.Job) { j.Deadline = at(12) }, at(4)},
		"a pause costs as much":           {dear, func(j *protocol.Job) { j.Pause = 100 * time.Hour }, 0},
		"hours are all alike":             {outlook(5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5), func(*protocol.Job) {}, 0},
		"a tenth is too little":           {outlook(50, 50, 50, 50, 55, 55, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50), func(*protocol.Job) {}, 0},
		"no forecast":                     {protocol.GridForecast{}, func(*protocol.Job) {}, 0},
	} {
		l := pausable(6, dear)
		c.is(&l.Job)
		if got := paused(l, c.g); got != c.want {
			t.Errorf("%s: paused at %v, want %v", name, got, c.want)
		}
	}
}

// Whatever the grid: a pause is on the hour, leaves two parts worth having, and a
// rest that can be done in time for less than running on.
func TestAPauseLeavesARestThatPays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := outlook(rapid.SliceOfN(rapid.IntRange(-5, 40), 30, 30).Draw(t, "cents")...)
		hours := rapid.IntRange(1, 12).Draw(t, "hours")
		l := pausable(float64(hours), g)
		l.Job.Pause = time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute
		l.Job.Deadline = at(float64(rapid.IntRange(hours, 30).Draw(t, "due")))
		when := paused(l, g)
		if when == 0 {
			return
		}
		if when < noon.Add(time.Hour) || when > at(float64(hours-1)) || when != when.Floor(time.Hour) {
			t.Fatalf("of %d hours from noon on it is paused at %v", hours, when)
		}
		money := func(from protocol.Time, d time.Duration) protocol.Microdollars {
			return costs(protocol.BidOption{Start: from, Finish: from.Add(d)}, g).Money
		}
		rest := at(float64(hours)).Sub(when) + l.Job.Pause
		least, found := money(noon, time.Duration(hours)*time.Hour), false
		for s := when.Add(usual.slot); s.Add(rest+protocol.DefaultPlanning().FirmLead) <= l.Job.Deadline; s = s.Add(usual.slot) {
			found = found || money(noon, when.Sub(noon))+money(s, rest) < least
		}
		if !found {
			t.Fatalf("paused at %v of %d hours, and no rest that is done in time costs less", when, hours)
		}
	})
}

// An elastic job runs on two pods while energy is cheap, and then on one, which takes less of it, where it could
// only have gone on as it was or waited for nothing.
func TestAnElasticJobIsPausedToGoOnWithOtherPods(t *testing.T) {
	g := outlook(1, 1, 1, 1, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20)
	sized := func(pods int, hours float64) protocol.BidOption {
		o := costs(option("V100", 0, hours, 0), g)
		o.Pods, o.Energy, o.Money = pods, o.Energy*protocol.Millijoules(pods), o.Money*protocol.Microdollars(pods)
		return o
	}
	l := lot("train", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{sized(1, 12), sized(2, 12/1.7)}})
	l.Job.Run, l.Job.Pause, l.Job.State = 12*time.Hour, time.Minute, 1024
	l.Job.Speed = []protocol.SpeedPoint{{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 1700}}
	l.Job = l.Job.WithPods([]protocol.Component{{Pods: 1, GPUs: 1, Share: 1000, CPU: 1000}})
	site := oslo()
	site.Forecast, site.Capacity = g, []protocol.CapacityProfile{hourly("V100", 2000, 2000)}
	d := New(Config{}).Clear(round([]Lot{l}, site)).Decisions[0]
	if d.Option.Pods != 2 || d.PauseAt != at(4) {
		t.Errorf("it gets %d pods and is paused at %v; want 2, and %v", d.Option.Pods, d.PauseAt, at(4))
	}
	l.Bids[0].Options = l.Bids[0].Options[1:]
	if d := New(Config{}).Clear(round([]Lot{l}, site)).Decisions[0]; d.PauseAt != 0 {
		t.Errorf("with two pods alone it is paused at %v", d.PauseAt)
	}
}
