package faults

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// Divide plants no bug, but in its plans many jobs have parts that may go to different sites.
const Divide PlantedBug = "divided"

// divideJobs makes a plan one of jobs in parts; the nodes of every other two seeds sleep.
func (p *FaultPlan) divideJobs(seed uint64) {
	p.Sites, p.Jobs = 2+int(seed%2), max(p.Jobs, 3)
	p.Divided, p.Preempting, p.Quotas, p.MostGPUsForOthers, p.Gangs = 700, 0, false, 0, p.Gangs/3
	p.Sleep = seed%4 > 1
}

// drawParts makes a job one of two or three parts, of a pod or two with a GPU each.
func (p *faultRun) drawParts(j protocol.Job) protocol.Job {
	n := 2 + p.dice.IntN(2)
	j.MinPods, j.Speed = 0, nil
	j, _ = j.WithPods([]protocol.Component{{Role: "worker", Pods: n * (1 + p.dice.IntN(2)), GPUs: 1, Share: 1000, CPU: 1000, Memory: 512}}).WithEqualParts(n)
	j.MaxSites = 2 + p.dice.IntN(n-1)
	if p.dice.IntN(3) == 0 { // it still runs at the start deadline
		j.Run, j.Deadline = 30*time.Minute, j.Arrival.Add(2*time.Hour)
	}
	return j
}

// partRecord is what the oracle knows of jobs in parts.
type partRecord struct {
	parts     map[protocol.JobID][]protocol.JobID // by whole
	whole     map[protocol.JobID]protocol.JobID   // by part
	accepted  map[run]bool                        // parts that a site accepted, by the stream
	started   map[run]bool                        // parts that a site reported to run, by the stream
	committed map[run]bool                        // wholes that stand, by the stream
	halfSince map[protocol.JobID]protocol.Time    // wholes of which some parts run, and others neither run nor have ended
	epoch     map[protocol.JobID]uint64           // under which a part runs
	until     map[protocol.JobID]protocol.Time    // by when parts of a whole run together, or are stopped, by the stream
}

// Parts of a job may run without the others until the start deadline: their promised starts are at most 15 minutes
// apart, a site may start 15 minutes late, and nodes may take 5 to wake. After that, and once all faults are over, a
// Preempt, which is repeated, comes within stopLimit.
const (
	halfGangLimit = 35*time.Minute + stopLimit
	stopLimit     = 3 * time.Minute
)

// expectParts registers the parts of a job that will be submitted.
func (o *faultOracle) expectParts(j protocol.Job) {
	if o.part.parts == nil {
		o.part = partRecord{
			make(map[protocol.JobID][]protocol.JobID), make(map[protocol.JobID]protocol.JobID), make(map[run]bool), make(map[run]bool), make(map[run]bool),
			make(map[protocol.JobID]protocol.Time), make(map[protocol.JobID]uint64), make(map[protocol.JobID]protocol.Time),
		}
	}
	for _, p := range j.PartJobs() {
		o.part.parts[j.ID], o.part.whole[p.ID] = append(o.part.parts[j.ID], p.ID), j.ID
		o.jobs[p.ID] = &observedJob{job: p, epochsSeen: make(map[uint64]bool)}
		o.preempt.jobs[p.ID] = p
	}
}

// foldPartsDecided checks what is decided about parts on the stream: a commit needs every Accept, and comes once.
func (o *faultOracle) foldPartsDecided(b protocol.PartsDecided) {
	r := run{b.Job, b.Epoch}
	if b.Committed {
		o.run.sum.Committed++
		for _, p := range b.Parts {
			if !o.part.accepted[run{p.Part, b.Epoch}] {
				o.run.reportViolation("half a gang: %s is committed under epoch %d, and no site has accepted %s", b.Job, b.Epoch, p.Part)
			}
		}
		o.part.committed[r] = true
		o.part.until[b.Job] = b.StartBy.Add(stopLimit)
		return
	}
	o.part.until[b.Job] = max(o.run.now, startTime.Add(o.run.plan.FaultPeriod)).Add(stopLimit)
	o.run.sum.Voided++
	for _, p := range b.Parts {
		if o.part.committed[r] {
			o.preempt.asked[run{p.Part, b.Epoch}] = true
		} else {
			o.preempt.gone(p.Part, b.Epoch)
		}
	}
}

// checkMissedStart checks a durable statement that a site did not start a part, which counts against its trust:
// the site has accepted it, all parts stood, and the site has not reported that it runs; or no Accept of it is on the
// stream at the cut-off, all parts are void, and another site has accepted its own.
func (o *faultOracle) checkMissedStart(site string, b protocol.Preempt) {
	r := run{b.Job, b.Epoch}
	o.run.sum.Missed++
	o.run.addToStory("(%s did not start %s)", site, b.Job)
	whole := o.part.whole[b.Job]
	if !o.part.accepted[r] && !o.part.committed[run{whole, b.Epoch}] && slices.ContainsFunc(o.part.parts[whole], func(id protocol.JobID) bool { return o.part.accepted[run{id, b.Epoch}] }) {
		o.run.sum.Silent++
		return
	}
	if !o.part.accepted[r] || !o.part.committed[run{whole, b.Epoch}] || o.part.started[r] {
		o.run.reportViolation("%s at %s counts as not started under epoch %d; accepted %t, started %t", b.Job, site, b.Epoch, o.part.accepted[r], o.part.started[r])
	}
}

// checkPartStart checks that a part starts only under an award whose parts all stand.
func (o *faultOracle) checkPartStart(l protocol.Launch, site string) {
	whole, ok := o.part.whole[l.Job.ID]
	if !ok {
		return
	}
	o.part.epoch[l.Job.ID] = l.Epoch
	if !o.part.committed[run{whole, l.Epoch}] {
		o.run.reportViolation("half a gang: %s runs at %s under epoch %d, under which %s does not stand", l.Job.ID, site, l.Epoch, whole)
	}
	sites := map[string]bool{site: true}
	for _, id := range o.part.parts[whole] {
		f := o.jobs[id]
		if id != l.Job.ID && f.ran == 0 && f.outcome == "" && !o.part.accepted[run{id, l.Epoch}] {
			o.run.reportViolation("half a gang: %s runs at %s under epoch %d, and no site has accepted %s", l.Job.ID, site, l.Epoch, id)
		}
		if f.site != "" && o.part.epoch[id] == l.Epoch {
			sites[f.site] = true
		}
	}
	if most := o.preempt.jobs[whole].MaxSites; len(sites) > most {
		o.run.reportViolation("%s runs at %d sites, and may at %d", whole, len(sites), most)
	}
}

// checkHalves checks that no part of a job runs for long while another neither runs nor has ended.
func (o *faultOracle) checkHalves() {
	for _, whole := range slices.Sorted(maps.Keys(o.part.parts)) {
		running, missing := 0, 0
		for _, id := range o.part.parts[whole] {
			switch f := o.jobs[id]; {
			case f.site != "":
				running++
			case f.ran == 0 && f.outcome == "":
				missing++
			}
		}
		since, half := o.part.halfSince[whole]
		switch {
		case running == 0 || missing == 0:
			delete(o.part.halfSince, whole)
		case !half:
			o.part.halfSince[whole] = o.run.now
		case o.run.now.Sub(since) > halfGangLimit || o.run.now > o.part.until[whole]:
			o.run.reportViolation("half a gang: %d parts of %s run since %s, and %d do not", running, whole, sinceStart(since), missing)
		}
	}
}

// partOutcome follows the outcome of a part: a job in parts is settled once all of them have one.
func (o *faultOracle) partOutcome(id protocol.JobID) {
	whole, ok := o.part.whole[id]
	if !ok || o.jobs[whole].outcome != "" {
		return
	}
	for _, p := range o.part.parts[whole] {
		if o.jobs[p].outcome == "" {
			return
		}
	}
	o.recordOutcome(whole, "settled")
}

// partsRefused ends the parts that are open of a job that is refused. Of a job that is cancelled some may have run;
// if all have, it is settled already.
func (o *faultOracle) partsRefused(whole protocol.JobID) {
	if f := o.jobs[whole]; len(o.part.parts[whole]) > 0 && f.outcome == "settled" && f.cancelled {
		f.outcome = ""
	}
	for _, id := range o.part.parts[whole] {
		if f := o.jobs[id]; f.outcome == "" {
			if f.site != "" || f.ran > 0 && !f.cancelled {
				o.run.reportViolation("%s was refused, and has run", id)
			}
			o.recordOutcome(id, "refused")
		}
	}
}

// checkNothingHeld checks, when all jobs in parts are over, that no site holds room for any: no lease outlives its
// time, whether or not its site heard that the award was void.
func (o *faultOracle) checkNothingHeld() {
	for _, h := range o.run.hosts {
		a, ok := h.machine.(*agents.Agent)
		if !ok || o.run.plan.Divided == 0 {
			continue
		}
		if s := a.StateAt(h.localTime()); s.Runs > 0 {
			o.run.reportViolation("%s holds room for %d jobs, and all are over", h.name, s.Runs)
		}
	}
}

// A hastyMarket has a planted bug (G-X7): it takes all parts of a job as accepted once one is.
type hastyMarket struct {
	*market.Market
	whole  map[protocol.JobID]protocol.JobID
	awards map[protocol.JobID]protocol.Message // of parts, the last ones
	seen   map[protocol.Party]uint64           // the last number of each agent
	events []protocol.Message
}

func newHastyMarket(m *market.Market) *hastyMarket {
	return &hastyMarket{Market: m, whole: make(map[protocol.JobID]protocol.JobID), awards: make(map[protocol.JobID]protocol.Message), seen: make(map[protocol.Party]uint64)}
}

// Events implements bus.EventSourced.
func (h *hastyMarket) Events() []protocol.Message { return h.events }

// Tick implements bus.Machine.
func (h *hastyMarket) Tick(now protocol.Time) []protocol.Message {
	said := h.note(h.Market.Tick(now))
	h.events = append(h.events[:0], h.Market.Events()...)
	return said
}

// Step implements bus.Machine, with the planted bug: it invents the Accepts that are missing, and does not store them.
func (h *hastyMarket) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	h.events = h.events[:0]
	h.seen[m.From] = max(h.seen[m.From], m.Seq)
	var said []protocol.Message
	if a, ok := m.Body.(protocol.Accept); ok && h.whole[a.Job] != "" {
		for _, id := range slices.Sorted(maps.Keys(h.awards)) {
			w, _ := h.awards[id].Body.(protocol.Award)
			if id == a.Job || h.whole[id] != h.whole[a.Job] || w.Epoch != a.Epoch || h.awards[id].To == m.From {
				continue
			}
			h.seen[h.awards[id].To]++
			forged := protocol.Message{Version: protocol.Current, At: now, From: h.awards[id].To, Seq: h.seen[h.awards[id].To], To: protocol.Coordinator, Body: protocol.Accept{Job: id, Epoch: a.Epoch, Start: now}}
			said = append(said, h.Market.Step(now, forged)...)
			for _, f := range h.Market.Events() {
				if f.From != forged.From || f.Seq != forged.Seq {
					h.events = append(h.events, f)
				}
			}
		}
	}
	said = h.note(append(said, h.Market.Step(now, m)...))
	h.events = append(h.events, h.Market.Events()...)
	return said
}

// note remembers which parts there are, and their awards.
func (h *hastyMarket) note(said []protocol.Message) []protocol.Message {
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			for _, j := range b.Jobs {
				if j.PartOf != "" {
					h.whole[j.ID] = j.PartOf
				}
			}
		case protocol.Award:
			if h.whole[b.Job] != "" {
				h.awards[b.Job] = m
			}
		}
	}
	return said
}

// marketOf returns the market of a host; nil if it has none.
func (h *simHost) marketOf() *market.Market {
	switch m := h.machine.(type) {
	case *market.Market:
		return m
	case *hastyMarket:
		return m.Market
	}
	return nil
}

// describeParts says what was decided about parts, for the story.
func describeParts(b protocol.PartsDecided) string {
	return fmt.Sprintf("%s epoch %d committed %t %s", b.Job, b.Epoch, b.Committed, b.Why.Code)
}
