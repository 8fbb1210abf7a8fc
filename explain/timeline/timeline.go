// Package timeline is a run that can be opened at any instant: who was doing what,
// what it had cost until then, what was decided last and why, and the charts of
// it. The page, the command line and MCP show the same Timeline; it is filled from
// the messages of a run, read from a ledger or from a federation that runs.
//
// Promises: the Timeline at an instant holds what was sent until then, and of the
// past nothing that was only sent later, except when a job ended; its figures
// are copied from messages or are sums of theirs; a decision has the id that
// explain/query cites it by.
package timeline

import (
	"slices"
	"sort"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Timeline is one run. It is for one goroutine at a time.
type Timeline struct {
	*query.Dataset                  // answers questions about the run
	history        *history.History // the Dataset's
	totals         []history.Totals
	read           uint64

	entries []Entry        // of history.AllDecisions, each with the position at which it was read
	byID    map[uint64]int // into entries
	ofJob   map[protocol.JobID][]int

	shown   window   // of windowAt
	busiest struct { // BusiestHour, and after how many messages it was
		read uint64
		at   protocol.Time
	}
}

// New returns an empty Timeline. Totals are the figures of all policies that were
// replayed over the same jobs; nil without.
func New(totals []history.Totals) *Timeline {
	log := query.NewDataset(totals)
	return &Timeline{Dataset: log, history: log.History(), totals: totals, byID: make(map[uint64]int), ofJob: make(map[protocol.JobID][]int)}
}

// AddMessage reads the next message of the run. One that its sender may not send has no effect,
// but counts as a position.
func (d *Timeline) AddMessage(m protocol.Message) {
	d.read++
	d.Dataset.AddMessage(m)
	for _, x := range d.history.AllDecisions()[len(d.entries):] {
		d.listDecision(x)
	}
}

// An Entry is one decision.
type Entry struct {
	history.DecisionRef
	N     uint64 // how many messages of the run were read with it; rises from entry to entry
	ID    string // "D-14"
	Why   string
	Held  int           // of a hold: how many of the job come one after another, with this one
	Since protocol.Time // of a hold: when the first of them was
}

// listDecision lists a decision that was read with the newest message, under its position: a
// client that knows the position gets only what came after.
func (d *Timeline) listDecision(x history.DecisionRef) {
	e := Entry{DecisionRef: x, N: d.read, ID: record.DecisionID(x.Number), Why: narrate.ReasonWithNote(x.Why)}
	if e.Kind == "hold" {
		e.Held, e.Since = 1, e.At
		if before, ok := d.LastDecision(x.Job); ok && before.Kind == "hold" {
			e.Held, e.Since = before.Held+1, before.Since
		}
	}
	d.byID[x.Number] = len(d.entries)
	d.ofJob[x.Job] = append(d.ofJob[x.Job], len(d.entries))
	d.entries = append(d.entries, e)
}

// MessageCount returns how many messages have been added.
func (d *Timeline) MessageCount() uint64 { return d.read }

// DecisionsSince returns up to n decisions that were read after the first so many
// messages, oldest first.
func (d *Timeline) DecisionsSince(read uint64, n int) []Entry {
	i := sort.Search(len(d.entries), func(i int) bool { return d.entries[i].N > read })
	return slices.Clone(d.entries[i:min(i+n, len(d.entries))])
}

// DecisionsUntil returns the last n decisions until an instant, newest first, of those that were
// read before position before; 0 is no limit. Of holds of one job that come one after another it has the
// last alone, which counts the others (Entry.Held).
func (d *Timeline) DecisionsUntil(at protocol.Time, before uint64, n int) (all []Entry) {
	end := sort.Search(len(d.entries), func(i int) bool { return d.entries[i].At > at })
	until := end
	if before > 0 {
		end = min(end, sort.Search(len(d.entries), func(i int) bool { return d.entries[i].N >= before }))
	}
	for i := end - 1; i >= 0 && len(all) < n; i-- {
		if e := d.entries[i]; e.Kind != "hold" || !d.isHeldAgain(e.Job, i, until) {
			all = append(all, e)
		}
	}
	return all
}

// isHeldAgain reports whether the next decision on a job after the i-th, of those before until, is a hold.
func (d *Timeline) isHeldAgain(job protocol.JobID, i, until int) bool {
	all := d.ofJob[job]
	k := sort.SearchInts(all, i+1)
	return k < len(all) && all[k] < until && d.entries[all[k]].Kind == "hold"
}

// BusiestHour returns the hour in which jobs held most GPUs: of several the first; the end of the
// record, if none did.
func (d *Timeline) BusiestHour() protocol.Time {
	if d.busiest.read == d.read {
		return d.busiest.at
	}
	first, last := d.TimeSpan()
	from, to := d.chartWindow()
	held, sum := d.history.GPUsHeldBySite(from, to, time.Hour), make([]protocol.Milli, int(to.Sub(from)/time.Hour))
	for _, name := range d.history.ReportingSiteNames() {
		for i, v := range held[name] {
			sum[i] += v
		}
	}
	d.busiest.read, d.busiest.at = d.read, last
	if i := slices.Index(sum, slices.Max(sum)); sum[i] > 0 {
		d.busiest.at = min(max(from.Add(time.Duration(i)*time.Hour+30*time.Minute), first), last)
	}
	return d.busiest.at
}

// DecisionRecord returns a decision as a document.
func (d *Timeline) DecisionRecord(id string) (record.DecisionRecord, bool) {
	return d.DecisionDocument(d.decisionNumber(id))
}

// AskQuestion answers a question in plain words. It may lean on one that was answered
// before ("and on wednesday?"); "" without.
func (d *Timeline) AskQuestion(text, before string) query.Answer {
	talk := d.NewSession()
	if q, back := d.ParseQuestion(before); before != "" && back == nil {
		talk.ContinueFrom(q)
	}
	return talk.AnswerQuestion(text)
}

// PolicyTotals returns the figures of all policies that were replayed over the same
// jobs.
func (d *Timeline) PolicyTotals() []history.Totals { return d.totals }

// A Card is one decision with all that is known of it.
type Card struct {
	Entry
	Record   history.JobRecord
	JobRound *history.JobRound // of its round; nil of what no round decided
	Answer   query.Answer      // why, in words and figures
	Gang     *GangCard         // of a job of several pods, or in parts; else nil
	Others   []Entry           // all decisions on the same job, oldest first
}

// DecisionCard returns the decision of an id such as "D-14".
func (d *Timeline) DecisionCard(id string) (Card, bool) {
	n := d.decisionNumber(id)
	i, ok := d.byID[n]
	if !ok {
		return Card{}, false
	}
	e := d.entries[i]
	c := Card{Entry: e, Answer: d.AnswerQuery(ask.Query{Ask: "why", Decision: n})}
	for _, k := range d.ofJob[e.Job] {
		c.Others = append(c.Others, d.entries[k])
	}
	c.Record, _ = d.JobOfDecision(n)
	// Round 0 is that of a refusal without a round.
	k := slices.IndexFunc(c.Record.FullRounds, func(h history.JobRound) bool { return h.Round == e.Round && e.Round != 0 })
	if k >= 0 {
		c.JobRound = &c.Record.FullRounds[k]
	}
	c.Gang = d.gangCard(&c)
	return c, true
}

// LastDecision returns the last decision on a job.
func (d *Timeline) LastDecision(job protocol.JobID) (Entry, bool) {
	all := d.ofJob[job]
	if len(all) == 0 {
		return Entry{}, false
	}
	return d.entries[all[len(all)-1]], true
}

// decisionNumber returns the coordinator's sequence number of a decision, by its id; 0 if the text
// is no id.
func (d *Timeline) decisionNumber(id string) uint64 {
	n, _ := record.ParseDecisionID(id, func(seq uint64) bool { _, ok := d.byID[seq]; return ok })
	return n
}

// A GangCard is what a card tells of a job of several pods, or in parts.
type GangCard struct {
	Wait  history.GangWait // what it waited for by the decision's round
	Runs  []GangRun        // oldest first
	Parts []GangPart       // of the job in parts that this is, or is a part of
}

// A GangRun is a run of a gang: an elastic job has one for each number of pods that it had.
type GangRun struct {
	history.RunSegment
	Nodes   []history.NodePods
	Stopped string // how it ended, of one that was paused; else ""
}

// A GangPart is a part of a job at several sites, and the decision on it, if there is one.
type GangPart struct {
	history.PartState
	Decision string
}

// gangCard returns what a card tells of its gang; nil if its job is none.
func (d *Timeline) gangCard(c *Card) *GangCard {
	r := &c.Record
	if !r.Job.IsGang() && !r.Job.IsDivided() && r.Job.PartOf == "" {
		return nil
	}
	g := new(GangCard)
	if c.JobRound != nil {
		g.Wait = r.GangWait(c.JobRound)
	}
	for i, s := range r.RunSegments() {
		run := GangRun{RunSegment: s, Nodes: s.PodsByNode()}
		if i < len(r.Parts) {
			run.Stopped = narrate.HowStopped(s)
		}
		g.Runs = append(g.Runs, run)
	}
	g.Parts = d.partsOf(r)
	return g
}

// partsOf returns how the parts stand of the job in parts that r is, or is a part of.
func (d *Timeline) partsOf(r *history.JobRecord) (all []GangPart) {
	whole, id := r, r.Job.PartOf
	if id == "" {
		id = r.Job.ID
	}
	if w, ok := d.history.LatestJob(id); ok {
		whole = &w
	}
	for _, p := range whole.PartStates {
		part := GangPart{PartState: p}
		if e, ok := d.LastDecision(p.Part); ok {
			part.Decision = e.ID
		}
		all = append(all, part)
	}
	return all
}

// Pods returns how many pods the run has.
func (g GangRun) Pods() int { return g.Job.PodCount() }

// Started returns when the run began, or is to begin; 0 if that is not known.
func (g GangRun) Started() protocol.Time { return g.Run.Started }
