package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// roundTimes plays four sites and many jobs, and returns how long each round took, from the call to
// the first decision. harm does something to the last site; it sees each message before it is sent,
// and returns true to keep it back.
func roundTimes(t *testing.T, begin func(*faultRun, *simHost), harm func(*faultRun, *simHost, protocol.Message) bool) (all []time.Duration) {
	t.Helper()
	const long = 2 * time.Minute
	p, err := newFaultRun(7, FaultPlan{Sites: 4, Jobs: 40, MaxDelay: time.Millisecond, FaultPeriod: long}, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.hosts, func(h *simHost) bool { return h.party == "agent/site-d" })
	begin(p, p.hosts[i])
	called := make(map[uint64]protocol.Time)
	decided := func(round uint64) {
		if at, open := called[round]; open && p.now < startTime.Add(long) {
			all = append(all, p.now.Sub(at))
		}
		delete(called, round)
	}
	p.beforeSend = func(from *simHost, m protocol.Message) bool {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			called[b.Round] = p.now
		case protocol.Award:
			decided(b.Round)
		case protocol.Defer:
			decided(b.Round)
		}
		return harm(p, from, m)
	}
	if wrong := p.runToEnd(); wrong != nil {
		t.Fatal(wrong)
	}
	if len(all) < 20 {
		t.Fatalf("%d rounds", len(all))
	}
	return all
}

// delayedRounds returns how many rounds took more than four times a usual duration.
func delayedRounds(all []time.Duration, usual time.Duration) (n int) {
	for _, d := range all {
		if d > 4*usual {
			n++
		}
	}
	return n
}

// A site that dies costs the rounds one window, and a site that becomes slow a few, until the market
// knows how slow it is. Then rounds take no longer than with four healthy sites, of which a round is
// delayed only where the network brings a bid after a later message of its site: that is lost.
func TestADeadOrSlowSiteDelaysFewRounds(t *testing.T) {
	noHarm := func(*faultRun, *simHost, protocol.Message) bool { return false }
	healthy := roundTimes(t, func(*faultRun, *simHost) {}, noHarm)
	usual := slices.Sorted(slices.Values(healthy))[len(healthy)/2]
	t.Logf("healthy: %d of %d rounds delayed, median %v", delayedRounds(healthy, usual), len(healthy), usual)
	for _, tc := range []struct {
		name  string
		begin func(*faultRun, *simHost)
		harm  func(*faultRun, *simHost, protocol.Message) bool
		most  int // more delayed rounds than with healthy sites
	}{
		{"dead", func(p *faultRun, h *simHost) {
			p.scheduleAfter(20*time.Second, func() { bury(h) })
			p.scheduleAfter(3*time.Minute, func() { // its jobs must end, too
				h.neverRestarts = false
				h.restartProcess()
			})
		}, noHarm, 2},
		{"slow", func(*faultRun, *simHost) {}, func(p *faultRun, from *simHost, m protocol.Message) bool {
			if from.party != "agent/site-d" || m.To != protocol.Coordinator || p.now < startTime.Add(20*time.Second) {
				return false
			}
			p.scheduleAfter(3*time.Second, func() { // all alike, so that they keep their order
				for _, to := range p.hosts {
					if to.isAddressee(m) {
						to.receiveMessage(m)
					}
				}
			})
			return true
		}, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := roundTimes(t, tc.begin, tc.harm)
			delayed := delayedRounds(all, usual)
			t.Logf("%d of %d rounds delayed, median %v, longest %v", delayed, len(all), slices.Sorted(slices.Values(all))[len(all)/2], slices.Max(all))
			if most := delayedRounds(healthy, usual) + tc.most; delayed > most {
				t.Errorf("%d rounds were delayed; want %d at most", delayed, most)
			}
		})
	}
}
