package auction

import (
	"fmt"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// oslo has one GPU, and room all day.
func oslo() Site {
	return Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 1000)}}
}

func at(hours float64) protocol.Time { return noon + protocol.Time(hours*3_600_000) }

// show tells decisions shortly: "oslo 12:00" is an award, "hold 14:00" is a hold
// until then, "plan 14:00 hold 13:00" one with a place in the plan.
func show(out Outcome) (text string) {
	for _, d := range out.Decisions {
		switch {
		case d.MayQueue:
			text += fmt.Sprintf("queue of %s for %s; ", d.Site, d.Option.Start.StdTime().Format("15:04"))
		case d.Verdict == Award:
			text += fmt.Sprintf("%s %s; ", d.Site, d.Option.Start.StdTime().Format("15:04"))
		case d.Site != "":
			text += fmt.Sprintf("plan %s hold %s; ", d.Option.Start.StdTime().Format("15:04"), d.Until.StdTime().Format("15:04"))
		default:
			text += fmt.Sprintf("hold %s; ", d.Until.StdTime().Format("15:04"))
		}
	}
	return text
}

func TestDecisionsOfARound(t *testing.T) {
	m := func(o ...protocol.BidOption) SiteBids { return SiteBids{Site: "oslo", Options: o} }
	now, later, last := option("V100", 0, 1, 9), option("V100", 2, 3, 1), option("V100", 5, 6, 5)
	urgent := func(l Lot) Lot { l.Job.Priority = 1; return l }
	impatient := func(l Lot) Lot { l.Job.Urgency = protocol.UrgencyNow; return l }
	due := func(hours float64, l Lot) Lot { l.Job.Deadline = at(hours); return l }
	for _, c := range []struct {
		name string
		lots []Lot
		want string
	}{
		{"the only option is taken", []Lot{lot("a", 1, m(now))}, "oslo 12:00; "},
		{"a cheaper hour is waited for, until all are called again", []Lot{lot("a", 1, m(now, later))}, "plan 14:00 hold 13:00; "},
		{"no option is no award", []Lot{lot("a", 1)}, "hold 13:00; "},
		{"two want one GPU at two hours: each gets one", []Lot{lot("a", 1, m(now, later)), lot("b", 1, m(now, later))}, "plan 14:00 hold 13:00; oslo 12:00; "},
		{"who has no other hour is served first", []Lot{lot("a", 1, m(later, last)), lot("b", 1, m(later))}, "plan 17:00 hold 13:00; plan 14:00 hold 13:00; "},
		{"priority is served before name", []Lot{lot("a", 1, m(later)), urgent(lot("b", 1, m(later)))}, "hold 13:00; plan 14:00 hold 13:00; "},
		{"of equals the first by name; the other is called again as soon as may be", []Lot{lot("a", 1, m(now)), lot("b", 1, m(now))}, "oslo 12:00; hold 12:00; "},
		{"what does not fit is not given", []Lot{lot("a", 2, m(now))}, "hold 12:00; "},
		{"a job without GPUs needs no room", []Lot{lot("a", 1, m(now)), lot("b", 0, m(now))}, "oslo 12:00; oslo 12:00; "},
		{"who cannot wait and finds no room goes into the queue of a site", []Lot{impatient(lot("a", 1, m(last, later)))}, "queue of oslo for 14:00; "},
		{"so does who has under two hours to spare", []Lot{due(4.9, lot("a", 1, m(later, last)))}, "queue of oslo for 14:00; "},
		{"who has two hours waits in the plan", []Lot{due(5, lot("a", 1, m(later, last)))}, "plan 14:00 hold 13:00; "},
		{"one that starts this moment waits at the site", []Lot{lot("a", 1, m(option("V100", 1./3600, 1, 1)))}, "queue of oslo for 12:00; "},
		{"one that starts soon is called again then", []Lot{lot("a", 1, m(option("V100", 0.25, 1, 1)))}, "plan 12:15 hold 12:15; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := New(Config{}).Clear(round(c.lots, oslo()))
			if got := show(out); got != c.want {
				t.Errorf("decided %s want %s", got, c.want)
			}
		})
	}
}

// Two of four GPUs are for jobs that cannot wait.
func TestDeferrableJobsLeaveHeadroom(t *testing.T) {
	room := hourly("V100", 4000, 4000)
	room.ForDeferrable = []protocol.Milli{2000}
	m := func(o ...protocol.BidOption) SiteBids { return SiteBids{Site: "oslo", Options: o} }
	now, later := option("V100", 0, 1, 1), option("V100", 2, 3, 2)
	impatient := lot("c", 2, m(now))
	impatient.Job.Urgency = protocol.UrgencyNow
	out := New(Config{}).Clear(round([]Lot{lot("a", 2, m(now, later)), lot("b", 2, m(now, later)), impatient}, Site{Name: "oslo", Capacity: []protocol.CapacityProfile{room}}))
	if got, want := show(out), "queue of oslo for 14:00; oslo 12:00; oslo 12:00; "; got != want {
		t.Errorf("decided %s want %s: one of the two that can wait", got, want)
	}
}

// Two GPUs are for jobs that cannot wait, and for deferrable ones that would be late elsewhere.
func TestHeadroomOpensToJobsThatWouldBeLate(t *testing.T) {
	kept, other := hourly("V100", 2000, 2000), hourly("A100", 2000, 2000)
	kept.ForDeferrable = []protocol.Milli{0}
	site := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{other, kept}}
	m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 1), option("A100", 10, 11, 1)}}
	for hours, want := range map[int]string{13: "queue of oslo for 22:00; ", 11: "queue of oslo for 22:00; ", 4: "oslo 12:00; "} {
		l := lot("a", 2, m)
		l.Job.Deadline = noon + protocol.Time(hours*3_600_000)
		if got := show(New(Config{}).Clear(round([]Lot{l}, site))); got != want {
			t.Errorf("due in %d hours: %s want %s", hours, got, want)
		}
	}
}

func TestReasonsOfDeferredLots(t *testing.T) {
	now, later := option("V100", 0, 1, 9), option("V100", 2, 3, 1)
	for _, c := range []struct {
		name string
		lot  Lot
		want protocol.Code
	}{
		{"no site bids", lot("a", 1), protocol.NoBids},
		{"no site has capacity now", lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{later}}), protocol.Waiting},
		{"what it was offered is less than it needs", lot("a", 2, SiteBids{Site: "oslo", Options: []protocol.BidOption{now}}), protocol.Waiting},
		{"it could start, and will be cheaper later", lot("a", 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{now, later}}), protocol.CheaperLater},
	} {
		if d := New(Config{}).Clear(round([]Lot{c.lot}, oslo())).Decisions[0]; d.Why.Code != c.want {
			t.Errorf("%s: %q, want %q", c.name, d.Why.Code, c.want)
		}
	}
}

// A deferred job has a place in the plan: other deferrable jobs respect it, jobs that cannot wait
// take it.
func TestDeferredJobKeepsItsPlaceUnlessAnotherCannotWait(t *testing.T) {
	half := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 9), option("V100", 0.5, 1.5, 1)}}
	now := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0.1, 1.1, 1), option("V100", 4, 5, 3)}}
	for _, c := range []struct {
		deferrable bool
		want       string
	}{{true, "plan 16:00 hold 13:00; "}, {false, "oslo 12:06; "}} {
		a := New(Config{})
		if got := show(a.Clear(round([]Lot{lot("held", 1, half)}, oslo()))); got != "plan 12:30 hold 12:30; " {
			t.Fatalf("held %s", got)
		}
		next := lot("next", 1, now)
		next.Job.Urgency = protocol.StandardOrNow(c.deferrable)
		r := round([]Lot{next}, oslo())
		r.Now, r.Full = at(0.1), false
		if got := show(a.Clear(r)); got != c.want {
			t.Errorf("deferrable %v: decided %s want %s", c.deferrable, got, c.want)
		}
	}
}

// More jobs may wait than a full round holds. Jobs left out keep their places in the plan; jobs
// that wait no more lose them.
func TestLeftOutJobsKeepTheirPlaces(t *testing.T) {
	half := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 9), option("V100", 0.5, 1.5, 1)}}
	now := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0.1, 1.1, 1), option("V100", 4, 5, 3)}}
	for _, c := range []struct {
		left []protocol.JobID
		want string
	}{{[]protocol.JobID{"another", "held"}, "plan 16:00 hold 13:00; "}, {nil, "oslo 12:06; "}} {
		a := New(Config{})
		a.Clear(round([]Lot{lot("held", 1, half)}, oslo()))
		r := round([]Lot{lot("next", 1, now)}, oslo())
		r.Now, r.LeftOut = at(0.1), c.left
		if got := show(a.Clear(r)); got != c.want {
			t.Errorf("left %v: decided %s want %s", c.left, got, c.want)
		}
	}
}

func TestAJobThatIsCalledAgainTakesItsOwnPlace(t *testing.T) {
	a := New(Config{})
	m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 2, 3, 1), option("V100", 4, 5, 3)}}
	a.Clear(round([]Lot{lot("held", 1, m)}, oslo()))
	r := round([]Lot{lot("held", 1, m)}, oslo())
	r.Now, r.Next = at(2), at(3)
	if got := show(a.Clear(r)); got != "oslo 14:00; " {
		t.Errorf("decided %s", got)
	}
	if len(a.plan) != 0 {
		t.Errorf("the plan keeps %v", a.plan)
	}
}

// A job that would be late and start after the next full round gets no reservation, since GPUs may
// become free sooner; except a job of several GPUs, for which a site must set a node aside.
func TestLateJobWithADistantStartIsDeferred(t *testing.T) {
	for _, c := range []struct {
		gpus       int
		deferrable bool
		start, due float64
		want       string
	}{
		{1, true, 10, 8, "plan 22:00 hold 13:00; "},
		{1, false, 10, 8, "plan 22:00 hold 13:00; "},
		{1, false, 10, 12, "queue of oslo for 22:00; "},
		{1, true, 0.5, 1, "queue of oslo for 12:30; "},
		{2, true, 10, 8, "queue of oslo for 22:00; "},
	} {
		l := lot("a", c.gpus, SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", c.start, c.start+1, 1)}})
		l.Job.Urgency, l.Job.Deadline = protocol.StandardOrNow(c.deferrable), at(c.due)
		site := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 2000, 2000)}}
		if got := show(New(Config{}).Clear(round([]Lot{l}, site))); got != c.want {
			t.Errorf("%+v: decided %s", c, got)
		}
	}
}

func TestTheBidsOfASiteThatIsNotTrustedAreTakenAsDearer(t *testing.T) {
	for _, c := range []struct {
		cents protocol.Microdollars
		want  string
	}{{9, "bern 12:00; "}, {11, "oslo 12:00; "}} {
		l := lot("a", 1, SiteBids{Site: "bern", Options: []protocol.BidOption{option("V100", 0, 1, c.cents)}}, SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 20)}})
		bern := Site{Name: "bern", Capacity: oslo().Capacity, Trust: 2000}
		if got := show(New(Config{}).Clear(round([]Lot{l}, bern, oslo()))); got != c.want {
			t.Errorf("at %d cents, taken twice, against 20: decided %s want %s", c.cents, got, c.want)
		}
	}
}

func TestTiesGoToTheEarlierFinishThenTheSiteByName(t *testing.T) {
	m := func(site string, to float64) SiteBids {
		return SiteBids{Site: site, Options: []protocol.BidOption{option("V100", 0, to, 5)}}
	}
	bern := Site{Name: "bern", Capacity: oslo().Capacity}
	for _, c := range []struct {
		bern, oslo float64
		want       string
	}{{1, 1, "bern 12:00; "}, {2, 1, "oslo 12:00; "}} {
		out := New(Config{}).Clear(round([]Lot{lot("a", 1, m("bern", c.bern), m("oslo", c.oslo))}, bern, oslo()))
		if got := show(out); got != c.want {
			t.Errorf("decided %s want %s", got, c.want)
		}
	}
}

// Ten jobs want the one GPU of the cheap hour: it gets a price, by which agents
// know to look elsewhere, and which certifies the clearing.
func TestContendedHourHasAPrice(t *testing.T) {
	var lots []Lot
	for i := range 10 {
		lots = append(lots, lot(protocol.JobID(fmt.Sprint(i)), 1, SiteBids{Site: "oslo", Options: []protocol.BidOption{
			option("V100", 0, 1, 9), option("V100", 2, 3, 1), option("V100", 4, 5, 9), option("V100", 6, 7, 9),
		}}))
	}
	a := New(Config{})
	out := a.Clear(round(lots, oslo()))
	all := a.ShadowPrices()
	if len(all) != 1 || all[0].Site != "oslo" || all[0].Model != "V100" {
		t.Fatalf("announced %+v", all)
	}
	v := all[0].Values
	v = append(v, make([]protocol.Microdollars, 12)...) // beyond what is announced it is nothing
	if v[8] == 0 || v[8] <= v[12] {
		t.Errorf("the cheap hour is worth %d, the next %d", v[8], v[12])
	}
	if p := out.Proof; p.Jobs != 4 || p.Primal != 280_000 || p.Bound > p.Primal || p.Bound < 200_000 {
		t.Errorf("proof %+v: four hours are given, at 1 + 3 x 9 cents", p)
	}
}

// A round that is not full does not search: it goes by the prices that are known.
func TestPricesAreSearchedInFullRoundsOnly(t *testing.T) {
	m := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 9), option("V100", 2, 3, 1)}}
	a := New(Config{})
	r := round([]Lot{lot("a", 1, m), lot("b", 1, m), lot("c", 1, m)}, oslo())
	r.Full = false
	if a.Clear(r); a.ShadowPrices() != nil {
		t.Errorf("announced %v", a.ShadowPrices())
	}
}

func TestEmptyRoundDecidesNothing(t *testing.T) {
	a := New(Config{})
	if out := a.Clear(round(nil)); len(out.Decisions) != 0 || out.Proof != (protocol.Certificate{}) || a.ShadowPrices() != nil {
		t.Errorf("decided %+v", out)
	}
}

// A site may give an urgent lot capacity that it keeps from others, though its profile shows none
// free. The bid is believed, and once per round.
func TestUrgentLotTakesABidWithoutProfileCapacity(t *testing.T) {
	full := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 0, 0, 0, 0, 1000)}}
	for _, start := range []float64{0, 1} {
		menu := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", start, start+1, 9), option("V100", 4, 5, 1)}}
		now, later := lot("a", 1, menu), lot("b", 1, menu) // an hour of waiting counts a dollar
		now.Job.Urgency = protocol.UrgencyNow
		also := now
		also.Job.ID = "c"
		out := New(Config{}).Clear(round([]Lot{now, later, also}, full)).Decisions
		if d := out[0]; d.Verdict != Award || d.Option.Start != at(start) || !d.MayQueue {
			t.Errorf("from %v h on, one that cannot wait: %+v", start, d)
		}
		for i, who := range map[int]string{1: "one that can wait", 2: "another of the same round"} {
			if d := out[i]; d.Verdict == Award && d.Option.Start == noon {
				t.Errorf("from %v h on, %s: %+v", start, who, d)
			}
		}
	}
}

// Two jobs want the one GPU now: the one that does not get it names that GPU. A job whose cheaper
// hour comes later is held by no GPU.
func TestADeferredLotNamesTheGPUsThatItLacks(t *testing.T) {
	both := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 1), option("V100", 3, 4, 2)}}
	later := SiteBids{Site: "oslo", Options: []protocol.BidOption{option("V100", 0, 1, 9), option("V100", 3, 4, 2)}}
	one := Site{Name: "oslo", Capacity: []protocol.CapacityProfile{hourly("V100", 1000, 1000, 1000, 1000, 1000, 1000)}}
	for _, tc := range []struct {
		name  string
		mine  SiteBids
		wants Pool
	}{{"no room now", both, Pool{"oslo", "V100"}}, {"cheaper later", later, Pool{}}} {
		out := New(Config{}).Clear(round([]Lot{lot("a", 1, both), lot("b", 1, tc.mine)}, one))
		if a, b := out.Decisions[0], out.Decisions[1]; a.Verdict != Award || b.Verdict != Defer || a.HeldBy != (Pool{}) || b.HeldBy != tc.wants {
			t.Errorf("%s: decided %+v and %+v; want an award, and one held by %+v", tc.name, a, b, tc.wants)
		}
	}
}
