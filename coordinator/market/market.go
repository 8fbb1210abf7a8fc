// Package market is the coordinator's mind. It takes in jobs, calls them out to
// the sites, has a rule clear each round, hands out awards, and settles what was
// measured against what was bid.
//
// It trusts nobody's arithmetic. An offer for a job that was not called, with
// terms that cannot be, from a site that never introduced itself, or said too
// late, is counted and not read. A site that does not answer is waited for until
// the round closes, and no longer.
//
// Invariant: every job submitted is, at any time, in exactly one state: waiting,
// called, awarded, accepted, done or refused. A job that a site was told to keep
// (Confirm: stands) is never awarded again unless that site gives it back.
//
// What must survive a restart are facts: see [Market.Events]. Whoever runs a
// market for real writes them down before anything that was said is sent.
package market

import (
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// Config is what an operator may set. The zero of a field is its default.
type Config struct {
	// Gather is how long the market waits between a submission and the call, so
	// that jobs go out together; default 1s. Negative: a job is called at once, with
	// those that came while a round was open; one that found no place rests 100ms first.
	Gather time.Duration
	Window time.Duration // for offers; default 2s
	Lease  time.Duration // in which an award must be accepted; default 10s
	Replan time.Duration // between rounds of all waiting jobs; default 30m
	Most   int           // jobs in one call; default 4096
	// MaxOfferBytes is the most bytes that an encoded offer may have, which each call
	// tells the sites: see protocol.CallForBids. It is the least that any site's connection
	// carries, trace headers apart. 0: no limit but protocol.MaxMessage.
	MaxOfferBytes int
	Terms         protocol.Weights
	// Planning is how far and how finely sites and auction plan. Every Call carries
	// it. Default protocol.DefaultPlanning, also in place of one that is not valid.
	Planning protocol.Planning
	Pay      accounts.PaymentRule
	Advice   Advice
	// Patience is how long a job that nobody can run is called again before it
	// is refused; default 24h past its deadline.
	Patience time.Duration
	// Remember is for how long the id of an ended job stays known, and how long
	// ago a job that is submitted may have arrived; default 720h.
	Remember time.Duration

	atOnce bool // submissions are not gathered
}

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
	def(&c.Replan, 30*time.Minute)
	def(&c.Patience, 24*time.Hour)
	def(&c.Remember, protocol.MaxRun)
	// Nothing is finer than an instant. The settings may be those of somebody's ledger.
	c.Gather, c.Replan = max(c.Gather, time.Millisecond), max(c.Replan, time.Millisecond)
	if c.Most == 0 {
		c.Most = 4096
	}
	if c.Planning.Validate() != nil {
		c.Planning = protocol.DefaultPlanning()
	}
	c.Advice = c.Advice.withDefaults()
	return c
}

// A Market is a bus.Machine.
type Market struct {
	cfg    Config
	rule   auction.ClearingRule
	sender protocol.Sender
	dedup  protocol.Deduplicator

	lots         map[protocol.JobID]*lot
	timers       timerQueue             // what is due when
	orphanedRuns []protocol.OrphanedRun // from sites that were said to be gone
	idleLots     []*lot                 // called in vain, among others that were
	sites        map[string]*site
	round        *round // nil: none is open
	rounds       uint64 // opened so far
	replan       protocol.Time
	last         protocol.Time // by the clock

	ledger            accounts.Balances
	trust             accounts.Trust
	advisor           adviceState
	policy            protocol.Policy // in force
	policyUnannounced bool            // policy was not announced
	counts            map[string]int
	writeQuotas       map[string]writeQuota // by site
	events            []protocol.Message    // of the last step
	endedLots         []endedLot            // ended lots whose id is still known, by time
	maxForgottenEpoch uint64                // no lot that was forgotten had a higher one; rounds is never lower
}

// endedLot is an ended lot, and when it ended.
type endedLot struct {
	at protocol.Time
	id protocol.JobID
}

// A state is where a job is on its way.
type state int

const (
	waiting  state = iota // for the time in due
	called                // in the open round
	awarded               // until accepted, or until the lease ends
	accepted              // by the site
	ended                 // done or refused; kept so that the id stays known
)

// A lot is a job with its way so far.
type lot struct {
	job              protocol.Job
	task             protocol.Task  // told to the site that wins, and to nobody else
	from             protocol.Party // who submitted it
	state            state
	due              protocol.Time // of the next call, or the end of the lease
	tries            int
	epoch            uint64
	site             string
	option           protocol.BidOption
	lease            protocol.Time // of the last award
	pause            protocol.Time // likewise
	submitted        protocol.Job  // as it was submitted; job is what is left of it
	cancelRequested  bool          // somebody asked to cancel it
	reneges          []renege      // by sites that won it
	failedCalls      int           // calls in a row that led to no place, not even a planned one
	backoffUntil     protocol.Time // until then it is not called again, whatever changes
	listed           bool          // in Market.idleLots
	submissionDigest uint64        // of what was submitted, where that is no longer kept

	why        protocol.Reason    // of the last award
	lastStatus protocol.JobStatus // as a queue was told last
}

// A site is what the market knows of one.
type site struct {
	registration protocol.RegisterSite
	drained      bool // sends jobs away: an operator asked for that
	silent       bool // did not answer the last round

	lastStopSent protocol.Time // when it was last told what it is to stop
}

// New returns a market in which rule decides.
func New(cfg Config, rule auction.ClearingRule) *Market {
	return &Market{
		cfg:         cfg.withDefaults(),
		rule:        rule,
		sender:      protocol.Sender{Party: protocol.Coordinator},
		lots:        make(map[protocol.JobID]*lot),
		sites:       make(map[string]*site),
		counts:      make(map[string]int),
		writeQuotas: make(map[string]writeQuota),
	}
}

// RefusalCounts returns how often the market refused to read something, by reason.
// The caller must not change it.
func (k *Market) RefusalCounts() map[string]int { return k.counts }

// KnownJobs returns how many jobs are on their way, or ended and remembered.
func (k *Market) KnownJobs() int { return len(k.lots) }

// Accounts returns the accounts. The caller must not change them.
func (k *Market) Accounts() *accounts.Balances { return &k.ledger }

// Due implements bus.Machine.
func (k *Market) Due() protocol.Time {
	switch {
	case k.round != nil:
		return k.round.closes
	case k.advisor.openQuestions > 0:
		return k.advisor.until
	}
	return k.timers.nextDue(k.lots)
}

// Tick implements bus.Machine.
func (k *Market) Tick(now protocol.Time) []protocol.Message {
	k.events = k.events[:0]
	k.observeClock(now)
	var said []protocol.Message
	if k.round != nil {
		if now < k.round.closes {
			return nil
		}
		said = k.closeRound(now)
	}
	if k.advisor.openQuestions > 0 {
		if now < k.advisor.until {
			return said // rounds do not overlap: the judge may still move an award
		}
		said = append(said, k.closeUnanswered(now)...)
	}
	return append(said, k.openRound(now)...) // what fell due while the round was open
}

// Step implements bus.Machine.
func (k *Market) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	k.events = k.events[:0]
	k.observeClock(now)
	if !k.dedup.AdmitOnce(m) {
		k.counts["said-twice"]++
		return nil
	}
	// What it says is judged by the market's clock all the same; this tells an
	// operator why much of it is refused.
	if m.At > now.Add(maxClockSkew) || m.At < now.Add(-maxClockSkew) {
		k.counts["clock-apart"]++
	}
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
	case protocol.UsageReport:
		return k.handleUsageReport(now, m, b)
	case protocol.JudgeAnswer:
		return k.handleAnswer(now, m.From, b)
	case protocol.Cancel:
		return k.handleCancel(now, m, b)
	case protocol.Drain:
		k.handleDrain(now, m, b)
	case protocol.DecommissionSite:
		return k.handleDecommission(now, m, b)
	case protocol.Policy:
		return k.handlePolicy(now, m, b)
	}
	return nil
}

func (k *Market) sendAndRecord(now protocol.Time, to protocol.Party, b protocol.Body) protocol.Message {
	m := k.sender.NewMessage(now, to, b)
	switch b := b.(type) {
	case protocol.Award, protocol.Defer, protocol.Settlement:
		k.recordEvent(m)
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate { // the job of that id goes on, and its books
			k.recordEvent(m)
		}
	}
	return m
}
