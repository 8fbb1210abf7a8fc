package verify

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// A ledgerState is what the rules need of the entries before one.
type ledgerState struct {
	rules     market.Config
	knowRules bool
	policy    uint64 // version in force; 0: none was seen

	jobs     map[protocol.JobID]protocol.Job
	bids     map[uint64]protocol.Bids                // own ones, by round
	prices   map[uint64][]protocol.ShadowPrice       // own ones, as a clearing left them, by round
	own      map[uint64][]protocol.ShadowPrice       // of a SitePrices, by round
	awards   map[protocol.JobID]protocol.Award       // own ones
	reports  map[protocol.JobID]protocol.UsageReport // own ones, the last
	stopped  map[protocol.JobID]protocol.Preempted   // of which a Settlement follows
	preempts map[protocol.JobID]protocol.Preempt     // what the coordinator asked for, the last
	started  map[runOf]bool                          // own runs, as reported
	missed   map[runOf]bool                          // own runs that the coordinator says did not start
	trust    accounts.Trust                          // folded from settlements and missed starts
}

// A runOf is a job under an award.
type runOf struct {
	job   protocol.JobID
	epoch uint64
}

func newLedgerState() *ledgerState {
	return &ledgerState{
		jobs: make(map[protocol.JobID]protocol.Job), bids: make(map[uint64]protocol.Bids),
		prices: make(map[uint64][]protocol.ShadowPrice), own: make(map[uint64][]protocol.ShadowPrice),
		awards: make(map[protocol.JobID]protocol.Award), reports: make(map[protocol.JobID]protocol.UsageReport),
		stopped: make(map[protocol.JobID]protocol.Preempted), preempts: make(map[protocol.JobID]protocol.Preempt),
		started: make(map[runOf]bool), missed: make(map[runOf]bool),
	}
}

// checkRules checks each entry against the rules in force and the entries before it.
func (r *partyReader) checkRules() {
	s := newLedgerState()
	site := r.siteName()
	if site != "" && !r.whole && len(r.entries) > 0 {
		r.note("the log is shown from entry %d on: trust factors that rest on earlier settlements are not checked", r.entries[0].Index)
	}
	for _, e := range r.entries {
		switch b := e.m.Body.(type) {
		case protocol.LogBegin:
			r.readRules(s, e, b)
		case protocol.Submit:
			s.jobs[b.Job.ID] = b.Job
			if b.Job.InvalidReason() == "" {
				for _, p := range b.Job.PartJobs() {
					s.jobs[p.ID] = p
				}
			}
		case protocol.Bids:
			s.bids[b.Round] = b
		case protocol.UsageReport:
			s.reports[b.Job] = b
			delete(s.stopped, b.Job)
		case protocol.Preempted:
			if report, ok := b.Report(); ok {
				s.reports[b.Job], s.stopped[b.Job] = report, b
			}
		case protocol.Started:
			s.started[runOf{b.Job, b.Epoch}] = true
		case protocol.Preempt:
			s.preempts[b.Job] = b
			r.checkMissedStart(s, e, b, site)
		case protocol.Policy:
			r.checkPolicy(s, e, b)
		case protocol.SitePrices:
			s.own[b.Round] = b.ShadowPrices
		case protocol.CallForBids:
			r.readCall(s, e, b, site)
		case protocol.SiteClearing:
			r.checkClearing(s, e, b, site)
		case protocol.Award:
			r.checkAward(s, e, b, site)
		case protocol.Settlement:
			r.checkSettlement(s, e, b, site)
		}
	}
}

// siteName returns the site that the reader is; "": it is a tenant.
func (r *partyReader) siteName() string {
	if site := r.Party.SiteName(); r.Party == protocol.AgentParty(site) {
		return site
	}
	return ""
}

func (r *partyReader) readRules(s *ledgerState, e shownEntry, b protocol.LogBegin) {
	s.rules, s.knowRules = market.Config{}, true
	clear(s.prices) // a coordinator begins without prices
	if err := json.Unmarshal([]byte(b.Rules), &s.rules); err != nil {
		s.knowRules = false
		r.note("the settings of incarnation %d, entry %d, cannot be read: payments are not checked: %v", b.Incarnation, e.Index, err)
	}
}

// checkPolicy checks that policies follow one another in the log.
func (r *partyReader) checkPolicy(s *ledgerState, e shownEntry, b protocol.Policy) {
	if e.From != protocol.Coordinator {
		return
	}
	if s.policy != 0 && b.Version != s.policy && b.Version != s.policy+1 {
		r.add(PolicyCheck, e.Index, "version %d of the policy follows version %d", b.Version, s.policy)
	}
	s.policy = b.Version
}

// readCall keeps the jobs of a call, and compares its shadow prices with those that the clearing
// before it left.
func (r *partyReader) readCall(s *ledgerState, e shownEntry, b protocol.CallForBids, site string) {
	for _, j := range b.Jobs {
		s.jobs[j.ID] = j
	}
	left, ok := s.prices[b.Round-1]
	if site == "" || !ok || !b.SitesAsked()(site) { // who is not asked is not told its prices
		return
	}
	var told []protocol.ShadowPrice
	for _, p := range append(slices.Clone(b.ShadowPrices), s.own[b.Round]...) {
		if p.Site == site {
			told = append(told, p)
		}
	}
	if !slices.EqualFunc(left, told, samePrice) {
		r.add(Prices, e.Index, "the call of round %d has other prices of your capacity than the clearing of round %d left", b.Round, b.Round-1)
	}
}

func samePrice(x, y protocol.ShadowPrice) bool {
	return x.Site == y.Site && x.Model == y.Model && x.From == y.From && x.Slot == y.Slot && slices.Equal(x.Values, y.Values)
}

// checkClearing checks what a clearing says that it read of the site.
func (r *partyReader) checkClearing(s *ledgerState, e shownEntry, b protocol.SiteClearing, site string) {
	if site == "" {
		return
	}
	s.prices[b.Round] = b.ShadowPrices
	if own, ok := s.bids[b.Round]; ok && !slices.EqualFunc(own.Capacity, b.Capacity, sameCapacity) {
		r.add(Capacity, e.Index, "round %d read another capacity than you stated", b.Round)
	}
	if want := s.trust.TrustFactor(site); r.whole && b.Trust != want {
		r.add(Trusted, e.Index, "round %d took your bids times %d/1000; your settlements and missed starts give %d/1000", b.Round, b.Trust, want)
	}
}

func sameCapacity(x, y protocol.CapacityProfile) bool {
	return x.Model == y.Model && x.From == y.From && x.Slot == y.Slot && x.Total == y.Total && slices.Equal(x.Free, y.Free) && slices.Equal(x.ForDeferrable, y.ForDeferrable) &&
		x.CPUUsed == y.CPUUsed && x.MemoryUsed == y.MemoryUsed
}

// checkAward checks that an award is one of the site's bids of that round, or of one before: bids
// that come late count in the next round. Start and finish may be shifted together, to the
// coordinator's clock.
func (r *partyReader) checkAward(s *ledgerState, e shownEntry, b protocol.Award, site string) {
	if site == "" || e.m.To != r.Party {
		return
	}
	s.awards[b.Job] = b
	bidFor := false
	for round := b.Round; round+2 > b.Round && round > 0; round-- {
		for _, jb := range s.bids[round].Jobs {
			bidFor = bidFor || jb.Job == b.Job && slices.ContainsFunc(jb.Options, func(o protocol.BidOption) bool { return sameTerms(o, b.Option) })
		}
	}
	if !bidFor {
		r.add(Awarded, e.Index, "job %s was awarded for what you did not bid: %s until %s at $%.6f", b.Job, b.Option.Model, b.Option.Finish, float64(b.Option.Money)/1e6)
	}
}

// sameTerms reports whether an awarded option is the one that was bid.
func sameTerms(bid, awarded protocol.BidOption) bool {
	off := awarded.Start - bid.Start
	bid.Start, bid.Finish = bid.Start+off, bid.Finish+off
	return bid == awarded
}

// checkSettlement checks what was counted, what was paid, and who paid it.
func (r *partyReader) checkSettlement(s *ledgerState, e shownEntry, b protocol.Settlement, site string) {
	if b.Site == site && site != "" {
		s.trust.ObserveJob(site, b.BidFor, b.Counted)
		r.checkCounted(s, e, b)
	}
	if b.Site == site || site == "" { // what another site was asked to stop is not shown
		r.checkPayer(s, e, b)
	}
	if !s.knowRules || b.Paid == 0 && b.Tariff == 0 { // a payment over the limit of an account is left out
		return
	}
	if want := accounts.SettlementAmount(b.BidFor.Money, b.Counted.Money, b.Tariff, s.rules.Pay); want != b.Paid {
		r.add(Payment, e.Index, "job %s: %s was paid %d microdollars; the rule in force gives %d", b.Job, b.Site, b.Paid, want)
	}
}

// checkMissedStart folds that the site did not start what it accepted, which counts once, and checks that it has
// not reported that it did.
func (r *partyReader) checkMissedStart(s *ledgerState, e shownEntry, b protocol.Preempt, site string) {
	run := runOf{b.Job, b.Epoch}
	if site == "" || e.m.To != r.Party || b.Why.Code != protocol.NotStarted || s.missed[run] {
		return
	}
	s.missed[run] = true
	s.trust.ObserveMissedStart(site)
	if s.started[run] {
		r.add(Trusted, e.Index, "job %s counts as not started, and you have reported its start", b.Job)
	}
}

// checkCounted compares a settlement with the site's own report and bid.
func (r *partyReader) checkCounted(s *ledgerState, e shownEntry, b protocol.Settlement) {
	report, ok := s.reports[b.Job]
	if !ok {
		if r.whole {
			r.add(Settled, e.Index, "job %s is settled, and you have not reported its end", b.Job)
		}
		return
	}
	if b.Counted != (protocol.Usage{IT: report.IT, Energy: report.Energy, Carbon: report.Carbon, Money: report.Money, Finish: report.Ended}) {
		r.add(Settled, e.Index, "job %s counts another use than you reported", b.Job)
	}
	award, ok := s.awards[b.Job]
	if !ok {
		return
	}
	o := award.Option
	if !b.Part && b.BidFor != (protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish}) {
		r.add(Settled, e.Index, "job %s is compared with another bid than it was awarded for", b.Job)
	}
	j, ok := s.jobs[b.Job]
	want := j.TariffCost(max(report.Ended.Sub(max(report.Started, o.Start)), 0), o.Tariff)
	if ok && b.Tariff != want && b.Paid != 0 {
		r.add(Payment, e.Index, "job %s: your tariff comes to %d microdollars, and %d were paid", b.Job, want, b.Tariff)
	}
}

// checkPayer checks that a settlement is paid by the tenant of its job; or, if its work was lost to
// a job with a stronger claim, by the tenant of that one.
func (r *partyReader) checkPayer(s *ledgerState, e shownEntry, b protocol.Settlement) {
	want, known := payerOf(s, b)
	if !known {
		if r.siteName() == "" {
			r.note("entry %d: you pay for job %s, of which you see no submission", e.Index, b.Job)
		}
		return
	}
	if !slices.Contains(want, b.Payer) {
		r.add(Payer, e.Index, "job %s is paid by %q; by the rule %q pays", b.Job, b.Payer, want[0])
	}
}

// payerOf returns who may pay for a settlement; false if its job is not known.
func payerOf(s *ledgerState, b protocol.Settlement) ([]string, bool) {
	j, ok := s.jobs[b.Job]
	if !ok {
		return nil, false
	}
	p, stopped := s.stopped[b.Job]
	if by, asked := s.preempts[b.Job]; b.Part && asked && by.Why.Code == protocol.PartLost && (!stopped || p.Left == 0) {
		return append([]string{j.Tenant}, s.payersBesides(b, j)...), true
	}
	if by, asked := s.preempts[b.Job]; b.Part && asked && by.Why.Code == protocol.StrongerClaim {
		preemptor, known := s.jobs[by.For]
		switch {
		case !known: // whose job it was is not shown
			return []string{j.Tenant, b.Payer}, true
		case stopped && p.Left == 0:
			return []string{preemptor.Tenant}, true
		case !stopped: // the reader does not see what was left
			return []string{j.Tenant, preemptor.Tenant}, true
		}
	}
	return []string{j.Tenant}, true
}

// payersBesides returns who may pay, beside its own tenant, for a part of a job that was stopped since another part was:
// the tenant of the job for which that one made room; whoever it is, if no such request is shown.
func (s *ledgerState) payersBesides(b protocol.Settlement, part protocol.Job) (all []string) {
	for _, id := range slices.Sorted(maps.Keys(s.preempts)) {
		by := s.preempts[id]
		if other := s.jobs[id]; id == b.Job || part.PartOf == "" || other.PartOf != part.PartOf || by.Why.Code != protocol.StrongerClaim {
			continue
		}
		preemptor, known := s.jobs[by.For]
		if !known {
			return []string{b.Payer}
		}
		all = append(all, preemptor.Tenant)
	}
	if len(all) == 0 {
		return []string{b.Payer}
	}
	return all
}
