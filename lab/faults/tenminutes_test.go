package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// leadingMarket returns the market of the coordinator that leads; nil if none does.
func (p *faultRun) leadingMarket() *market.Market {
	for _, h := range p.hosts {
		if m, ok := h.machine.(*market.Market); ok && h.party == protocol.Coordinator && !h.down && !h.off {
			return m
		}
	}
	return nil
}

// heldBy returns the GPUs that a tenant's quota says its runs hold, and those with its planned runs.
func heldBy(m *market.Market, now protocol.Time, tenant string) (running, all protocol.Milli) {
	for _, q := range m.QuotaStatuses(now) {
		if q.Name == tenant {
			return q.Running[""], q.Running[""] + q.Planned[""]
		}
	}
	return 0, 0
}

// The coordinator is away for ten minutes, and sites have jobs of their own, whose tenants may hold 8 GPUs: the sites
// run them, and nothing runs twice or is lost, as the oracle sees it. Once the coordinator is back the quotas say what
// sites have, no more and no less, and nothing is awarded to start that passes a max with what was started alone.
func TestTenMinutesWithoutACoordinator(t *testing.T) {
	const most, settled = 8000, 5 * time.Second // GPUs in thousandths; in which what sites say has arrived
	alone, looked := 0, 0
	for seed := range uint64(10) {
		plan := DrawPlanWith(seed, Outage)
		plan.Outage, plan.FaultPeriod, plan.CutOff, plan.MostSites = 10*time.Minute, 10*time.Minute, false, 0
		plan.LossRate, plan.DuplicateRate, plan.CrashRate, plan.Skew, plan.Cancel, plan.MaxDelay = 0, 0, 0, 0, 0, 5*time.Millisecond
		p, err := newFaultRun(seed, plan, true)
		if err != nil {
			t.Fatal(err)
		}
		var tenants []string
		for _, site := range p.oracle.sites {
			tenants = append(tenants, queueTenant(site))
			p.quotas = append(p.quotas, protocol.Quota{Name: queueTenant(site), Max: most, Weight: 1000})
		}
		p.quotas = append(p.quotas, protocol.Quota{Name: "*", Weight: 1000})
		for i := range 8 { // that want room when the coordinator is back
			j := smallJob(fmt.Sprint("job-late-", i), startTime.Add(plan.Outage+time.Duration(4*i)*time.Second), time.Minute)
			j.Tenant, j.GPUs, j.Urgency = tenants[i%len(tenants)], 4+i%5, protocol.UrgencyNow
			p.submitMore(j)
		}
		p.beforeSend = func(_ *simHost, m protocol.Message) bool {
			if a, ok := m.Body.(protocol.Award); ok && a.Why.Code != protocol.StartedAlone && a.Option.Start <= p.now.Add(time.Second) {
				j := p.oracle.preempt.jobs[a.Job]
				if held := protocol.Milli(1000 * (p.oracle.held(j.Tenant) + j.GPUs)); slices.Contains(tenants, j.Tenant) && held > most {
					p.reportViolation("%s is awarded to start now, and its tenant then holds %d of %d thousandths of GPUs", a.Job, held, most)
				}
			}
			return false
		}
		var look func()
		look = func() {
			lead := p.leadingMarket()
			if lead == nil { // the outage lasts
				p.scheduleAfter(settled, look)
				return
			}
			for _, tenant := range tenants {
				running, all := heldBy(lead, p.now, tenant)
				held := protocol.Milli(1000 * p.oracle.held(tenant))
				if looked++; running > held || held > all {
					p.reportViolation("sites have %d thousandths of GPUs for %s; its quota says that %d are held and %d planned", held, tenant, running, all-running)
				}
			}
			if p.now < startTime.Add(13*time.Minute) {
				p.scheduleAfter(time.Second, look)
			}
		}
		p.scheduleAt(startTime.Add(plan.Outage-time.Second), look)
		if wrong := p.runToEnd(); wrong != nil {
			t.Fatalf("seed %d: %v", seed, wrong)
		}
		if p.sum.Ran+p.sum.Refused < p.sum.Jobs {
			t.Errorf("seed %d: of %d jobs %d ran", seed, p.sum.Jobs, p.sum.Ran)
		}
		alone += p.sum.Alone
		if lead := p.leadingMarket(); lead != nil {
			for _, tenant := range tenants {
				if _, all := heldBy(lead, p.now, tenant); all != 0 {
					t.Errorf("seed %d: all jobs are over, and the quota of %s has %d thousandths of GPUs", seed, tenant, all)
				}
			}
		}
	}
	t.Logf("%d jobs were started without a coordinator, and quotas were looked at %d times afterwards", alone, looked)
	if alone < 40 || looked < 1000 {
		t.Errorf("%d jobs were started alone, and quotas looked at %d times: too few to judge", alone, looked)
	}
}
