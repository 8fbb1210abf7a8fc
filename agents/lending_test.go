package agents

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/terms"
	"github.com/gridbid/gridbid/protocol"
)

// newSiteWithTerms returns a site with terms, and nodes with so many V100s each.
func newSiteWithTerms(t *testing.T, f terms.File, gpus ...int) *site {
	s := newSite(t, eager, gpus...)
	c, err := f.Terms()
	if err != nil {
		t.Fatal(err)
	}
	s.agent.cfg.Terms, s.agent.leaveStated = c, c.Leave
	return s
}

func ofTenant(tenant string, j protocol.Job) protocol.Job {
	j.Tenant = tenant
	return j
}

func number(v float64) *float64 { return &v }

func TestASiteBidsForTheTenantsThatItServes(t *testing.T) {
	s := newSiteWithTerms(t, terms.File{Own: []string{"us"}, Exclude: []string{"rival"}}, 4)
	for tenant, want := range map[string]protocol.Code{"us": "", "guest": "", "rival": protocol.RefusedByTerms} {
		if m := s.call(ofTenant(tenant, job("a", 1)))[0]; m.Why.Code != want || (want == "") != (len(m.Options) > 0) {
			t.Errorf("tenant %s: %d options, %+v; want code %q", tenant, len(m.Options), m.Why, want)
		}
	}
	// A coordinator that awards it all the same is refused.
	j := ofTenant("guest", job("b", 1))
	option := s.call(j)[0].Options[0]
	s.call(ofTenant("rival", j))
	got := bodies(s.give(protocol.Award{Job: "b", Epoch: 1, Option: option, Lease: s.now.Add(10 * time.Second)}))
	if len(got) != 1 || got[0].(protocol.Decline).Why.Code != protocol.RefusedByTerms {
		t.Errorf("an award for a tenant that is not served: %+v; want a decline by the terms", got)
	}
}

func TestASiteChargesItsTariff(t *testing.T) {
	s := newSiteWithTerms(t, terms.File{Own: []string{"us"}, Tariff: &terms.FileTariff{GPUHour: number(0.25)}}, 4)
	if own := s.call(ofTenant("us", job("own", 1)))[0].Options[0]; own.Tariff != 0 {
		t.Errorf("its own tenant is charged %d for a GPU-hour; want nothing", own.Tariff)
	}
	o := s.call(ofTenant("guest", job("x", 1)))[0].Options[0]
	if o.Tariff != 250_000 {
		t.Errorf("a guest is charged %d for a GPU-hour; want 250,000", o.Tariff)
	}
	// An award for less than it charges is refused; one for more is the coordinator's affair.
	for i, tariff := range []protocol.Microdollars{0, 249_999, 250_000} {
		o.Tariff = tariff
		got := s.give(protocol.Award{Job: "x", Epoch: uint64(1 + i), Option: o, Lease: s.now.Add(10 * time.Second)})
		if want := tariff == 250_000; (launched(got) != "") != want {
			t.Errorf("an award at %d for a GPU-hour: %+v; want launched %t", tariff, bodies(got), want)
		}
	}
}

// A site whose energy costs less than its floor charges the rest, and declines an award by which it would not come to
// it: at less than it bid, or for less money than it bid.
func TestASiteKeepsItsFloor(t *testing.T) {
	s := newSiteWithTerms(t, terms.File{Tariff: &terms.FileTariff{Floor: number(0.25), Margin: 0.1}}, 4)
	o := s.call(ofTenant("guest", job("x", 2)))[0].Options[0]
	gpuHours := 2 * o.Finish.Sub(o.Start).Hours()
	if got := (float64(o.Money)/gpuHours + float64(o.Tariff)) / 1e6; math.Abs(got-0.25) > 1e-5 {
		t.Fatalf("a GPU-hour brings $%f by %+v; want the floor", got, o)
	}
	less, cheaper := o, o
	less.Tariff--
	cheaper.Money -= 1000
	for i, x := range []protocol.BidOption{less, cheaper, o} {
		got := s.give(protocol.Award{Job: "x", Epoch: uint64(1 + i), Option: x, Lease: s.now.Add(10 * time.Second)})
		if want := x == o; (launched(got) != "") != want {
			t.Errorf("an award at %d for a GPU-hour, energy %d: %+v; want launched %t", x.Tariff, x.Money, bodies(got), want)
		}
	}
}

func TestASiteLendsSoManyGPUs(t *testing.T) {
	s := newSiteWithTerms(t, terms.File{Own: []string{"us"}, MostGPUs: number(2)}, 8)
	if m := s.call(ofTenant("guest", job("large", 4)))[0]; m.Why.Code != protocol.RefusedByTerms {
		t.Errorf("a job of more than it lends: %+v", m)
	}
	o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{ofTenant("guest", job("x", 1))}, Weights: weights})
	if free := o.Capacity[0].Free[0]; free != 2000 {
		t.Errorf("to others it shows %d free; want the 2000 that it lends", free)
	}
	for i := range 2 {
		if got := launched(s.award(ofTenant("guest", job(protocol.JobID(fmt.Sprint("g", i)), 1)), 1, false)); got == "" {
			t.Fatalf("guest job %d was not launched", i)
		}
	}
	// Both are lent: the next starts when the first of them is to end, and its own tenant's at once.
	next, end := ofTenant("guest", job("next", 2)), s.agent.fleet.RunOf("g0").End
	if options := s.call(next)[0].Options; len(options) == 0 || options[0].Start != end {
		t.Errorf("beside 2 of 2 lent it offers %+v; want a start at %v", options, end)
	}
	own := ofTenant("us", job("own", 6))
	o = s.offer(protocol.CallForBids{Jobs: []protocol.Job{own}, Weights: weights})
	if options := o.Jobs[0].Options; len(options) == 0 || options[0].Start != s.now || o.Capacity[0].Free[0] != 6000 {
		t.Errorf("its own tenant is offered %+v of %+v; want all that is free, now", options, o.Capacity)
	}
	// What its nodes' cores and memory are used for is told in a call with jobs of its own tenants alone.
	others := s.offer(protocol.CallForBids{Jobs: []protocol.Job{next}, Weights: weights}).Capacity[0]
	if p := o.Capacity[0]; p.CPUUsed == 0 || p.MemoryUsed == 0 || others.CPUUsed != 0 || others.MemoryUsed != 0 {
		t.Errorf("in use: to its own %d and %d, to others %d and %d thousandths", p.CPUUsed, p.MemoryUsed, others.CPUUsed, others.MemoryUsed)
	}
	// What has been promised for later counts, too.
	option := s.call(next)[0].Options[0]
	s.give(protocol.Award{Job: "next", Epoch: 1, Option: option, MayQueue: true, NotBeforeStart: true, Lease: s.now.Add(10 * time.Second)})
	next.ID = "last"
	if options := s.call(next)[0].Options; len(options) == 0 || options[0].Start != option.Finish {
		t.Errorf("beside 2 of 2 lent until %v it offers %+v", option.Finish, options)
	}
	// An award of a moment ago comes too late, and is declined.
	option.Start, option.Finish = s.now, s.now.Add(time.Hour)
	got := bodies(s.give(protocol.Award{Job: "last", Epoch: 1, Option: option, Lease: s.now.Add(10 * time.Second)}))
	if len(got) != 1 || got[0].(protocol.Decline).Why.Code != protocol.RefusedByTerms {
		t.Errorf("an award beyond what it lends: %+v; want a decline by the terms", got)
	}
}

func TestASiteRunsOthersWithinItsHours(t *testing.T) {
	// Noon is a Wednesday's.
	s := newSiteWithTerms(t, terms.File{Own: []string{"us"}, Hours: []terms.FileHours{{From: "14:00", To: "16:00"}}}, 4)
	guest := ofTenant("guest", job("g", 1))
	guest.Urgency = protocol.UrgencyFlexible
	options := s.call(guest)[0].Options
	if len(options) == 0 || options[0].Start != noon.Add(2*time.Hour) {
		t.Fatalf("it offers %+v; want a first start at 14:00", options)
	}
	for _, o := range options {
		if o.Start < noon.Add(2*time.Hour) || o.Finish > noon.Add(4*time.Hour) {
			t.Errorf("it offers %v to %v; want within 14:00 to 16:00", o.Start, o.Finish)
		}
	}
	guest.Run = 3 * time.Hour
	if m := s.call(guest)[0]; len(m.Options) != 0 {
		t.Errorf("a run longer than its hours is offered %+v", m.Options)
	}
	if options := s.call(ofTenant("us", job("own", 1)))[0].Options; options[0].Start != noon {
		t.Errorf("its own tenant is offered %+v; want a start now", options)
	}
}

// Whatever jobs come, are awarded and end, jobs of others never hold more GPUs than the site
// lends, and start and are planned to end within its hours; and the terms refuse no option that
// was offered a moment ago.
func TestTermsHoldInEveryHistory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := terms.File{Own: []string{"us"}, MostGPUs: number(float64(rapid.IntRange(1, 6).Draw(r, "most")))}
		if rapid.Bool().Draw(r, "hours") {
			f.Hours = []terms.FileHours{{From: "13:00", To: "19:00"}, {From: "19:00", To: "21:00"}}
		}
		s := newSiteWithTerms(t, f, 4, 4)
		running := make(map[protocol.JobID]protocol.Launch)
		started := func(sent []protocol.Message) {
			for _, m := range sent {
				l, ok := m.Body.(protocol.Launch)
				if !ok || running[l.Job.ID].Job.ID != "" {
					continue
				}
				running[l.Job.ID] = l
				if l.Job.Tenant == "us" {
					continue
				}
				if until := s.agent.cfg.Terms.OpenUntil(s.now); until < s.now.Add(l.Run) {
					r.Fatalf("%s starts at %v for %v; the hours end at %v", l.Job.ID, s.now, l.Run, until)
				}
			}
			held := protocol.Milli(0)
			for _, l := range running {
				if l.Job.Tenant != "us" {
					held += l.Job.TotalGPUMilli()
				}
			}
			if held > *s.agent.cfg.Terms.MostGPUs {
				r.Fatalf("%d thousandths of a GPU are lent; want at most %d", held, *s.agent.cfg.Terms.MostGPUs)
			}
		}
		for i := range 25 {
			s.now = s.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(r, "minutes")) * time.Minute)
			for _, id := range slices.Sorted(maps.Keys(running)) { // what is over ends, perhaps late
				if s.agent.fleet.RunOf(id).End <= s.now && rapid.Bool().Draw(r, "ends") {
					epoch := running[id].Epoch
					delete(running, id)
					started(s.exit(id, epoch))
				}
			}
			started(s.agent.Tick(s.now))
			j := drawAsked(r, protocol.JobID(fmt.Sprint("j", i)))
			j.Tenant, j.Arrival = rapid.SampledFrom([]string{"us", "guest", "other"}).Draw(r, "tenant"), s.now
			m := s.call(j)[0]
			if len(m.Options) == 0 {
				continue
			}
			o := rapid.SampledFrom(m.Options).Draw(r, "option")
			sent := s.give(protocol.Award{Job: j.ID, Epoch: 1, Option: o, MayQueue: o.Start > s.now, NotBeforeStart: true, Lease: s.now.Add(10 * time.Second)})
			started(sent)
			for _, m := range sent {
				if d, ok := m.Body.(protocol.Decline); ok && d.Job == j.ID && d.Why.Code == protocol.RefusedByTerms {
					r.Fatalf("%s was offered a start at %v, and the terms refuse the award", j.ID, o.Start)
				}
			}
		}
	})
}
