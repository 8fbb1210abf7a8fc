// Package snapshot compacts the event log of a coordinator: it keeps what a
// market and its job status need to restore their state, and drops the rest. So
// the start of a coordinator takes as long after a year as after a day.
//
// A snapshot keeps the events, unchanged, of open jobs, of the jobs that ended
// last, and of each site's last settlements, which give its trust factor. One
// or more protocol.Brought stand for all others: balances, ids of ended jobs,
// and the highest sequence number received from each party.
//
// Promise: a market restored from a snapshot has the same state as one restored
// from all events that went into it. A snapshot of a snapshot and later events
// equals the snapshot of all events.
//
// Package bus/eventlog, the neighbour, stores events and snapshots.
package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// A Summary accumulates events into a snapshot. Make one with [New].
type Summary struct {
	remember time.Duration // how long the id of an ended job stays known
	next     int           // number of the last event added

	rounds   uint64                                // the highest round seen
	accounts map[accounts.Account]protocol.Balance // sums over dropped settlements
	heard    map[protocol.Party]uint64             // highest sequence number received, by sender
	hellos   map[string]fact                       // the last one, by site
	drains   map[string]fact                       // the last one, by site
	gone     []fact                                // decommissions of sites
	policy   []protocol.Message                    // the last one, if any

	open   map[protocol.JobID]*story
	ended  []*story                  // jobs that ended last and are kept whole, oldest first
	whole  map[protocol.JobID]*story // open jobs and those in ended
	strays []protocol.Stray          // orphaned runs at decommissioned sites, of dropped jobs
	past   []protocol.Past           // dropped jobs whose ids are still known, oldest first
	trust  map[string][]fact         // settlements of dropped jobs that trust still needs, by site
}

// A fact is an event with its position, so that Messages keeps the order of Add.
type fact struct {
	number int
	m      protocol.Message
}

// A story is the events of one job.
type story struct {
	submit protocol.Submit
	facts  []fact
	over   protocol.Time // end of the job
}

// New returns an empty snapshot for a market that remembers the ids of ended
// jobs for so long.
func New(remember time.Duration) *Summary {
	return &Summary{
		remember: remember,
		accounts: make(map[accounts.Account]protocol.Balance),
		heard:    make(map[protocol.Party]uint64),
		hellos:   make(map[string]fact),
		drains:   make(map[string]fact),
		open:     make(map[protocol.JobID]*story),
		whole:    make(map[protocol.JobID]*story),
		trust:    make(map[string][]fact),
	}
}

// Add takes the next event of the log.
func (s *Summary) Add(m protocol.Message) {
	s.next++
	if m.From != protocol.Coordinator && m.From != protocol.Books {
		s.heard[m.From] = max(s.heard[m.From], m.Seq)
	}
	switch b := m.Body.(type) {
	case protocol.Brought:
		s.brought(b)
	case protocol.Hello:
		s.hellos[b.Site] = fact{s.next, m}
	case protocol.Drain:
		s.drains[b.Site] = fact{s.next, m}
	case protocol.Gone:
		s.gone = append(s.gone, fact{s.next, m})
	case protocol.Policy:
		s.policy = []protocol.Message{m}
	case protocol.Submit:
		s.submitted(m, b)
	case protocol.Award:
		s.rounds = max(s.rounds, b.Round)
		s.tell(b.Job, m)
	case protocol.Hold:
		s.rounds = max(s.rounds, b.Round)
		s.tell(b.Job, m)
	case protocol.Accept:
		s.tell(b.Job, m)
	case protocol.Decline:
		s.tell(b.Job, m)
		s.stopped(m.From, b.Job, b.Epoch)
	case protocol.Cancel:
		s.tell(b.Job, m)
	case protocol.Done:
		s.tell(b.Job, m)
		s.stopped(m.From, b.Job, b.Epoch)
	case protocol.Settled:
		if s.tell(b.Job, m); s.open[b.Job] == nil {
			s.observe(fact{s.next, m}, b) // the job was dropped by an earlier snapshot
			return
		}
		if !b.Part {
			s.end(m.At, b.Job)
		}
	case protocol.Refuse:
		if b.Why.Code != protocol.Duplicate {
			s.tell(b.Job, m)
			s.end(m.At, b.Job)
		}
	}
}

func (s *Summary) tell(id protocol.JobID, m protocol.Message) {
	if t := s.whole[id]; t != nil {
		t.facts = append(t.facts, fact{s.next, m})
	}
}

// submitted starts the events of a job. An earlier job of the same id has ended
// and its id has been forgotten, or the market would not have accepted this one.
func (s *Summary) submitted(m protocol.Message, b protocol.Submit) {
	if s.open[b.Job.ID] == nil {
		t := &story{submit: b, facts: []fact{{s.next, m}}}
		s.open[b.Job.ID], s.whole[b.Job.ID] = t, t
	}
}

// end moves a job from open to ended, and drops the job that ended longest ago
// if there are more than market.Whole.
func (s *Summary) end(at protocol.Time, id protocol.JobID) {
	t := s.open[id]
	if t == nil {
		return
	}
	delete(s.open, id)
	t.over = at
	s.ended = append(s.ended, t)
	if len(s.ended) > market.Whole {
		s.leaveOut(s.ended[0])
		s.ended[0] = nil
		s.ended = s.ended[1:]
	}
	if len(s.past) > 0 && s.past[0].At > at { // an earlier clock was ahead and has been corrected since
		for i := range s.past {
			s.past[i].At = min(s.past[i].At, at)
		}
	}
	for len(s.past) > 0 && s.past[0].At < at.Add(-s.remember) {
		s.past = s.past[1:]
	}
}

func (s *Summary) leaveOut(t *story) {
	id := t.submit.Job.ID
	s.past = append(s.past, protocol.Past{Job: id, At: t.over, Mark: t.submit.Mark()})
	s.strays = append(s.strays, s.straysOf(t)...)
	if s.whole[id] == t {
		delete(s.whole, id)
	}
	for _, f := range t.facts {
		if b, ok := f.m.Body.(protocol.Settled); ok {
			if !b.Part {
				s.account(accounts.Site(b.Site), 0, 1)
			}
			s.observe(f, b)
		}
	}
}

// straysOf returns the orphaned runs of a job: awards at sites that were
// decommissioned, for which the site has not reported since that it stopped.
func (s *Summary) straysOf(t *story) (all []protocol.Stray) {
	var held protocol.Stray // the award in force; Site "" is none
	gone := s.gone
	for _, f := range t.facts {
		for len(gone) > 0 && gone[0].number < f.number {
			if site := gone[0].m.Body.(protocol.Gone).Site; site == held.Site {
				all, held = append(all, held), protocol.Stray{}
			}
			gone = gone[1:]
		}
		switch b := f.m.Body.(type) {
		case protocol.Award:
			held = protocol.Stray{Site: f.m.To.Site(), Job: b.Job, Epoch: b.Epoch}
		case protocol.Hold:
			held = protocol.Stray{}
		case protocol.Accept: // also a late one, of a job that was deferred since
			held = protocol.Stray{Site: f.m.From.Site(), Job: b.Job, Epoch: b.Epoch}
		case protocol.Decline:
			all = without(all, f.m.From, b.Job, b.Epoch)
			if held.Epoch == b.Epoch && f.m.From == protocol.Agent(held.Site) {
				held = protocol.Stray{}
			}
		case protocol.Done:
			all = without(all, f.m.From, b.Job, b.Epoch)
		case protocol.Settled, protocol.Refuse:
			held = protocol.Stray{}
		}
	}
	return all
}

// stopped removes an orphaned run of a dropped job, since its site reported its end.
func (s *Summary) stopped(from protocol.Party, id protocol.JobID, epoch uint64) {
	s.strays = without(s.strays, from, id, epoch)
}

func without(all []protocol.Stray, from protocol.Party, id protocol.JobID, epoch uint64) []protocol.Stray {
	return slices.DeleteFunc(all, func(x protocol.Stray) bool {
		return x.Job == id && x.Epoch == epoch && protocol.Agent(x.Site) == from
	})
}

// observe keeps a settlement of a dropped job for its site's trust factor. When
// enough later ones exist it keeps only the payments of the oldest. It drops
// whole rings of accounts.Memory: trust fills a ring from its beginning, so
// settlements must keep their places in it.
func (s *Summary) observe(f fact, b protocol.Settled) {
	all := append(s.trust[b.Site], f)
	if len(all) >= 2*accounts.Memory {
		for _, old := range all[:accounts.Memory] {
			x := old.m.Body.(protocol.Settled)
			s.account(accounts.Tenant(x.Payer), -x.Paid, 0)
			s.account(accounts.Site(x.Site), x.Paid, 0)
		}
		all = slices.Clone(all[accounts.Memory:])
	}
	s.trust[b.Site] = all
}

func (s *Summary) account(a accounts.Account, amount protocol.Microdollars, jobs int) {
	x := s.accounts[a]
	s.accounts[a] = protocol.Balance{Account: string(a), Amount: x.Amount + amount, Jobs: x.Jobs + jobs}
}

func (s *Summary) brought(b protocol.Brought) {
	s.rounds = max(s.rounds, b.Rounds)
	for _, a := range b.Accounts {
		s.account(accounts.Account(a.Account), a.Amount, a.Jobs)
	}
	for _, h := range b.Heard {
		s.heard[h.From] = max(s.heard[h.From], h.Seq)
	}
	s.past = append(s.past, b.Ended...)
	s.strays = append(s.strays, b.Strays...)
}

// back reports whether event f of a site came after the site's decommission. Such
// an event is restored a second time, in its place after the decommission.
func (s *Summary) back(site string, f fact) bool {
	return slices.ContainsFunc(s.gone, func(g fact) bool { return g.m.Body.(protocol.Gone).Site == site && g.number < f.number })
}

// row bounds the rows of one Brought, at some 40 bytes each, so that it fits
// into a message.
const row = 2000

// Messages returns the snapshot as messages, in the order in which they must be
// restored. Last is the sequence number of the last event in the log that went
// in; the numbers of the Brought messages are derived from it.
func (s *Summary) Messages(last uint64) (all []protocol.Message) {
	facts := slices.Clone(s.gone)
	for _, by := range []map[string]fact{s.hellos, s.drains} {
		for _, name := range slices.Sorted(maps.Keys(by)) {
			all = append(all, by[name].m)
			if s.back(name, by[name]) {
				facts = append(facts, by[name])
			}
		}
	}
	all = append(all, s.policy...)
	for i, b := range s.books() {
		// Sequence numbers between those of two events in the log.
		all = append(all, protocol.Message{
			Version: protocol.Current, From: protocol.Books, To: protocol.Coordinator, Seq: last<<20 + uint64(i) + 1, Body: b,
		})
	}
	for _, site := range slices.Sorted(maps.Keys(s.trust)) {
		facts = append(facts, s.trust[site]...)
	}
	for _, t := range s.ended {
		facts = append(facts, t.facts...)
	}
	for _, id := range slices.Sorted(maps.Keys(s.open)) {
		facts = append(facts, s.open[id].facts...)
	}
	slices.SortFunc(facts, func(x, y fact) int { return cmp.Compare(x.number, y.number) })
	for _, f := range facts {
		all = append(all, f.m)
	}
	return all
}

// books returns the snapshot's Brought messages, split by size.
func (s *Summary) books() (all []protocol.Brought) {
	first := protocol.Brought{Rounds: s.rounds, Strays: slices.Clone(s.strays)}
	for _, who := range slices.Sorted(maps.Keys(s.heard)) {
		first.Heard = append(first.Heard, protocol.Step{From: who, Seq: s.heard[who]})
	}
	all = append(all, first)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(s.accounts)), row) {
		b := protocol.Brought{}
		for _, a := range some {
			b.Accounts = append(b.Accounts, s.accounts[a])
		}
		all = append(all, b)
	}
	for some := range slices.Chunk(s.past, row) {
		all = append(all, protocol.Brought{Ended: some})
	}
	return all
}
