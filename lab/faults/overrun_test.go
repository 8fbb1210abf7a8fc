package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// G-B7: a gang that is promised its nodes starts as late as the run before it ends, if that is ten minutes late. If it is
// forty, the site gives the gang back 15 minutes after the promise, and it is awarded anew, perhaps more than once.
func TestAPromiseSlipsByWhatTheRunBeforeItTakes(t *testing.T) {
	for late, again := range map[time.Duration]bool{10 * time.Minute: false, 40 * time.Minute: true} {
		busy, _ := drawStream(rand.New(rand.NewPCG(1, 7)), 2)
		busy = busy[:1]
		busy[0].Run = 30 * time.Minute
		busy[0] = busy[0].WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 2, Share: 1000, CPU: 1000, Memory: 512}})
		gang := smallJob("job-gang", startTime.Add(5*time.Minute), 10*time.Minute)
		gang = gang.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 2, Share: 1000, CPU: 1000, Memory: 512}})
		p := newSlowRun(t, 0, 2, append(busy, gang))
		var promised, started, declined protocol.Time
		var epoch uint64
		p.beforeSend = func(_ *simHost, m protocol.Message) bool {
			switch b := m.Body.(type) {
			case protocol.Accept:
				if b.Job == gang.ID && promised == 0 {
					promised = b.Start
					p.scheduleAt(promised.Add(-time.Minute), func() { // its executor says nothing for so long
						for _, h := range p.hosts {
							if h.party.SiteName() == "site-a" && h.party != protocol.AgentParty("site-a") {
								h.paused = true
								p.scheduleAfter(late+time.Minute, h.endPause)
							}
						}
					})
				}
			case protocol.Decline:
				if b.Job == gang.ID && declined == 0 {
					declined = p.now
				}
			case protocol.Launch:
				if b.Job.ID == gang.ID && started == 0 {
					started, epoch = p.now, b.Epoch
				}
			}
			return false
		}
		if wrong := p.runToEnd(); wrong != nil {
			t.Fatal(wrong)
		}
		if off := started.Sub(promised) - late; off < -time.Minute || off > 10*time.Minute || (epoch > 1) != again {
			t.Errorf("%v late: promised %s, started %s under epoch %d; awarded again: want %t", late, sinceStart(promised), sinceStart(started), epoch, again)
		}
		if at := declined.Sub(promised); (declined != 0) != again || declined != 0 && (at < 15*time.Minute || at > 20*time.Minute) {
			t.Errorf("%v late: promised %s, given back %s", late, sinceStart(promised), sinceStart(declined))
		}
	}
}
