package learned

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// firmAfter is how many awards a job may lose, because its site declined them, before a start now
// goes into the site's queue, which keeps room for it.
const firmAfter = 3

// soonStart is how far ahead a later start must be to be planned: nearer ones are reserved at the
// site, as there is no time for another call. The auction's own bound is the same.
const soonStart = time.Minute

// A Question is one decision that a learner is asked for. The rule that asks owns it.
type Question struct {
	Observation
	Job  protocol.JobID
	Now  protocol.Time
	Best int // the allowed option that costs least, or Hold
}

// A Rule clears rounds by asking a learner lot by lot. It implements auction.ClearingRule.
//
// The market calls a job when it arrives, at the start that was chosen for it, after its site
// declined it, in the next full round if it is held, and sooner if a run ends. The rule asks each
// time, but for a job whose later start was chosen: that stands until its hour comes, unless the
// learner wants to plan anew.
type Rule struct {
	ask    func(*Question) (action int, note string)
	replan bool // asks about planned jobs in full rounds, too
	memory
	room  roomBook
	all   []candidate
	asked Question
}

// NewRule returns a rule that asks by a function. Its answer must be an action that the mask allows.
func NewRule(ask func(*Question) (int, string), replan bool) *Rule {
	return &Rule{ask: ask, replan: replan, memory: memory{
		awards: make(map[protocol.JobID]int), plan: make(map[protocol.JobID]plannedJob),
		waiting: make(map[protocol.JobID]gpuTime), seen: make(map[protocol.JobID]bool),
	}}
}

// A memory is what the rule keeps between rounds.
type memory struct {
	awards      map[protocol.JobID]int        // so far
	seen        map[protocol.JobID]bool       // called before
	plan        map[protocol.JobID]plannedJob // of deferred jobs
	waiting     map[protocol.JobID]gpuTime    // of deferred and held jobs
	waitingSum  gpuTime
	arrived     []arrival // within the last hour
	arrivedSum  gpuTime
	plannedSort []plannedJob // memory for the plan in order
}

// A gpuTime is thousandths of a GPU times seconds: integers, so that no sum depends on its order.
type gpuTime int64

// gpuTimeOf returns the GPU time of a job at the reference clock.
func gpuTimeOf(j *protocol.Job) gpuTime {
	return gpuTime(j.TotalGPUMilli()) * gpuTime(j.Run/time.Second)
}

// gpuHours returns t in hours of whole GPUs.
func (t gpuTime) gpuHours() float64 { return float64(t) / 3_600_000 }

// A plannedJob is a later start that was chosen for a job.
type plannedJob struct {
	site   string
	option protocol.BidOption
	gpus   protocol.Milli
}

// An arrival is when a job was called first, and its GPU time.
type arrival struct {
	at   protocol.Time
	size gpuTime
}

// ShadowPrices implements auction.ClearingRule. A learner's prices, if it has any, are its own.
func (b *Rule) ShadowPrices() []protocol.ShadowPrice { return nil }

// Clear implements auction.ClearingRule.
func (b *Rule) Clear(r auction.Round) auction.Outcome {
	return auction.Outcome{Decisions: b.decideRound(r, nil)}
}

// DecideInShadow returns what the rule would decide in a round that another rule, the one in force,
// decided as inForce says, lot by lot. What the rule keeps between rounds is what came of the other's
// decisions, so each choice is one in the situation that there was.
func (b *Rule) DecideInShadow(r auction.Round, inForce []auction.Decision) []auction.Decision {
	return b.decideRound(r, inForce)
}

// decideRound decides the lots of a round in their order, and keeps its own decisions or, where there
// are such, those in force.
func (b *Rule) decideRound(r auction.Round, inForce []auction.Decision) (out []auction.Decision) {
	r.Planning = r.Planning.OrDefault()
	b.beginRound(&r)
	for i := range r.Lots {
		job := &r.Lots[i].Job
		d := b.decideLot(&r, &r.Lots[i])
		out = append(out, d)
		if inForce != nil {
			d = inForce[i]
			b.keepPlan(job, d)
		}
		b.noteDecision(job, d)
	}
	return out
}

// beginRound notes arrivals, drops what it knows of jobs that wait no more, and reads the room there
// is.
func (b *Rule) beginRound(r *auction.Round) {
	if r.Full { // it calls every waiting job
		b.forgetUncalled(r)
	}
	for i := range r.Lots {
		b.noteArrival(r.Now, &r.Lots[i].Job)
	}
	b.dropArrivals(r.Now)
	b.plannedSort = b.plannedSort[:0]
	for _, id := range slices.Sorted(maps.Keys(b.plan)) {
		b.plannedSort = append(b.plannedSort, b.plan[id])
	}
	b.room.readRound(r, b.plannedSort)
}

// forgetUncalled forgets the plans and the waiting of jobs that a full round neither called nor left
// out.
func (b *Rule) forgetUncalled(r *auction.Round) {
	called := make(map[protocol.JobID]bool, len(r.Lots))
	for i := range r.Lots {
		called[r.Lots[i].Job.ID] = true
	}
	gone := func(id protocol.JobID) bool {
		_, left := slices.BinarySearch(r.LeftOut, id)
		return !left && !called[id]
	}
	maps.DeleteFunc(b.plan, func(id protocol.JobID, _ plannedJob) bool { return gone(id) })
	maps.DeleteFunc(b.waiting, func(id protocol.JobID, size gpuTime) bool {
		if gone(id) {
			b.waitingSum -= size
			return true
		}
		return false
	})
}

// decideLot decides one lot, and asks the learner if there is something to decide.
func (b *Rule) decideLot(r *auction.Round, l *auction.Lot) auction.Decision {
	was, planned := b.plan[l.Job.ID]
	if p := was; planned {
		if !b.replan && p.option.Start > r.Now && slices.ContainsFunc(l.Bids, func(m auction.SiteBids) bool { return m.Site == p.site }) {
			return b.deferTo(p)
		}
		b.giveUpPlan(l.Job.ID, p)
	}
	b.all = rankOptions(b.all, r, l)
	if len(b.all) == 0 {
		return auction.Decision{Until: r.Next, Why: protocol.Reason{Code: protocol.NoBids}}
	}
	b.observe(r, l, was)
	if b.asked.Best == Hold {
		return b.waitForRoom(r)
	}
	action, note := b.ask(&b.asked)
	if action == Hold {
		return auction.Decision{Until: r.Next, Why: protocol.Reason{Code: protocol.Waiting, Note: note}}
	}
	return b.decideOption(r, l, &b.all[action], note)
}

// waitForRoom holds a job all of whose options were given to others: until sites bid it other ones,
// which they do at once if one was for now.
func (b *Rule) waitForRoom(r *auction.Round) auction.Decision {
	d := auction.Decision{Until: r.Next, Why: protocol.Reason{Code: protocol.Waiting}}
	if b.couldStart(r) {
		d.Until = r.Now
	}
	return d
}

// observe fills the question about a lot, for which a place was planned before, or none.
func (b *Rule) observe(r *auction.Round, l *auction.Lot, was plannedJob) {
	q := &b.asked
	q.Job, q.Now, q.Best = l.Job.ID, r.Now, Hold
	clear(q.Options[:])
	clear(q.Mask[:])
	q.Mask[Hold] = 1
	q.fillJob(r, &l.Job, &b.memory, b.room.fleet/1000)
	gpus := l.Job.TotalGPUMilli()
	least := b.all[0].option.Energy
	for i := range b.all {
		c := &b.all[i]
		c.room = b.room.look(r, c, gpus)
		least = min(least, c.option.Energy)
		if !c.room.gone {
			q.Mask[i] = 1
			q.Best = min(q.Best, i)
		}
	}
	total := b.all[0].quoted.Total()
	base := float64(max(total, -total, 1))
	for i := range b.all {
		q.fillOption(i, r, &l.Job, b.all, base, least, was)
	}
}

// decideOption turns the chosen option into a decision. A start now is awarded. A later start is
// planned, and called again at its hour, unless a plan cannot keep its place: then the site keeps
// it, as it does for the auction. That is so for jobs that may not wait, for several GPUs of one
// node, which never become free together by themselves, and for starts with no time to spare.
func (b *Rule) decideOption(r *auction.Round, l *auction.Lot, c *candidate, note string) auction.Decision {
	gpus := l.Job.TotalGPUMilli()
	b.room.give(r, c, gpus)
	d := auction.Decision{Verdict: auction.Award, Site: r.Sites[c.site].Name, Option: *c.option, Why: protocol.Reason{Code: protocol.ByRule, Note: note}}
	if c.option.Start <= r.Now {
		d.MayQueue = b.awards[l.Job.ID] >= firmAfter
		return d
	}
	short := l.Job.Deadline.Sub(c.option.Finish) < r.Planning.FirmLead
	if l.Job.MayWait() && l.Job.GPUs <= 1 && !short && c.option.Start >= r.Now.Add(soonStart) {
		p := plannedJob{site: d.Site, option: d.Option, gpus: gpus}
		b.plan[l.Job.ID] = p
		return b.deferTo(p)
	}
	d.MayQueue = true
	if c.option.Start >= r.Now.Add(soonStart) && b.couldStart(r) { // the hour was chosen: the site does not start the job before it
		d.Why.Code = protocol.CheaperLater
	}
	return d
}

// couldStart reports whether some site offers the lot in question a start now.
func (b *Rule) couldStart(r *auction.Round) bool {
	return slices.ContainsFunc(b.all, func(c candidate) bool { return c.option.Start <= r.Now })
}

// giveUpPlan drops a job's plan, and its room from that of the round.
func (b *Rule) giveUpPlan(id protocol.JobID, p plannedJob) {
	delete(b.plan, id)
	if q := b.room.poolOf(p.site, p.option.Model); q != nil {
		q.add(q.planned, p.option.Start, p.option.Finish, -p.gpus)
	}
}

// keepPlan keeps the place that a decision in force plans for a job, if it plans one.
func (b *Rule) keepPlan(j *protocol.Job, d auction.Decision) {
	delete(b.plan, j.ID)
	if d.Verdict == auction.Defer && d.Site != "" {
		b.plan[j.ID] = plannedJob{site: d.Site, option: d.Option, gpus: j.TotalGPUMilli()}
	}
}

// deferTo defers a job to its planned start. Sites are not asked again before that, unless the learner is.
func (b *Rule) deferTo(p plannedJob) auction.Decision {
	return auction.Decision{Until: p.option.Start, Fixed: !b.replan, Site: p.site, Option: p.option, Why: protocol.Reason{Code: protocol.CheaperLater}}
}

// noteDecision keeps what later observations say of a decision.
func (m *memory) noteDecision(j *protocol.Job, d auction.Decision) {
	m.waitingSum -= m.waiting[j.ID]
	delete(m.waiting, j.ID)
	if d.Verdict == auction.Award {
		m.awards[j.ID]++
		return
	}
	m.waiting[j.ID] = gpuTimeOf(j)
	m.waitingSum += m.waiting[j.ID]
}

// noteArrival notes a job that is called for the first time.
func (m *memory) noteArrival(now protocol.Time, j *protocol.Job) {
	if m.seen[j.ID] {
		return
	}
	m.seen[j.ID] = true
	m.arrived = append(m.arrived, arrival{now, gpuTimeOf(j)})
	m.arrivedSum += gpuTimeOf(j)
}

// dropArrivals forgets arrivals that lie an hour back.
func (m *memory) dropArrivals(now protocol.Time) {
	for len(m.arrived) > 0 && m.arrived[0].at <= now.Add(-time.Hour) {
		m.arrivedSum -= m.arrived[0].size
		m.arrived = m.arrived[1:]
	}
}
