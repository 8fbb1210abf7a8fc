package bound

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// day is a day at three small sites, one of which is paid for using power at
// noon: n jobs, too many for the sites to be empty.
func day(n int) spec.Scenario {
	start := protocol.FromStdTime(time.Date(2022, 4, 13, 0, 0, 0, 0, time.UTC))
	s := spec.Scenario{
		Name: "three", Seed: 7, Start: start, End: start.Add(24 * time.Hour), Hash: fmt.Sprint("of ", n),
		Weights: spec.Weights{Kappa: 100_000_000, WaitNow: 1_000_000, Late: 10_000_000},
	}
	for i, name := range []string{"coal", "hydro", "solar"} {
		site := spec.Site{Name: name, DayAhead: i > 0, Signals: map[protocol.Quantity][]protocol.Point{
			protocol.GridPUE: {{At: start.Add(-24 * time.Hour), Value: 1200}},
		}}
		for h := range 72 {
			at := start.Add(time.Duration(h-24) * time.Hour)
			noon := int64(12 - max(h%24-12, 12-h%24))
			price := [3]int64{60_000 + 1_000*noon, 50_000, 60_000 - 12_000*noon}[i]
			carbon := [3]int64{700_000, 30_000 + 1_000*noon, 400_000 - 30_000*noon}[i]
			site.Signals[protocol.GridPrice] = append(site.Signals[protocol.GridPrice], protocol.Point{At: at, Value: price})
			site.Signals[protocol.GridCarbon] = append(site.Signals[protocol.GridCarbon], protocol.Point{At: at, Value: carbon})
		}
		for k := range 2 {
			site.Nodes = append(site.Nodes, spec.Node{
				Name: fmt.Sprintf("%s-%d", name, k), CPU: 64_000, Memory: 512 << 10, GPUs: 2 + 2*k,
				Model: []string{"V100", "A100", "T4"}[(i+k)%3], GPUMemory: 16 << 10,
			})
		}
		s.Sites = append(s.Sites, site)
	}
	for i := range n {
		j := protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("job-%04d", i)), Tenant: "lab", Home: s.Sites[i%3].Name, Input: protocol.MiB(i % 4 * 700),
			GPUs: 1 + 3*(i%7/6), Share: 1000, CPU: 4000, Memory: 16 << 10,
			Arrival: start.Add(time.Duration(i) * 24 * time.Hour / time.Duration(n)).Floor(time.Second),
			Run:     time.Duration(5+i*37%170) * time.Minute, Urgency: protocol.StandardOrNow(i%5 != 0),
		}
		switch {
		case i%11 == 0:
			j.Share, j.GPUs = 300, 1
		case i%13 == 0:
			j.Share, j.GPUs = 0, 0
		case i == 17:
			j.GPUs, j.Run = 6, time.Minute // fits nowhere: refused
		}
		j.Deadline = j.Arrival.Add(j.Run + 8*time.Hour)
		if !j.MayWait() {
			j.Deadline = j.Arrival.Add(2*j.Run + time.Hour)
		}
		if j.GPUs == 6 {
			j.Deadline = s.End
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// certify returns a bound whose own check holds.
func certify(t *testing.T, s spec.Scenario, idle bool) Certificate {
	t.Helper()
	c, err := ComputeCertificate(s, Config{Idle: idle, Steps: 80})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Certificate
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	got, err := VerifyCertificate(s, again)
	if err != nil || math.Abs(got-c.BoundUSD) > 1e-4*math.Abs(got)+1e-3 {
		t.Errorf("%s: Check = %v, %v; the certificate says %v", s.Name, got, err, c.BoundUSD)
	}
	return c
}

// busy returns the objective of jobs alone, as the certificate counts it.
func busy(x scenarios.ReplayResult, w protocol.Weights) float64 {
	t := x.Totals
	return t.ObjectiveUSD - t.IdleUSD - t.IdleKg*w.Carbon.InDollars()
}

func TestNoPolicyBeatsTheBound(t *testing.T) {
	for _, n := range []int{20, 80} {
		s := day(n)
		jobs, all := certify(t, s, false), certify(t, s, true)
		for _, policy := range scenarios.PolicyNames() {
			res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
			if err != nil {
				t.Fatal(err)
			}
			of, with := busy(res, jobs.Weights), res.Totals.ObjectiveUSD
			if of < jobs.BoundUSD || with < all.BoundUSD {
				t.Errorf("%s does %d jobs for $%.4f, with idle nodes $%.4f; the bounds are $%.4f and $%.4f", policy, n, of, with, jobs.BoundUSD, all.BoundUSD)
			}
			t.Logf("%-22s %3d jobs  $%.3f against $%.3f; with idle $%.3f against $%.3f", policy, n, of, jobs.BoundUSD, with, all.BoundUSD)
		}
	}
}

// The same with idle draw where little of it is of awake nodes: sites lose their
// power when the only job is done, or draw more asleep than awake.
func TestNoPolicyDrawsLessIdleThanTheBoundSays(t *testing.T) {
	for name, change := range map[string]func(*spec.Scenario, *spec.Site){
		"an outage": func(s *spec.Scenario, x *spec.Site) {
			x.Outages = []spec.Outage{{From: s.Start.Add(24 * time.Hour), To: s.Start.Add(96 * time.Hour)}}
		},
		"nodes that draw more asleep": func(_ *spec.Scenario, x *spec.Site) {
			x.Host = spec.Host{Idle: 10_000, Asleep: 2_000_000}
		},
	} {
		s := calm(day(20))
		s.Hash += name
		s.Jobs = s.Jobs[1:2]
		for i := range s.Sites {
			change(&s, &s.Sites[i])
		}
		c := certify(t, s, true)
		for _, policy := range []string{scenarios.PolicyAuction, "home-fifo"} {
			res, err := scenarios.Replay(t.Context(), s, policy, new(membus.Bus), scenarios.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if with := res.Totals.ObjectiveUSD; with < c.BoundUSD {
				t.Errorf("%s: %s does it for $%.4f; the bound is $%.4f", name, policy, with, c.BoundUSD)
			}
		}
	}
}

// Jobs that their site loses in an outage begin anew. Where power earns they have
// earned by then what no job could that runs once.
func TestNoPolicyEarnsMoreByAnOutageThanTheBoundSays(t *testing.T) {
	s := day(3)
	s.Hash += " and an outage"
	for i := range s.Sites {
		x := &s.Sites[i]
		for q, v := range map[protocol.Quantity]int64{protocol.GridPrice: -100_000, protocol.GridCarbon: 1_000} {
			points := x.Signals[q]
			for h := range 30 * 24 { // for two days; then never again
				if h == len(points) {
					points = append(points, protocol.Point{At: points[h-1].At.Add(time.Hour)})
				}
				if points[h].Value = v; h >= 72 {
					points[h].Value = 50_000
				}
			}
			x.Signals[q] = points
		}
		n := x.Nodes[0]
		gpu, _ := power.DefaultTable().LookupModel(n.Model)
		idle := power.Host{Awake: 100_000}.IdlePower(gpu, n.GPUs)
		x.Nodes, x.Host = x.Nodes[:1], spec.Host{Idle: 100_000, Asleep: idle} // so that being awake earns nothing
	}
	s.Sites[0].Outages = []spec.Outage{{From: s.Start.Add(12 * time.Hour), To: s.Start.Add(20 * time.Hour)}}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		*j = protocol.Job{
			ID: j.ID, Tenant: j.Tenant, Home: s.Sites[0].Name, GPUs: 1, Share: 1000, CPU: 4000, Memory: 16 << 10,
			Arrival: s.Start, Run: 20 * time.Hour, Urgency: protocol.UrgencyStandard, Deadline: s.Start.Add(100 * time.Hour),
		}
	}
	c := certify(t, s, true)
	res, err := scenarios.Replay(t.Context(), s, "home-fifo", new(membus.Bus), scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if with := res.Totals.ObjectiveUSD; with < c.BoundUSD {
		t.Errorf("home-fifo does it for $%.4f; the bound is $%.4f", with, c.BoundUSD)
	} else {
		t.Logf("home-fifo does it for $%.4f; the bound is $%.4f", with, c.BoundUSD)
	}
}

// A search that is stopped returns the reason, and takes at most one further step.
func TestASearchStopsWhenItIsTold(t *testing.T) {
	s, enough := day(20), errors.New("enough")
	for _, cfg := range []Config{{Steps: 100_000}, {Steps: 1, Rounds: 100_000}} {
		asked := 0
		cfg.Stop = func() error {
			if asked++; asked > 3 {
				return enough
			}
			return nil
		}
		if c, err := ComputeCertificate(s, cfg); !errors.Is(err, enough) || asked > 40 {
			t.Errorf("%+v: $%v, %v after asking %d times", cfg, c.BoundUSD, err, asked)
		}
	}
}

func TestACertificateThatWasTouchedProvesNothing(t *testing.T) {
	s := day(40)
	c := certify(t, s, false)
	tests := []struct {
		name  string
		touch func(*Certificate)
	}{
		{"it claims a cent more", func(c *Certificate) { c.BoundUSD += 0.01 }},
		{"it is of another scenario", func(c *Certificate) { c.Hash = "another" }},
		{"it has other weights", func(c *Certificate) { c.Weights.Late++ }},
		{"a price is below zero", func(c *Certificate) { c.Pools[0].Values = append(c.Pools[0].Values, -1) }},
		{"it is of a later schema", func(c *Certificate) { c.Schema++ }},
		{"it has no slots", func(c *Certificate) { c.Slot = 0 }},
		{"its slots are no part of an hour", func(c *Certificate) { c.Slot = 40 * time.Minute }},
		{"its slots begin later", func(c *Certificate) { c.From += 3 * 3_600_000 }},
		{"it leaves nodes out, on which jobs run for less", func(c *Certificate) { c.Pools, c.BoundUSD = nil, c.BoundUSD+1 }},
		{"it prices nodes twice", func(c *Certificate) { c.Pools = append(c.Pools, c.Pools[0]) }},
	}
	for _, tc := range tests {
		x := c
		x.Pools = append([]PricedPool(nil), c.Pools...)
		tc.touch(&x)
		if _, err := VerifyCertificate(s, x); err == nil {
			t.Errorf("%s: Check finds nothing wrong", tc.name)
		}
	}
}

func TestTheBoundOfARealDayHolds(t *testing.T) {
	s, err := spec.LoadScenario("real-days/negative_de_2021-05-22", spec.Options{Data: "../../../shared/data", MaxJobs: 300})
	if err != nil {
		t.Skipf("recorded data is not here: %v", err)
	}
	certify(t, s, false)
	certify(t, s, true)
	for i := range s.Jobs {
		s.Jobs[i].Pause = s.Jobs[i].Run / 20
	}
	certify(t, s, false)
	certify(t, s, true)
}
