// Package snapshot makes less of the facts of a coordinator: what a market and its
// board need of them to stand where they stood. So a coordinator that is started
// reads as much after a year as after a day.
//
// What is left are facts as they were, of jobs that are open or were among the
// last to end and of each site's last jobs, by which it is trusted; and one
// protocol.Brought for all others: balances, ids, the numbers that were heard.
//
// Promise: a market restored from a summary stands as one restored from all that
// went into it; and a summary of a summary and what came after is that of all.
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

// A Summary is what is left of facts. It is made by New.
type Summary struct {
	remember time.Duration // for how long the id of an ended job stays known
	next     int           // number of the next fact

	rounds   uint64
	accounts map[accounts.Account]protocol.Balance // of jobs that were left out
	heard    map[protocol.Party]uint64
	hellos   map[string]fact // by site, the last
	drains   map[string]fact
	gone     []fact             // sites that were said to be
	policy   []protocol.Message // the last, if any

	open   map[protocol.JobID]*story
	ended  []*story                  // the last to end, oldest first
	whole  map[protocol.JobID]*story // open, or among them
	strays []protocol.Stray          // from sites that were said to be gone, of jobs left out
	past   []protocol.Past           // those before, oldest first
	trust  map[string][]fact
}

// A fact is numbered, so that all come out in the order in which they went in.
type fact struct {
	number int
	m      protocol.Message
}

// A story is what the books say of one job.
type story struct {
	submit protocol.Submit
	facts  []fact
	over   protocol.Time // when it ended
}

// New returns a summary of nothing, for a market that remembers ended jobs for so
// long.
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

// Add takes in the next fact.
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
			s.observe(fact{s.next, m}, b) // of a job that was left out before
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

// submitted begins a story. A job of the same id that ended was forgotten, or the
// market would not have taken this one.
func (s *Summary) submitted(m protocol.Message, b protocol.Submit) {
	if s.open[b.Job.ID] == nil {
		t := &story{submit: b, facts: []fact{{s.next, m}}}
		s.open[b.Job.ID], s.whole[b.Job.ID] = t, t
	}
}

// end closes a story, and leaves out the one that ended before all others.
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
	if len(s.past) > 0 && s.past[0].At > at { // by a clock that was ahead, and has been set back since
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

// straysOf returns from which sites a job was taken that were said to be gone, and
// have not said since that they stopped it.
func (s *Summary) straysOf(t *story) (all []protocol.Stray) {
	var held protocol.Stray // none: its site is ""
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
		case protocol.Accept: // also a late one, of a job that was held since
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

// stopped notes that a site stopped a job that was left out.
func (s *Summary) stopped(from protocol.Party, id protocol.JobID, epoch uint64) {
	s.strays = without(s.strays, from, id, epoch)
}

func without(all []protocol.Stray, from protocol.Party, id protocol.JobID, epoch uint64) []protocol.Stray {
	return slices.DeleteFunc(all, func(x protocol.Stray) bool {
		return x.Job == id && x.Epoch == epoch && protocol.Agent(x.Site) == from
	})
}

// observe keeps a settlement of a site for its trust, or what was paid if there
// are enough later ones. They go by whole rings of memory: trust adds up from
// where a ring begins.
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

// back reports whether a site said f after it was said to be gone. Then it says so
// once more in its place.
func (s *Summary) back(site string, f fact) bool {
	return slices.ContainsFunc(s.gone, func(g fact) bool { return g.m.Body.(protocol.Gone).Site == site && g.number < f.number })
}

// row is how many rows one Brought holds at most: some 40 bytes each.
const row = 2000

// Messages returns what is left, in the order in which it is to be restored. Last
// is the number of the last fact on the books that went in: it numbers what is
// said by the books themselves.
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
		// Numbers between those of two facts on the books.
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

// books returns what the books themselves say, in pieces.
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
