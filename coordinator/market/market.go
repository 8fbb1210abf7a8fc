// Package market is the coordinator's state machine: jobs come in, it calls for bids from the
// sites, has a clearing rule decide each round, awards jobs, and settles measured usage against
// the bid. It does no I/O and reads no clock: a [bus.Machine] that [bus.Loop] steps. Clearing
// rules live in coordinator/auction, the agents that bid in agents.
//
// The market trusts no site's arithmetic. It counts and ignores bids for jobs that were not
// called, bids with impossible terms and bids of sites that never registered. A site that misses a
// round's window is not waited for until it is heard again, but called all the same; bids that come
// late count in the next round.
//
// Invariant: every submitted job is in exactly one state at any time: waiting, called, awarded,
// accepted or ended. A job that a site was confirmed to keep (Confirm with AcceptConfirmed) is
// never awarded once more unless that site gives it back or an operator decommissions the site.
//
// What must survive a restart are events: see [Market.Events]. The caller persists them before it
// sends any message of the step that produced them.
package market

import (
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/services"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// Config holds what an operator may set. A zero field means its default.
type Config struct {
	// Gather is how long the market waits between a submission and the call for bids, so that jobs
	// submitted together are called together; default 1s. If negative, a job is called at once,
	// together with those that came while a round was open (decision 0028); a job that found no
	// place backs off for 100ms first.
	Gather time.Duration
	Window time.Duration // for bids, at most; default 2s; shorter once it is known how fast sites answer (decision 0288)
	Lease  time.Duration // in which an award must be accepted; default 10s
	Replan time.Duration // between full rounds, which call every waiting job; default 10m
	Most   int           // jobs in one call; default 4096
	// MostBids is the most jobs of one call times the sites that answer it; default 100,000. A
	// coordinator reads so many bids in about a second of one core, and they are about 90 MB, of
	// which a NATS server keeps 128 MiB for a slow reader (decision 0289).
	MostBids int `json:",omitempty"`
	// MostSites is the most sites that are asked to bid for one job; default 64. Of more sites those are asked
	// that bid least for such jobs before, and a few in turn (decision 0408).
	MostSites int `json:",omitempty"`
	// MaxOfferBytes is the most bytes that an encoded Bids message may have. Every call carries it
	// (see protocol.CallForBids) and the agents thin their bids to it. It is the smallest payload
	// limit of any site's connection, trace headers not counted. 0: only protocol.MaxMessage
	// limits.
	MaxOfferBytes int
	Terms         protocol.Weights
	// Planning is how far ahead and in what steps sites and auction plan; every call carries it.
	// The default, also in place of an invalid one, is protocol.DefaultPlanning.
	Planning protocol.Planning
	Pay      accounts.PaymentRule
	Advice   Advice
	// Patience is how long past its deadline the market still calls a job that no site can run
	// before it rejects the job; default 24h.
	Patience time.Duration
	// Remember is how long the id of an ended job stays known, and how long ago a submitted job
	// may have arrived; default 720h. One bound serves both: an id may be forgotten only once the
	// job would be rejected as too old.
	Remember time.Duration

	atOnce bool // Gather was negative: submissions are not gathered
}

// withDefaults replaces zero fields by their defaults, and settings that cannot work.
func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Gather < 0 {
		c.atOnce, c.Gather = true, 100*time.Millisecond
	}
	def(&c.Gather, time.Second)
	def(&c.Window, 2*time.Second)
	def(&c.Lease, 10*time.Second)
	def(&c.Replan, 10*time.Minute)
	def(&c.Patience, 24*time.Hour)
	def(&c.Remember, protocol.MaxRun)
	// Protocol times are milliseconds. A ledger of a replay may carry shorter settings.
	c.Gather, c.Replan = max(c.Gather, time.Millisecond), max(c.Replan, time.Millisecond)
	if c.Most == 0 {
		c.Most = 4096
	}
	if c.MostBids == 0 {
		c.MostBids = 100_000
	}
	if c.MostSites == 0 {
		c.MostSites = 64
	}
	if c.Planning.Validate() != nil {
		c.Planning = protocol.DefaultPlanning()
	}
	c.Advice = c.Advice.withDefaults()
	return c
}

// A Market is the coordinator's state machine and a [bus.Machine]. It is not safe for concurrent
// use: the loop is its only caller.
type Market struct {
	cfg    Config
	rule   auction.ClearingRule
	sender protocol.Sender
	dedup  protocol.Deduplicator

	lots         map[protocol.JobID]*lot // open ones, and the last that ended
	timers       timerQueue              // lots by due time
	orphanedRuns []protocol.OrphanedRun  // runs at decommissioned sites that no site has confirmed as stopped
	idleLots     []*lot                  // lots that found no place, to wake when something changes; may hold others
	alone        *lot                    // the job in parts that is called alone until it has its place; nil: none
	sites        map[string]*site
	siteNames    []string // of sites, sorted; a change makes a new list, since calls hold it
	round        *round   // nil: no round is open
	lastCall     callTime // of the round that closed last
	congestion   congestion
	rounds       uint64        // opened so far
	replan       protocol.Time // when the next full round is due
	plansFixed   bool          // the rule ever fixed a plan, so that full rounds may leave lots out
	last         protocol.Time // time of the latest step

	ledger            accounts.Balances
	budgets           accounts.Budgets
	trust             accounts.Trust
	advisor           adviceState
	policy            protocol.Policy       // in force
	quotas            *quota.Tree           // of the policy in force; nil: not built yet
	policyUnannounced bool                  // the policy was set and not announced yet
	counts            map[string]int        // of what the market refused to read, by reason
	writeQuotas       map[string]writeQuota // by site, and by party of a tenant
	services          *services.Services
	events            []protocol.Message          // of the latest Step or Tick
	endedJobs         map[protocol.JobID]endedJob // that are not in lots any more
	endedLots         []endedLot                  // whose ids are still known, by the time they ended
	maxForgottenEpoch uint64                      // upper bound of the epochs of all forgotten lots: epochs of a reused id start above it. Invariant: never above rounds
}

// A state is where a lot stands.
type state int

const (
	waiting  state = iota // until its due time
	called                // in the open round, or the judge still considers it
	awarded               // until the site accepts, or the lease expires
	accepted              // by the site
	ended                 // settled or rejected; kept for a while, so that the id stays known
	divided               // a job in parts, which are lots of their own: see parts.go
)

// A lot is a job that the market offers to the sites, with its history so far.
type lot struct {
	job              protocol.Job
	task             protocol.Task  // only the site that wins gets it
	from             protocol.Party // the submitter
	state            state
	due              protocol.Time      // next call, end of the lease, or repetition of a Cancel
	tries            int                // rounds that decided on it
	epoch            uint64             // number of the current award; 0: never awarded
	site             string             // that has, or last had, the award; "" if that award is void
	option           protocol.BidOption // of the last award
	off              accounts.Amounts   // by how much more than that it may cost; zero unless its tenant has a budget
	places           []protocol.Place   // of the last award, if it says on how many pods the job runs
	lease            protocol.Time      // of the last award
	pause            protocol.Time      // of the last award: when the run is to pause; 0: never
	submitted        protocol.Job       // the job as submitted; the field job is what is left of it
	cancelRequested  bool               // a Cancel was sent to the site that runs it
	started          uint64             // the epoch under which its site reported that it runs; 0: none
	start            protocol.Time      // of its run, as its site promised, then reported
	preempt          *protocol.Preempt  // its site was asked to stop it for another job, or to pause it for a budget; nil: it was not
	watched          bool               // it is looked at by the hour, and when it outlasts its plan: see overrun.go
	reckoned         reckoning          // of a watched run
	preempted        []protocol.Time    // when it was stopped to make room, the last mostPreempted times
	preemptAfter     protocol.Time      // it may have others stopped from then on
	roomOn           string             // the GPU model on which room is being made for it
	reneges          []renege           // per site that won it and did not keep it
	noBids           bool               // no site bid for it when it was called last
	mostPods         int                // that quotas have room for; 0: for any number, or it runs on one alone
	byChoice         bool               // it waits for a cheaper hour, and not for room
	failedCalls      int                // calls in a row that found no place, not even a planned one
	backoffUntil     protocol.Time      // not called before, whatever changes
	heldBy           auction.Pool       // where it would start, had that room; zero: room does not hold it
	listed           bool               // in Market.idleLots
	plannedAt        string             // the site where the rule planned it when it was deferred last
	ruledOut         map[string]uint64  // by site that said it can never run it, if not all sites are asked: the round of its answer
	submissionDigest uint64             // of the submission, once that is no longer kept; else 0

	alone     bool           // the site whose queue submitted it may start it by itself
	whole     *lot           // of a part: its job; else nil
	parts     []*lot         // of a job in parts
	prepared  bool           // of a part: its site accepted the award, and waits for the others
	asked     bool           // of a part: this process sent its award, so that it heard all answers since
	committed bool           // of a job in parts: all stand
	roomFor   protocol.JobID // of a job in parts: the one of a higher class for which its last award was stopped
	joint     jointWait      // of a job in parts

	why        protocol.Reason    // of the last award
	lastStatus protocol.JobStatus // last status sent to the queue or the tenant that submitted it
}

// A site is what the market knows about a registered site.
type site struct {
	registration protocol.RegisterSite
	drained      bool // an operator drained it: it gets no awards
	silent       bool // did not answer the last round

	answers       answerTime
	answeredRound uint64                // the newest that it answered, in time or late
	missedWindows int                   // in a row
	suspectSince  protocol.Time         // it missed a window, or fell silent, and was not heard since: no round waits for it; 0: it is waited for
	late          *lateBids             // for the round that closed last
	rates         []modelRate           // what it asked when it bid last for each model, if not all sites are asked
	forecast      protocol.GridForecast // that it stated with its newest bid
	runsUntil     protocol.Time         // the latest end of what it was awarded

	registeredAfter uint64 // how many rounds had been opened when it registered last

	lastStopSent protocol.Time // when the market last sent the Cancels of its orphaned runs
}

// New returns an empty market in which rule clears the rounds.
func New(cfg Config, rule auction.ClearingRule) *Market {
	cfg = cfg.withDefaults()
	counts := make(map[string]int)
	k := &Market{
		cfg:         cfg,
		rule:        rule,
		services:    services.New(services.Config{Gather: cfg.Gather, Window: cfg.Window, Weights: cfg.Terms}, counts),
		sender:      protocol.Sender{Party: protocol.Coordinator},
		lots:        make(map[protocol.JobID]*lot),
		endedJobs:   make(map[protocol.JobID]endedJob),
		sites:       make(map[string]*site),
		counts:      counts,
		writeQuotas: make(map[string]writeQuota),
	}
	k.services.LimitBy(k.roomForServices)
	return k
}

// RefusalCounts returns how often the market refused to read a message or a part of one, by
// reason. The caller must not change it.
func (k *Market) RefusalCounts() map[string]int { return k.counts }

// KnownJobs returns how many jobs the market knows: those under way, and ended ones still
// remembered.
func (k *Market) KnownJobs() int { return len(k.lots) + len(k.endedJobs) }

// Accounts returns the money accounts. The caller must not change them.
func (k *Market) Accounts() *accounts.Balances { return &k.ledger }

// Budgets returns what quotas spent of their budgets. The caller must not change it.
func (k *Market) Budgets() *accounts.Budgets { return &k.budgets }

// Due implements bus.Machine.
func (k *Market) Due() protocol.Time { return earlier(k.jobsDue(), k.services.Due()) }

// jobsDue is Due for jobs. While a round or a question is open, only its end is due.
func (k *Market) jobsDue() protocol.Time {
	switch {
	case k.round != nil:
		return k.round.closes
	case k.advisor.openQuestions > 0:
		return k.advisor.until
	}
	due := k.timers.nextDue(k.lots)
	if due != 0 {
		due = max(due, k.congestion.rest)
	}
	return due
}

// Tick implements bus.Machine: it closes the round or the open questions if their time has come,
// and then opens the next round.
func (k *Market) Tick(now protocol.Time) []protocol.Message {
	k.events = k.events[:0]
	k.observeClock(now)
	msgs := k.tickJobs(now)
	return append(msgs, k.tickServices(now)...)
}

// tickJobs is Tick for jobs.
func (k *Market) tickJobs(now protocol.Time) []protocol.Message {
	var msgs []protocol.Message
	if k.round != nil {
		if now < k.round.closes {
			return nil
		}
		msgs = k.closeRound(now)
	}
	if k.advisor.openQuestions > 0 {
		if now < k.advisor.until {
			return msgs // rounds never overlap: the judge may still move an award of this one
		}
		msgs = append(msgs, k.closeUnanswered(now)...)
	}
	return append(msgs, k.openRound(now)...) // with what became due while the round was open
}

// Step implements bus.Machine.
func (k *Market) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.events = k.events[:0]
	k.observeClock(now)
	if k.isStrayOfTenant(now, m) {
		return nil
	}
	if k.RefuseDuplicate(m) {
		return nil
	}
	k.dedup.AdmitOnce(m)
	k.hearSite(m)
	// The market's own clock decides what comes too late. This count shows an operator why much of
	// what a site sends is refused.
	if m.At > now.Add(maxClockSkew) || m.At < now.Add(-maxClockSkew) {
		k.counts["clock-apart"]++
	}
	msgs := k.stepJobs(now, m)
	return append(msgs, k.stepServices(now, m)...)
}

// RefuseDuplicate reports whether the market has heard m before, and counts it then: Step would do
// nothing about it.
func (k *Market) RefuseDuplicate(m protocol.Message) bool {
	if !k.dedup.IsDuplicate(m) {
		return false
	}
	k.counts["said-twice"]++
	return true
}

// stepJobs is Step for what is about jobs and sites.
func (k *Market) stepJobs(now protocol.Time, m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Submit:
		return k.handleSubmit(now, m, b)
	case protocol.RegisterSite:
		return k.handleRegistration(now, m, b)
	case protocol.Bids:
		return k.handleBids(now, m, b)
	case protocol.Accept:
		return k.handleAccept(now, m, b)
	case protocol.Decline:
		return k.handleDecline(now, m, b)
	case protocol.Started:
		k.handleStarted(now, m, b)
	case protocol.LocalStart:
		return k.handleLocalStart(now, m, b)
	case protocol.UsageReport:
		return k.handleUsageReport(now, m, b)
	case protocol.Preempted:
		return k.handlePreempted(now, m, b)
	case protocol.JudgeAnswer:
		return k.handleAnswer(now, m.From, b)
	case protocol.Cancel:
		return k.handleCancel(now, m, b)
	case protocol.Drain:
		k.handleDrain(now, m, b)
	case protocol.DecommissionSite:
		return k.handleDecommission(now, m, b)
	case protocol.SiteCondition:
		k.handleCondition(now, m, b)
	case protocol.Policy:
		return k.handlePolicy(now, m, b)
	case protocol.QuoteRequest:
		return k.forwardQuoteRequest(now, m, b)
	}
	return nil
}

// NewMessage returns a message of the coordinator that the market has no part in, numbered after those
// that it sent. It is not an event.
func (k *Market) NewMessage(now protocol.Time, to protocol.Party, b protocol.Body) protocol.Message {
	return k.sender.NewMessage(now, to, b)
}

// sendAndRecord numbers a message, and records it as an event if the market's state depends on it
// (see Restore).
func (k *Market) sendAndRecord(now protocol.Time, to protocol.Party, b protocol.Body) protocol.Message {
	m := k.sender.NewMessage(now, to, b)
	switch b := b.(type) {
	case protocol.Award, protocol.Defer, protocol.Settlement, protocol.PartsDecided:
		k.recordEvent(m)
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate { // that Reject concerns a second submission, and not the lot of that id
			k.recordEvent(m)
		}
	}
	return m
}
