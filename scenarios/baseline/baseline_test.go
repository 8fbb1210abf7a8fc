package baseline

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// worked is the round that the rules are tried on: a job of two GPUs from oslo,
// and four sites.
//
//	site   starts    score  cents/kWh  g/kWh
//	bern   now         700         90     20
//	kiel   now         300         40    500
//	oslo   in 10 min     0         60     10
//	rome   now         500         50    200
func worked() auction.Round {
	r := auction.Round{Now: noon, Next: noon.Add(time.Hour)}
	job := protocol.Job{
		ID: "train", Home: "oslo", GPUs: 2, Share: 1000, CPU: 4000, Run: time.Hour,
		Arrival: noon, Deadline: noon.Add(6 * time.Hour), Urgency: protocol.UrgencyStandard,
	}
	lot := auction.Lot{Job: job}
	add := func(name string, start time.Duration, score protocol.Milli, price protocol.Microdollars, carbon protocol.Milligrams) {
		from := noon.Add(start)
		lot.Bids = append(lot.Bids, auction.SiteBids{Site: name, Options: []protocol.BidOption{
			{Start: from, Finish: from.Add(time.Hour), Model: "V100", Score: score},
		}})
		r.Sites = append(r.Sites, auction.Site{
			Name: name, Capacity: []protocol.CapacityProfile{{Model: "V100", Slot: time.Hour, From: noon, Free: []protocol.Milli{3000}, Total: 3000}},
			Forecast: protocol.GridForecast{From: noon, Price: []protocol.Microdollars{price}, Carbon: []protocol.Milligrams{carbon}},
		})
	}
	add("bern", 0, 700, 900_000, 20_000)
	add("kiel", 0, 300, 400_000, 500_000)
	add("oslo", 10*time.Minute, 0, 600_000, 10_000)
	add("rome", 0, 500, 500_000, 200_000)
	r.Lots = []auction.Lot{lot}
	return r
}

func named(t *testing.T, name string) auction.ClearingRule {
	t.Helper()
	r, ok := New(name, 7)
	if !ok {
		t.Fatalf("there is no rule %q", name)
	}
	return r
}

func TestWhoWinsTheWorkedExampleAndWhy(t *testing.T) {
	for name, want := range map[string]string{
		RuleHomeFIFO:        "oslo", // home, although it has to wait there
		RuleRoundRobin:      "bern", // the first turn
		RuleRandom:          "oslo", // what the dice of seed 7 say of this job's name
		RuleLeastAllocated:  "bern", // the highest score of those with room
		RuleMostAllocated:   "bern", // likewise: the site scores by its own policy
		RuleCheapestNow:     "kiel", // the cheapest of those with room
		RuleGreenestNow:     "bern", // oslo is greener and has no room
		RuleCarbonThreshold: "oslo", // home, whose hour is no dirtier than its forecast
	} {
		t.Run(name, func(t *testing.T) {
			out := named(t, name).Clear(worked())
			d := out.Decisions[0]
			if d.Verdict != auction.Award || d.Site != want || !d.MayQueue || d.Why.Code != protocol.ByRule {
				t.Errorf("decided %+v, want an award to %s", d, want)
			}
			if out.Proof != (protocol.Certificate{}) {
				t.Errorf("a fixed rule proves nothing, and said %+v", out.Proof)
			}
		})
	}
}

func TestEveryNameIsARuleAndNoOtherIs(t *testing.T) {
	for _, name := range RuleNames() {
		if r := named(t, name); r.ShadowPrices() != nil {
			t.Errorf("%s has a price of room", name)
		}
	}
	if _, ok := New("luck", 0); ok {
		t.Error("there is a rule named luck")
	}
}

// Three jobs of two GPUs in one round: kiel has room for one of them.
func TestWhatWasGivenAwayInARoundIsTaken(t *testing.T) {
	for name, want := range map[string]string{
		RuleCheapestNow:    "[kiel rome bern oslo]",
		RuleGreenestNow:    "[bern rome kiel oslo]",
		RuleLeastAllocated: "[bern rome kiel oslo]",
		RuleHomeFIFO:       "[oslo oslo oslo oslo]", // its own queue, whatever is free elsewhere
	} {
		r := worked()
		r.Lots = append(r.Lots, r.Lots[0], r.Lots[0], r.Lots[0])
		var sites []string
		for _, d := range named(t, name).Clear(r).Decisions {
			sites = append(sites, d.Site)
		}
		if got := fmt.Sprint(sites); got != want {
			t.Errorf("%s sells to %s, want %s", name, got, want)
		}
	}
}

func TestAFractionLeftIsStillRoom(t *testing.T) {
	r := worked()
	small := r.Lots[0]
	small.Job.GPUs = 1
	r.Lots = append(r.Lots, small)
	if d := named(t, RuleCheapestNow).Clear(r).Decisions[1]; d.Site != "kiel" {
		t.Errorf("one of kiel's three GPUs is left, and %s won", d.Site)
	}
}

func TestAJobWithoutGPUsNeedsNoneFree(t *testing.T) {
	r := worked()
	l := &r.Lots[0]
	l.Job.GPUs, l.Job.Share = 0, 0
	for i := range l.Bids {
		l.Bids[i].Options[0].Model = ""
	}
	if d := named(t, RuleCheapestNow).Clear(r).Decisions[0]; d.Site != "kiel" {
		t.Errorf("%s won", d.Site)
	}
}

func TestAJobThatItsHomeCannotRunStartsWhereItIsSoonest(t *testing.T) {
	r := worked()
	r.Lots[0].Job.Home = "york"
	r.Lots[0].Bids[0].Options[0].Start = noon.Add(time.Minute)
	if d := named(t, RuleHomeFIFO).Clear(r).Decisions[0]; d.Site != "kiel" {
		t.Errorf("%s won; kiel is the first by name that starts now", d.Site)
	}
}

func TestAJobThatNobodyOffersForIsHeld(t *testing.T) {
	for _, name := range RuleNames() {
		r := worked()
		r.Lots[0].Bids = nil
		want := auction.Decision{Verdict: auction.Defer, Until: r.Next, Why: protocol.Reason{Code: protocol.NoBids}}
		if d := named(t, name).Clear(r).Decisions[0]; !reflect.DeepEqual(d, want) {
			t.Errorf("%s decided %+v", name, d)
		}
	}
}

func TestRoundRobinGoesRound(t *testing.T) {
	b, got := named(t, RuleRoundRobin), ""
	for range 6 {
		got += b.Clear(worked()).Decisions[0].Site[:1]
	}
	if got != "bkorbk" {
		t.Errorf("the turns are %s", got)
	}
}

// One job more in a round does not change where the others go.
func TestRandomDrawsByTheNameOfTheJob(t *testing.T) {
	r, more := worked(), worked()
	other := more.Lots[0]
	other.Job.ID = "more"
	more.Lots = []auction.Lot{other, more.Lots[0]}
	one, two := named(t, RuleRandom).Clear(r).Decisions[0], named(t, RuleRandom).Clear(more).Decisions[1]
	if one.Site != two.Site {
		t.Errorf("%s, and with one job more %s", one.Site, two.Site)
	}
	sites, moved := map[string]int{}, 0
	for i := range 400 {
		r.Lots[0].Job.ID = protocol.JobID(fmt.Sprint("job-", i))
		site := named(t, RuleRandom).Clear(r).Decisions[0].Site
		sites[site]++
		if other, _ := New(RuleRandom, 8); other.Clear(r).Decisions[0].Site != site {
			moved++
		}
	}
	for _, name := range []string{"bern", "kiel", "oslo", "rome"} {
		if sites[name] < 60 { // of 100 expected; 4.6 standard deviations
			t.Errorf("%s drew %d of 400 jobs", name, sites[name])
		}
	}
	if moved < 200 {
		t.Errorf("another seed moved %d of 400 jobs, expected about 300", moved)
	}
}

func TestASiteWithoutSignalsIsNeitherCheapNorGreen(t *testing.T) {
	r := worked()
	r.Sites[1].Forecast.Price = nil // kiel
	if d := named(t, RuleCheapestNow).Clear(r).Decisions[0]; d.Site != "rome" {
		t.Errorf("%s won", d.Site)
	}
	for i := range r.Sites {
		r.Sites[i].Forecast.Carbon = nil
	}
	if d := named(t, RuleGreenestNow).Clear(r).Decisions[0]; d.Site != "bern" {
		t.Errorf("nobody knows his grid, and %s won; bern is the first that starts now", d.Site)
	}
}

// With 24 hours of forecast the 30th percentile is the eighth cleanest.
func TestThresholdWaitsForACleanHour(t *testing.T) {
	day := func(now protocol.Milligrams) (hours []protocol.Milligrams) {
		hours = []protocol.Milligrams{now}
		for h := range 23 {
			hours = append(hours, protocol.Milligrams(h)*1000)
		}
		return hours
	}
	for _, c := range []struct {
		name  string
		now   protocol.Milligrams
		spoil func(*protocol.Job)
		until protocol.Time // 0: sold at once
	}{
		{"the eighth cleanest hour is clean enough", 7_000, nil, 0},
		{"the ninth is not, and the next is tried", 7_001, nil, noon.Add(time.Hour + time.Second)},
		{"a job that cannot wait does not", 90_000, func(j *protocol.Job) { j.Urgency = protocol.UrgencyNow }, 0},
		{"it waits no longer than it must start", 90_000, func(j *protocol.Job) { j.Deadline = noon.Add(80 * time.Minute) }, noon.Add(20 * time.Minute)},
		{"a job that is late already does not wait", 90_000, func(j *protocol.Job) { j.Deadline = noon.Add(time.Hour) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := worked()
			r.Sites[2].Forecast.Carbon = day(c.now)
			if c.spoil != nil {
				c.spoil(&r.Lots[0].Job)
			}
			d := named(t, RuleCarbonThreshold).Clear(r).Decisions[0]
			if d.Site != "oslo" || (d.Verdict == auction.Defer) != (c.until != 0) || d.Until != c.until {
				t.Errorf("decided %+v, want a hold until %v", d, c.until)
			}
			if d.Verdict == auction.Defer && (d.MayQueue || d.Why.Code != protocol.CheaperLater) {
				t.Errorf("held %+v", d)
			}
		})
	}
}
