package history

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A Config says what a History keeps. The zero Config is the default.
type Config struct {
	All bool // keep every round of every job in full

	// NoBids keeps no bids and no shadow prices of past rounds, which are nearly all of a long run's
	// memory. Jobs have the summaries of their rounds, with the best option, and no FullRounds. For
	// runs of which only figures and states are read.
	NoBids bool

	// Live bounds what is kept, for a coordinator that runs for years: no bids, no
	// lists of all decisions, forecasts and meter reports, and of what is over only
	// the newest jobs and rounds (KeptEnded, KeptRounds).
	Live bool
}

// A History is the record of one run.
type History struct {
	cfg    Config
	dedup  protocol.Deduplicator
	jobs   map[protocol.JobID]*jobEntry // the newest of each id
	calls  map[uint64]*clearingRound    // by round
	rounds []*clearingRound             // as called

	wholes     map[protocol.JobID]*JobRecord // jobs in parts: see parts.go
	services   map[protocol.ServiceID]*ServiceRecord
	sitePrices []protocol.SitePrices // since the last call: the next one has none of its own
	lateOffers map[string]lateOffer  // by site, for the round after theirs
	sites      map[string]*SiteRecord

	// Counts of messages that were read, of declined awards, and of messages that had no effect.
	messages, declines, ignored int
	// Every duplicate that is refused must have a repeated submission (checkJobs).
	repeats, duplicates int // submissions of a known id, and refusals of those
	holds               int
	problems            []Problem // seen while reading
	hasLaunches         bool      // messages between agents and their runtimes are on the ledger
	policy              uint64    // in force, if it has rules

	span span
	// Indexes of the whole stream. In a live view they are empty, but for the newest of rules.
	decisions []DecisionRef
	byNumber  map[uint64]int // into decisions
	judged    map[jobInRound]*JudgeQuestion
	rules     []PolicyVersion
	tenants   []string // sorted
	numbers   map[protocol.JobID]int
	signals   map[string][]PublishedSignal // by site
	spent     []CostSoFar
	inOrder   []*jobEntry      // all jobs, as they began
	ended     []protocol.JobID // that are over, oldest first; of a live view

	events           []SiteEvent
	ruleSince        map[string]protocol.Time // when a rule of the policy was first in force, by id
	term             uint64                   // of the coordinator whose message was read last
	heardCoordinator bool
}

// A jobEntry is one instance of a job id as the History keeps it.
type jobEntry struct {
	rec         JobRecord // without FullRounds
	first, last *jobRound
	all         []*jobRound // instead of first and last, if Config.All

	// An id is free once its job is over: instances of one id form a list, newest first.
	before *jobEntry  // that was over when this one was submitted under its id
	next   *JobRecord // submitted since it is over, and not called yet
}

// A RoundRecord is one clearing round.
type RoundRecord struct {
	Round   uint64
	Called  MessageRef
	Closes  protocol.Time
	Jobs    int
	Offered []string // sites that answered in time, by name
	Silent  []string // sites known then that did not
	Awards  int
	Holds   int
	Refused int                  // jobs, after the call and before the next
	Proof   protocol.Certificate // of its awards; zero if it had none
	Weights protocol.Weights
}

// A SiteRecord is one site's part in the run.
type SiteRecord struct {
	Site    string
	Pools   []protocol.Pool
	Awards  int            // declined ones included
	Ran     int            // jobs ended here
	Late    int            // of those
	Jobs    protocol.Usage // with Corrections
	Idle    protocol.Usage
	Metered protocol.Millijoules // before the facility's share, measured apart from the jobs
	Paid    protocol.Microdollars
	hours   map[protocol.Time]*hour

	// Corrections are what bills of jobs changed by once late prices and carbon were published.
	// They are part of Jobs and of no job's own bill.
	Corrections protocol.Usage

	// Reports of the site, oldest first; a live view keeps only the newest message time.
	MessageTimes []protocol.Time
	Inventories  []Inventory // where they change
	Forecasts    []Forecast  // the first and the last of each hour
	Meters       []MeterReport
	Idles        []IdleGPUs // where they change

	Registered   bool // it has sent a registration
	Drained      bool // it is sent no more jobs
	SilentRounds int  // in a row, that it did not answer
	Settled      int  // jobs that ended here and are settled
	Bid          LastBid

	answered       bool // since the last call
	reportsIdle    bool // it has ever reported an idle GPU
	registeredAt   protocol.Time
	startsReported protocol.Time // since when the site reports starts of its jobs; 0: it does not
	lastCalled     protocol.Time // the call before
	decommissioned bool          // an operator declared that it will not come back, and it has not registered since
	standing       siteStanding
}

// An hour holds what the two meters of a site measured in one hour, in millijoules before the
// facility's share: drawn by jobs and idle, as reported apart, and the site's total. The
// total must equal the sum of both (checkSums).
type hour struct{ drawn, idle, total protocol.Millijoules }

// New returns an empty History.
func New(cfg Config) *History {
	return &History{
		cfg:   cfg,
		jobs:  make(map[protocol.JobID]*jobEntry),
		calls: make(map[uint64]*clearingRound),
		sites: make(map[string]*SiteRecord),

		wholes:   make(map[protocol.JobID]*JobRecord),
		services: make(map[protocol.ServiceID]*ServiceRecord),

		byNumber: make(map[uint64]int),
		judged:   make(map[jobInRound]*JudgeQuestion),
		numbers:  make(map[protocol.JobID]int),
		signals:  make(map[string][]PublishedSignal),

		ruleSince: make(map[string]protocol.Time),
	}
}

// AddMessage reads the next message of the run, and reports whether it was new: a message
// read before is dropped. One that its sender may not send is only counted.
func (b *History) AddMessage(m protocol.Message) (fresh bool) {
	if m.Body == nil || !b.cfg.Live && !b.dedup.AdmitOnce(m) {
		return false // a coordinator's loop drops repeats itself, and restores facts in another order
	}
	b.messages++
	b.span.Live = b.span.Live || m.From == protocol.InputRecorder
	// A message that its sender may not send must not change the record.
	if !m.IsPlausible() {
		b.ignored++
		return true
	}
	if !b.cfg.Live { // which shows no Coverage
		b.span.extendSpan(m)
	}
	b.noteMessageTime(m)
	b.noteTerm(m)
	from := MessageRef{m.From, m.Seq, m.At}
	switch body := m.Body.(type) {
	case protocol.Submit:
		b.foldSubmit(from, body)
	case protocol.SitePrices:
		b.sitePrices = append(b.sitePrices, body)
	case protocol.CallForBids:
		b.foldCall(from, body)
	case protocol.Bids:
		b.foldBids(from, body)
	case protocol.JudgeRequest:
		b.foldJudgeRequest(from, body)
	case protocol.JudgeAnswer:
		b.foldJudgeAnswer(from, body)
	case protocol.Award:
		b.foldAward(from, m.To.SiteName(), body)
		b.listDecision(from, DecisionRef{Kind: "award", Job: body.Job, Round: body.Round, Site: m.To.SiteName(), Start: body.Option.Start, Carbon: body.Option.Carbon, Why: body.Why})
	case protocol.Defer:
		b.foldDefer(from, body)
		b.listDecision(from, DecisionRef{Kind: "hold", Job: body.Job, Round: body.Round, Site: body.Site, Start: body.Start, Until: body.Until, Why: body.Why})
	case protocol.Reject:
		b.foldReject(from, body)
		b.listDecision(from, DecisionRef{Kind: "refuse", Job: body.Job, Why: body.Why})
	case protocol.PartsDecided:
		b.foldPartsDecided(from, body)
	case protocol.Policy:
		if m.From == protocol.Coordinator && m.To == "" {
			b.foldPolicy(from, body)
		}
	case protocol.InputLog:
		b.span.beginIncarnation(m.At, body.Incarnation)
	default:
		b.foldSiteMessage(from, m)
	}
	return true
}

// foldSiteMessage reads the messages of a site about jobs that it was awarded and about itself,
// and those of an operator about a site.
func (b *History) foldSiteMessage(from MessageRef, m protocol.Message) {
	switch body := m.Body.(type) {
	case protocol.Accept:
		b.foldAwardAnswer(from, body.Job, body.Epoch, "accept", body.Start, protocol.Reason{})
		b.planRun(from, body.Job, body.Epoch, body.Start)
	case protocol.Decline:
		b.foldAwardAnswer(from, body.Job, body.Epoch, "decline", 0, body.Why)
	case protocol.Launch:
		b.foldLaunch(from, body)
	case protocol.Started:
		b.foldStarted(from, body)
	case protocol.Finished:
		b.foldFinished(from, body)
	case protocol.Interrupted:
		b.foldInterrupted(from, body)
	case protocol.Preempted:
		b.foldPreempted(from, body)
	case protocol.UsageReport:
		b.foldUsageReport(from, body)
	case protocol.Settlement:
		b.foldSettlement(from, body)
	case protocol.RegisterSite:
		b.foldRegisterSite(from, body)
	case protocol.SiteUsage:
		b.foldSiteUsage(from, body)
	case protocol.Signal:
		if site := from.From.SiteName(); !b.cfg.Live {
			b.signals[site] = append(b.signals[site], PublishedSignal{from.At, body})
		}
	case protocol.Cancel:
		b.foldCancel(from, m.To, body)
	case protocol.DecommissionSite:
		if m.From == protocol.OperatorAPI {
			b.foldDecommission(from, body)
		}
	case protocol.Drain:
		b.foldDrain(from, body)
	case protocol.SiteCondition:
		b.foldCondition(from, body)
	case protocol.SubmitService, protocol.ServiceDivision, protocol.ReplicaStatus, protocol.ServiceSettlement:
		b.foldService(from, m)
	// A snapshot restores the number of settled jobs from the accounts of an earlier
	// incarnation, whose settlements are not in this stream.
	case protocol.Snapshot:
		for _, a := range body.Accounts {
			if s := b.sites[strings.TrimPrefix(a.Account, "site/")]; s != nil {
				s.Settled += a.Jobs
			}
		}
	}
}

// LatestJob returns what is known of a job; false if it was never submitted. Of several
// that one id was given to, each when the one before was over, it is the last.
func (b *History) LatestJob(id protocol.JobID) (JobRecord, bool) {
	e := b.jobs[id]
	if w := b.wholes[id]; e == nil && w != nil {
		r := *w
		r.PartStates = b.PartStates(w, everything)
		return r, true
	}
	if e == nil {
		return JobRecord{}, false
	}
	return b.jobRecord(e), true
}

// EarlierInstances returns how many jobs an id was given to before the last.
func (b *History) EarlierInstances(id protocol.JobID) int {
	if e := b.jobs[id]; e != nil {
		return e.rec.Before
	}
	return 0
}

// InstancesOf returns all jobs that an id was given to, oldest first.
func (b *History) InstancesOf(id protocol.JobID) (all []JobRecord) {
	if w := b.wholes[id]; w != nil && b.jobs[id] == nil {
		return []JobRecord{*w}
	}
	for e := b.jobs[id]; e != nil; e = e.before {
		all = append(all, b.jobRecord(e))
	}
	slices.Reverse(all)
	return all
}

// JobIDs returns the ids of all submitted jobs, sorted.
func (b *History) JobIDs() []protocol.JobID { return slices.Sorted(maps.Keys(b.jobs)) }

// AllInstances goes through all jobs in the order in which they began: several of one
// id, each after the one before was over. The records are the History's own, and lack
// Rounds and FullRounds: see LatestJob.
func (b *History) AllInstances() iter.Seq[*JobRecord] {
	return func(yield func(*JobRecord) bool) {
		for _, e := range b.inOrder {
			if !yield(&e.rec) {
				return
			}
		}
	}
}

// allEntries goes through all jobs, by id, and the newest of an id first.
func (b *History) allEntries() iter.Seq2[protocol.JobID, *jobEntry] {
	return func(yield func(protocol.JobID, *jobEntry) bool) {
		for _, id := range b.JobIDs() {
			for e := b.jobs[id]; e != nil; e = e.before {
				if !yield(id, e) {
					return
				}
			}
		}
	}
}

// SiteRecords returns what is known of each site, by name.
func (b *History) SiteRecords() []SiteRecord {
	var all []SiteRecord
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		all = append(all, *b.sites[name])
	}
	return all
}

// RoundRecords returns the clearing rounds, as they were called.
func (b *History) RoundRecords() []RoundRecord {
	var all []RoundRecord
	for _, c := range b.rounds {
		all = append(all, c.roundRecord())
	}
	return all
}

// siteRecord returns the record of a site, and begins one for a site that is new. A site may be
// named by an award before any message of its own.
func (b *History) siteRecord(name string) *SiteRecord {
	s := b.sites[name]
	if s == nil {
		s = &SiteRecord{Site: name, hours: make(map[protocol.Time]*hour)}
		b.sites[name] = s
	}
	return s
}

// meteredHour returns the meter readings of the hour that begins at an instant, to be added to.
func (s *SiteRecord) meteredHour(at protocol.Time) *hour {
	h := s.hours[at]
	if h == nil {
		h = &hour{}
		s.hours[at] = h
	}
	return h
}
