package faults

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// newDividedRun returns a run of one job in two parts, each of which fills one of two sites.
func newDividedRun(t *testing.T) *faultRun {
	t.Helper()
	for seed := range uint64(200) {
		p, err := newFaultRun(seed, FaultPlan{Sites: 2, Jobs: 1, Divided: 1000, MaxDelay: time.Millisecond, FaultPeriod: time.Second}, true)
		if err != nil {
			t.Fatal(err)
		}
		if j := p.oracle.preempt.jobs["job-1"]; len(j.Parts) == 2 && j.PodCount() == 4 && len(j.Models) == 0 && len(p.oracle.has) == 2 {
			j := &p.oracle.submitter.jobs[0]
			j.Run, j.Deadline = 30*time.Minute, j.Arrival.Add(2*time.Hour)
			return p
		}
	}
	t.Fatal("no seed draws a job in two parts of two pods, and two sites of one node")
	return nil
}

// A harm is done at a message of the first award of part 2: to the site that won it, which is B, or to the other, A.
type harm struct {
	name string
	at   func(m protocol.Message, b string) bool
	lose bool // the message is lost
	do   func(p *faultRun, b string)
	more func(m protocol.Message, a string) bool // lost, too, once the harm is done
	runs int                                     // of both parts together, at the least
	void bool                                    // the first award does not stand
}

func (p *faultRun) cutOff(b string, d time.Duration) {
	for _, h := range p.hosts {
		if h.party == protocol.AgentParty(b) {
			for s := range 30 { // the end of the faults joins all hosts, within 20 s
				p.scheduleAfter(time.Duration(s)*time.Second, func() { h.partitioned = true })
			}
			p.scheduleAfter(d, func() { h.partitioned = false })
		}
	}
}

// killCoordinator kills the one that leads.
func killCoordinator(p *faultRun, _ string) {
	for _, h := range p.hosts {
		if h.marketOf() != nil {
			h.crashProcess("killed")
		}
	}
}

var (
	awardToB  = func(m protocol.Message, b string) bool { return isA[protocol.Award](m) && m.To.SiteName() == b }
	acceptOfB = func(m protocol.Message, b string) bool { return isA[protocol.Accept](m) && m.From.SiteName() == b }
	standsToB = func(m protocol.Message, b string) bool {
		c, ok := m.Body.(protocol.Confirm)
		return ok && c.Code == protocol.AcceptConfirmed && m.To.SiteName() == b
	}
	voidToA = func(m protocol.Message, a string) bool {
		c, ok := m.Body.(protocol.Confirm)
		return ok && c.Code == protocol.AwardVoid && m.To.SiteName() == a
	}
)

var harms = []harm{
	{name: "G-X1: nothing", at: func(protocol.Message, string) bool { return false }, runs: 2},
	{name: "G-X2: B declines", at: awardToB, lose: true, runs: 2, void: true, do: func(p *faultRun, b string) {
		for _, h := range p.hosts {
			if h.party == protocol.AgentParty(b) {
				w := p.oracle.preempt.jobs["job-1"]
				for _, j := range w.PartJobs() {
					s := protocol.Sender{Party: h.party, Incarnation: h.incarnations}
					for range 1000 { // so that its number is above those that the agent has used
						s.NewMessage(p.now, "", protocol.Confirm{})
					}
					p.sendMessage(h, s.NewMessage(p.now, protocol.Coordinator, protocol.Decline{Job: j.ID, Epoch: 1, Why: protocol.Reason{Code: protocol.CapacityTaken}}))
				}
				h.crashProcess("killed")
			}
		}
	}},
	{name: "G-X3: B is silent, and the Void to A is lost too", at: awardToB, lose: true, more: voidToA, runs: 2, void: true},
	{name: "G-X4: the coordinator dies before it commits", at: acceptOfB, lose: true, do: killCoordinator, runs: 2},
	{name: "G-X5: the coordinator dies before it confirms", at: standsToB, lose: true, do: killCoordinator, runs: 2},
	{name: "G-X5: B hears of it after its lease", at: standsToB, lose: true, runs: 3, do: func(p *faultRun, b string) { p.cutOff(b, 2*time.Minute) }},
	{name: "G-X6: B stands and never says that it runs", at: standsToB, runs: 3, do: func(p *faultRun, b string) {
		p.scheduleAfter(10*time.Millisecond, func() { p.cutOff(b, 40*time.Minute) })
	}},
}

func TestEachHarmToAJobInParts(t *testing.T) {
	for _, x := range harms {
		t.Run(x.name, func(t *testing.T) {
			p := newDividedRun(t)
			a, b, done, decided := "", "", false, false
			p.beforeSend = func(_ *simHost, m protocol.Message) bool {
				if w, ok := m.Body.(protocol.Award); ok && w.Epoch == 1 {
					if w.Job == "job-1.2" {
						b = m.To.SiteName()
					} else {
						a = m.To.SiteName()
					}
				}
				if d, ok := m.Body.(protocol.PartsDecided); ok && !decided {
					if decided = true; d.Committed == x.void {
						t.Errorf("the first award: %s", describeParts(d))
					}
				}
				if done && x.more != nil && x.more(m, a) {
					return true
				}
				if done || b == "" || !x.at(m, b) {
					return false
				}
				done = true
				if x.do != nil {
					p.scheduleAfter(0, func() { x.do(p, b) })
				}
				return x.lose
			}
			if wrong := p.runToEnd(); wrong != nil {
				t.Fatal(wrong)
			}
			runs := len(p.oracle.jobs["job-1.1"].sitesRunAt) + len(p.oracle.jobs["job-1.2"].sitesRunAt)
			if done != (x.runs > 2 || x.lose) || runs != x.runs || p.oracle.jobs["job-1"].outcome != "settled" {
				t.Errorf("harmed %t, %d runs, want %d; %s", done, runs, x.runs, p.oracle.jobs["job-1"].outcome)
			}
		})
	}
}
