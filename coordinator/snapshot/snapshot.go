// Package snapshot compacts the event log of a coordinator: it keeps what a
// market and its job status need to restore their state, and drops the rest. So
// the start of a coordinator takes as long after a year as after a day.
//
// A snapshot keeps the events, unchanged, of open jobs, of the jobs that ended
// last, and of each site's last settlements, which give its trust factor. One
// or more protocol.Snapshot stand for all others: balances, ids of ended jobs,
// and the highest sequence number received from each party. Of each site it keeps
// the events from which its state follows, since when and why.
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

// A Snapshot accumulates events into a snapshot. Create it with [New].
type Snapshot struct {
	remember time.Duration // how long the id of an ended job stays known
	next     int           // number of the last event added
	log      logSnapshot

	rounds        uint64                                // the highest round seen
	accounts      map[accounts.Account]protocol.Balance // sums over dropped settlements
	highestSeq    map[protocol.Party]uint64             // highest sequence number received, by sender
	registrations map[string]numberedEvent              // the last one, by site
	joined        map[string]numberedEvent              // the first registration since the site was last decommissioned, by site
	drains        map[string]numberedEvent              // the last one, by site
	drainBegins   map[string]numberedEvent              // the first one of the drain that goes on, by site
	conditions    map[string]numberedEvent              // the monitor's last one, by site
	revokeBegins  map[string]numberedEvent              // the first one since the site last registered, by site
	revocations   map[string]numberedEvent              // the last one since then, by site
	decommissions []numberedEvent                       // decommissions of sites
	policy        []protocol.Message                    // the last one, if any
	limits        accounts.Budgets                      // the budgets of all months, and nothing that was spent
	spent         accounts.Budgets                      // by dropped settlements

	open         map[protocol.JobID]*jobEvents
	ended        []*jobEvents                  // jobs that ended last and are kept whole, oldest first
	whole        map[protocol.JobID]*jobEvents // open jobs and those in ended
	orphanedRuns []protocol.OrphanedRun        // orphaned runs at decommissioned sites, of dropped jobs
	olderEnded   []protocol.EndedJob           // dropped jobs whose ids are still known, oldest first
	services     map[protocol.ServiceID]*serviceEvents
	removed      []numberedEvent            // the assignment with the highest revision of those that were removed, and its removal
	trust        map[string][]numberedEvent // settlements of dropped jobs that trust still needs, by site
}

// A numberedEvent is an event with its position, so that SnapshotMessages keeps the order of
// AddEvent.
type numberedEvent struct {
	number int
	m      protocol.Message
}

// A jobEvents holds the events of one job.
type jobEvents struct {
	submit  protocol.Submit
	events  []numberedEvent // of all parts, if it has some
	endedAt protocol.Time   // end of the job
	open    int             // parts that have not ended
	dropped bool            // the events of one that ended
}

// ids returns the ids of the job and of its parts.
func (t *jobEvents) ids() []protocol.JobID {
	ids := []protocol.JobID{t.submit.Job.ID}
	if t.submit.Job.InvalidReason() == "" {
		for _, p := range t.submit.Job.Parts {
			ids = append(ids, protocol.PartID(t.submit.Job.ID, p.Name))
		}
	}
	return ids
}

// New returns an empty snapshot for a market that remembers the ids of ended
// jobs for so long.
func New(remember time.Duration) *Snapshot {
	return &Snapshot{
		remember:      remember,
		accounts:      make(map[accounts.Account]protocol.Balance),
		highestSeq:    make(map[protocol.Party]uint64),
		registrations: make(map[string]numberedEvent),
		joined:        make(map[string]numberedEvent),
		drains:        make(map[string]numberedEvent),
		drainBegins:   make(map[string]numberedEvent),
		conditions:    make(map[string]numberedEvent),
		revokeBegins:  make(map[string]numberedEvent),
		revocations:   make(map[string]numberedEvent),
		open:          make(map[protocol.JobID]*jobEvents),
		whole:         make(map[protocol.JobID]*jobEvents),
		services:      make(map[protocol.ServiceID]*serviceEvents),
		trust:         make(map[string][]numberedEvent),
	}
}

// AddEvent adds the next event of the log. Events must come in the order of the log.
func (s *Snapshot) AddEvent(m protocol.Message) {
	s.next++
	if m.From != protocol.Coordinator && m.From != protocol.SnapshotSource && m.From != protocol.LogWriter {
		s.highestSeq[m.From] = max(s.highestSeq[m.From], m.Seq)
	}
	switch b := m.Body.(type) {
	case protocol.LogEntries:
		s.log.addEntries(m, b)
	case protocol.LogBegin: // of an incarnation that has ended
	case protocol.Snapshot:
		s.mergeSnapshot(b)
	case protocol.RegisterSite:
		s.registrations[b.Site] = numberedEvent{s.next, m}
		keepFirst(s.joined, b.Site, numberedEvent{s.next, m})
		delete(s.revokeBegins, b.Site)
		delete(s.revocations, b.Site)
	case protocol.Drain:
		s.drains[b.Site] = numberedEvent{s.next, m}
		if keepFirst(s.drainBegins, b.Site, numberedEvent{s.next, m}); b.Over {
			delete(s.drainBegins, b.Site)
		}
	case protocol.SiteCondition:
		by := s.conditions
		if b.State == protocol.SiteRevoked {
			by = s.revocations
			keepFirst(s.revokeBegins, b.Site, numberedEvent{s.next, m})
		}
		by[b.Site] = numberedEvent{s.next, m}
	case protocol.DecommissionSite:
		s.decommissions = append(s.decommissions, numberedEvent{s.next, m})
		delete(s.joined, b.Site) // should it come back, it begins anew
		delete(s.drainBegins, b.Site)
		delete(s.revokeBegins, b.Site)
	case protocol.Policy:
		s.policy = []protocol.Message{m}
		s.limits.SetLimits(m.At, b)
	case protocol.Submit:
		s.beginJob(m, b)
	case protocol.Award:
		s.rounds = max(s.rounds, b.Round)
		s.addToJob(b.Job, m)
	case protocol.Defer:
		s.rounds = max(s.rounds, b.Round)
		s.addToJob(b.Job, m)
	case protocol.Accept:
		s.addToJob(b.Job, m)
	case protocol.Started:
		s.addToJob(b.Job, m)
	case protocol.Decline:
		s.addToJob(b.Job, m)
		s.clearOrphanedRun(m.From, b.Job, b.Epoch)
	case protocol.Cancel:
		s.addToJob(b.Job, m)
	case protocol.PartsDecided:
		s.addToJob(b.Job, m)
	case protocol.Preempt:
		if s.addToJob(b.Job, m); s.whole[b.Job] == nil && b.Why.Code == protocol.NotStarted {
			s.keepForTrust(numberedEvent{s.next, m}, m.To.SiteName()) // the job was dropped by an earlier snapshot
		}
	case protocol.Preempted:
		s.addToJob(b.Job, m)
		s.clearOrphanedRun(m.From, b.Job, b.Epoch)
	case protocol.UsageReport:
		s.addToJob(b.Job, m)
		s.clearOrphanedRun(m.From, b.Job, b.Epoch)
	case protocol.Settlement:
		for _, c := range b.Charges {
			s.keepLimit(c)
		}
		if s.addToJob(b.Job, m); s.open[b.Job] == nil {
			s.keepForTrust(numberedEvent{s.next, m}, b.Site) // the job was dropped by an earlier snapshot
			return
		}
		if !b.Part {
			s.endJob(m.At, b.Job)
		}
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate {
			s.addToJob(b.Job, m)
			s.endJob(m.At, b.Job)
		}
	default:
		s.addServiceEvent(m)
	}
}

// keepFirst keeps an event of a site unless there is an earlier one.
func keepFirst(by map[string]numberedEvent, site string, f numberedEvent) {
	if _, ok := by[site]; !ok {
		by[site] = f
	}
}

// addToJob adds an event to a job that is kept whole; other jobs need no events.
func (s *Snapshot) addToJob(id protocol.JobID, m protocol.Message) {
	if t := s.whole[id]; t != nil {
		t.events = append(t.events, numberedEvent{s.next, m})
	}
}

// beginJob starts the events of a job. An earlier job of the same id must have ended and been
// forgotten, or the market would not have accepted this one.
func (s *Snapshot) beginJob(m protocol.Message, b protocol.Submit) {
	if s.open[b.Job.ID] == nil {
		t := &jobEvents{submit: b, events: []numberedEvent{{s.next, m}}}
		for i, id := range t.ids() {
			if i == 0 || s.whole[id] == nil { // else the job is rejected, as the id of its part is taken
				s.open[id], s.whole[id] = t, t
				t.open += min(i, 1)
			}
		}
	}
}

// endJob moves a job from open to ended, and drops the job that ended longest ago
// if there are more than market.MaxWholeEndedJobs.
func (s *Snapshot) endJob(at protocol.Time, id protocol.JobID) {
	t := s.open[id]
	if t == nil {
		return
	}
	if id != t.submit.Job.ID { // a part: its job ends with the last one
		delete(s.open, id)
		if t.open--; t.open > 0 {
			return
		}
	}
	for _, id := range t.ids() {
		if s.open[id] == t {
			delete(s.open, id)
		}
	}
	t.endedAt = at
	for range max(1, len(t.ids())-1) { // each part counts, and the first that is dropped takes the others along
		s.ended = append(s.ended, t)
	}
	for len(s.ended) > market.MaxWholeEndedJobs {
		s.compactJob(s.ended[0])
		s.ended[0] = nil
		s.ended = s.ended[1:]
	}
	if len(s.olderEnded) > 0 && s.olderEnded[0].At > at { // an earlier clock was ahead and has been corrected since
		for i := range s.olderEnded {
			s.olderEnded[i].At = min(s.olderEnded[i].At, at)
		}
	}
	for len(s.olderEnded) > 0 && s.olderEnded[0].At < at.Add(-s.remember) {
		s.olderEnded = s.olderEnded[1:]
	}
}

// compactJob drops a job's events. What remains: its id, end and digest, its orphaned runs, and
// its settlements as far as accounts and trust need them.
func (s *Snapshot) compactJob(t *jobEvents) {
	if t.dropped { // with another part of it
		return
	}
	t.dropped = true
	for i, id := range t.ids() {
		if i == 0 || s.whole[id] == t {
			s.olderEnded = append(s.olderEnded, protocol.EndedJob{Job: id, At: t.endedAt, Digest: t.submit.Digest()})
			s.orphanedRuns = append(s.orphanedRuns, s.orphanedRunsOf(t, id)...)
		}
		if s.whole[id] == t {
			delete(s.whole, id)
		}
	}
	for _, f := range t.events {
		if b, ok := f.m.Body.(protocol.Settlement); ok {
			if !b.Part {
				s.addToAccount(accounts.SiteAccount(b.Site), 0, 1)
			}
			s.keepForTrust(f, b.Site)
		}
		if b, ok := f.m.Body.(protocol.Preempt); ok && b.Why.Code == protocol.NotStarted {
			s.keepForTrust(f, f.m.To.SiteName())
		}
	}
}

// orphanedRunsOf returns the orphaned runs of a job, or of a part of it: awards at sites that were
// decommissioned, for which the site has not reported since that it stopped.
func (s *Snapshot) orphanedRunsOf(t *jobEvents, id protocol.JobID) (all []protocol.OrphanedRun) {
	var current protocol.OrphanedRun // the award in force; Site "": none
	gone := s.decommissions
	for _, f := range t.events {
		for len(gone) > 0 && gone[0].number < f.number {
			if site := gone[0].m.Body.(protocol.DecommissionSite).Site; site == current.Site {
				all, current = append(all, current), protocol.OrphanedRun{}
			}
			gone = gone[1:]
		}
		if about, ok := f.m.OneJob(); ok && about != id {
			continue
		}
		switch b := f.m.Body.(type) {
		case protocol.Award:
			current = protocol.OrphanedRun{Site: f.m.To.SiteName(), Job: b.Job, Epoch: b.Epoch}
		case protocol.Defer:
			current = protocol.OrphanedRun{}
		case protocol.Accept: // also a late one, of a job that was deferred since
			current = protocol.OrphanedRun{Site: f.m.From.SiteName(), Job: b.Job, Epoch: b.Epoch}
		case protocol.Decline:
			all = withoutRun(all, f.m.From, b.Job, b.Epoch)
			if current.Epoch == b.Epoch && f.m.From == protocol.AgentParty(current.Site) {
				current = protocol.OrphanedRun{}
			}
		case protocol.Preempted:
			all = withoutRun(all, f.m.From, b.Job, b.Epoch)
			if current.Epoch == b.Epoch && f.m.From == protocol.AgentParty(current.Site) {
				current = protocol.OrphanedRun{}
			}
		case protocol.UsageReport:
			all = withoutRun(all, f.m.From, b.Job, b.Epoch)
		case protocol.Settlement, protocol.Reject:
			current = protocol.OrphanedRun{}
		}
	}
	return all
}

// clearOrphanedRun removes an orphaned run of a dropped job after its site reported its end.
func (s *Snapshot) clearOrphanedRun(from protocol.Party, id protocol.JobID, epoch uint64) {
	s.orphanedRuns = withoutRun(s.orphanedRuns, from, id, epoch)
}

// withoutRun returns all without the run of that epoch at the site of from.
func withoutRun(all []protocol.OrphanedRun, from protocol.Party, id protocol.JobID, epoch uint64) []protocol.OrphanedRun {
	return slices.DeleteFunc(all, func(x protocol.OrphanedRun) bool {
		return x.Job == id && x.Epoch == epoch && protocol.AgentParty(x.Site) == from
	})
}

// keepForTrust keeps a settlement of a dropped job, or that it was not started, for its site's trust factor. Once
// enough later ones exist, only the payments of the oldest are kept. It drops whole rings of accounts.TrustWindow:
// trust fills its ring buffer from the beginning, so settlements must keep their places in it.
func (s *Snapshot) keepForTrust(f numberedEvent, site string) {
	all := append(s.trust[site], f)
	if len(all) >= 2*accounts.TrustWindow {
		for _, old := range all[:accounts.TrustWindow] {
			x, ok := old.m.Body.(protocol.Settlement)
			if !ok {
				continue
			}
			s.addPayment(x.Payer, x.Site, x.Paid, x.Charges)
		}
		all = slices.Clone(all[accounts.TrustWindow:])
	}
	s.trust[site] = all
}

// addPayment adds what a dropped settlement paid, and what it charged budgets with.
func (s *Snapshot) addPayment(payer, site string, paid protocol.Microdollars, charges []protocol.BudgetCharge) {
	s.addToAccount(accounts.TenantAccount(payer), -paid, 0)
	s.addToAccount(accounts.SiteAccount(site), paid, 0)
	for _, c := range charges {
		s.spent.Charge(c)
	}
}

// keepLimit keeps the budget of a charge's month.
func (s *Snapshot) keepLimit(c protocol.BudgetCharge) {
	c.Money, c.Carbon = 0, 0
	s.limits.Charge(c)
}

// addToAccount adds an amount and a number of settled jobs to an account.
func (s *Snapshot) addToAccount(a accounts.Account, amount protocol.Microdollars, jobs int) {
	x := s.accounts[a]
	s.accounts[a] = protocol.Balance{Account: string(a), Amount: x.Amount + amount, Jobs: x.Jobs + jobs}
}

// mergeSnapshot adds the contents of an earlier snapshot.
func (s *Snapshot) mergeSnapshot(b protocol.Snapshot) {
	s.rounds = max(s.rounds, b.Rounds)
	for _, a := range b.Accounts {
		s.addToAccount(accounts.Account(a.Account), a.Amount, a.Jobs)
	}
	for _, h := range b.Received {
		s.highestSeq[h.From] = max(s.highestSeq[h.From], h.Seq)
	}
	for _, c := range b.Charges {
		s.spent.Charge(c)
		s.keepLimit(c)
	}
	s.olderEnded = append(s.olderEnded, b.Ended...)
	s.orphanedRuns = append(s.orphanedRuns, b.Strays...)
}

// returnedAfter reports whether event f of a site came after the site's decommission. Such an
// event is restored twice: before the snapshot, and in its place after the decommission, which
// removed the site.
func (s *Snapshot) returnedAfter(site string, f numberedEvent) bool {
	return slices.ContainsFunc(s.decommissions, func(g numberedEvent) bool {
		return g.m.Body.(protocol.DecommissionSite).Site == site && g.number < f.number
	})
}

// maxRowsPerMessage bounds the rows of one protocol.Snapshot, at about 40 bytes each, so that it
// fits into a message.
const maxRowsPerMessage = 2000

// SnapshotMessages returns the snapshot as messages, in the order in which they must be restored.
// Last is the sequence number of the last event of the log that went in; the numbers of the
// protocol.Snapshot messages derive from it.
func (s *Snapshot) SnapshotMessages(last uint64) (all []protocol.Message) {
	events := slices.Clone(s.decommissions)
	kept := make(map[int]bool) // a first event may be the last one, too
	for _, by := range []map[string]numberedEvent{s.joined, s.registrations, s.drainBegins, s.drains, s.conditions, s.revokeBegins, s.revocations} {
		for _, name := range slices.Sorted(maps.Keys(by)) {
			if kept[by[name].number] {
				continue
			}
			kept[by[name].number] = true
			all = append(all, by[name].m)
			if s.returnedAfter(name, by[name]) {
				events = append(events, by[name])
			}
		}
	}
	all = append(all, s.policy...)
	all = append(all, s.log.messages()...)
	for i, b := range s.snapshotBodies() {
		// Sequence numbers between those of two events in the log.
		all = append(all, protocol.Message{
			Version: protocol.Current, From: protocol.SnapshotSource, To: protocol.Coordinator, Seq: last<<20 + uint64(i) + 1, Body: b,
		})
	}
	for _, site := range slices.Sorted(maps.Keys(s.trust)) {
		events = append(events, s.trust[site]...)
	}
	for i, t := range s.ended {
		if !t.dropped && (i == 0 || s.ended[i-1] != t) {
			events = append(events, t.events...)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.open)) {
		if s.open[id].submit.Job.ID == id { // and not one of its parts
			events = append(events, s.open[id].events...)
		}
	}
	events = append(events, s.serviceMessages()...)
	slices.SortFunc(events, func(x, y numberedEvent) int { return cmp.Compare(x.number, y.number) })
	for _, f := range events {
		all = append(all, f.m)
	}
	return all
}

// snapshotBodies returns the bodies of the protocol.Snapshot messages, split by size.
func (s *Snapshot) snapshotBodies() (all []protocol.Snapshot) {
	first := protocol.Snapshot{Rounds: s.rounds, Strays: slices.Clone(s.orphanedRuns)}
	for _, who := range slices.Sorted(maps.Keys(s.highestSeq)) {
		first.Received = append(first.Received, protocol.Input{From: who, Seq: s.highestSeq[who]})
	}
	all = append(all, first)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(s.accounts)), maxRowsPerMessage) {
		b := protocol.Snapshot{}
		for _, a := range some {
			b.Accounts = append(b.Accounts, s.accounts[a])
		}
		all = append(all, b)
	}
	var charges accounts.Budgets
	for _, c := range slices.Concat(s.limits.Charges(), s.spent.Charges()) {
		charges.Charge(c)
	}
	for some := range slices.Chunk(charges.Charges(), maxRowsPerMessage) {
		all = append(all, protocol.Snapshot{Charges: some})
	}
	for some := range slices.Chunk(s.olderEnded, maxRowsPerMessage) {
		all = append(all, protocol.Snapshot{Ended: some})
	}
	return all
}
