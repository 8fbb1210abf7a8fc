package history

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// A Config says what a Book keeps. The zero Config is the default.
type Config struct {
	All bool // keep every round of every job in full

	// Live bounds what is kept, for a coordinator that runs for years: no bids, no
	// lists of all decisions, forecasts and meter reports, and of what is over only
	// the newest jobs and rounds (KeptEnded, KeptRounds).
	Live bool
}

// A Book is the record of one run.
type Book struct {
	cfg    Config
	ears   protocol.Deduplicator
	jobs   map[protocol.JobID]*entry // the newest of each id
	calls  map[uint64]*call          // by round
	rounds []*call                   // as called
	sites  map[string]*SiteRecord

	messages, declines, stray int
	repeats, duplicates       int // submissions of a known id, and refusals of those
	holds                     int
	problems                  []Problem // seen while reading
	inside                    bool      // what sites say to their hands is on the ledger
	policy                    uint64    // in force, if it has rules

	span      span
	decisions []DecisionRef
	byNumber  map[uint64]int // into decisions
	judged    map[jobInRound]*JudgeQuestion
	rules     []Rules
	tenants   []string // sorted
	numbers   map[protocol.JobID]int
	spent     []Spent
	begun     []*entry         // all jobs, as they began
	ended     []protocol.JobID // that are over, oldest first; of a live view
}

// An entry is a job as it is kept.
type entry struct {
	rec         JobRecord // without Hearings
	first, last *hearing
	all         []*hearing // instead of first and last, if Config.All

	before *entry     // that was over when this one was submitted under its id
	next   *JobRecord // submitted since it is over, and not called yet
}

// over reports whether nothing more comes of a job: an id is free again some time
// after that.
func (e *entry) over() bool {
	return e.rec.State == Refused || e.rec.State == Ended && e.rec.Run.Settlement != Origin{}
}

// A RoundRecord is one clearing round.
type RoundRecord struct {
	Round   uint64
	Called  Origin
	Closes  protocol.Time
	Jobs    int
	Offered []string // sites that answered in time, by name
	Silent  []string // sites known then that did not
	Awards  int
	Holds   int
	Refused int                  // jobs, after the call and before the next
	Proof   protocol.Certificate // of its awards; zero if it had none
}

// A SiteRecord is one site's part in the run.
type SiteRecord struct {
	Site    string
	Pools   []protocol.Pool
	Awards  int // declined ones included
	Ran     int // jobs ended here
	Late    int // of those
	Jobs    protocol.Usage
	Idle    protocol.Usage
	Metered protocol.Millijoules // before the facility's share, measured apart from the jobs
	Paid    protocol.Microdollars
	hours   map[protocol.Time]*hour

	// Reports of the site, oldest first; a live view keeps only the newest message time.
	MessageTimes []protocol.Time
	Inventories  []Inventory // where they change
	Forecasts    []Forecast  // the first and the last of each hour
	Meters       []MeterReport
	Idles        []IdleGPUs // where they change

	Registered   bool // it has greeted
	Drained      bool // it is sent no more jobs
	SilentRounds int  // in a row, that it did not answer
	Settled      int  // jobs that ended here and are settled
	Bid          LastBid

	answered    bool // since the last call
	reportsIdle bool // it has ever reported an idle GPU
	greeted     protocol.Time
	gone        bool // an operator said that it will not come back, and it has not greeted since
}

// An hour is what a site's two meters saw: the one of the jobs, and its own.
type hour struct{ drawn, idle, total protocol.Millijoules }

// New returns an empty Book.
func New(cfg Config) *Book {
	return &Book{
		cfg:   cfg,
		jobs:  make(map[protocol.JobID]*entry),
		calls: make(map[uint64]*call),
		sites: make(map[string]*SiteRecord),

		byNumber: make(map[uint64]int),
		judged:   make(map[jobInRound]*JudgeQuestion),
		numbers:  make(map[protocol.JobID]int),
	}
}

// Add reads the next message of the run, and reports whether it was new: a message
// read before is dropped. One that its sender may not send is only counted.
func (b *Book) Add(m protocol.Message) (fresh bool) {
	if m.Body == nil || !b.cfg.Live && !b.ears.AdmitOnce(m) {
		return false // a coordinator's loop drops repeats itself, and restores facts in another order
	}
	b.messages++
	b.span.Live = b.span.Live || m.From == protocol.InputRecorder
	if !m.IsPlausible() {
		b.stray++
		return true
	}
	b.span.extend(m)
	b.noteMessageTime(m)
	from := Origin{m.From, m.Seq, m.At}
	switch body := m.Body.(type) {
	case protocol.Submit:
		b.submit(from, body)
	case protocol.CallForBids:
		b.call(from, body)
	case protocol.Bids:
		b.offer(from, body)
	case protocol.JudgeRequest:
		b.askJudge(body)
	case protocol.JudgeAnswer:
		b.judgeAnswers(from, body)
	case protocol.Award:
		b.award(from, m.To.SiteName(), body)
		b.listDecision(from, DecisionRef{Kind: "award", Job: body.Job, Round: body.Round, Site: m.To.SiteName(), Start: body.Option.Start, Carbon: body.Option.Carbon, Why: body.Why})
	case protocol.Defer:
		b.hold(from, body)
		b.listDecision(from, DecisionRef{Kind: "hold", Job: body.Job, Round: body.Round, Site: body.Site, Start: body.Start, Until: body.Until, Why: body.Why})
	case protocol.Reject:
		b.refuse(from, body)
		b.listDecision(from, DecisionRef{Kind: "refuse", Job: body.Job, Why: body.Why})
	case protocol.Policy:
		if m.From == protocol.Coordinator && m.To == "" {
			b.announce(from, body)
		}
	case protocol.InputLog:
		b.span.beginIncarnation(m.At, body.Incarnation)
	default:
		b.addSite(from, m)
	}
	return true
}

// addSite reads the messages of a site about jobs that it was awarded and about itself,
// and those of an operator about a site.
func (b *Book) addSite(from Origin, m protocol.Message) {
	switch body := m.Body.(type) {
	case protocol.Accept:
		b.answer(from, body.Job, body.Epoch, "accept", body.Start, protocol.Reason{})
		b.plan(from, body.Job, body.Epoch, body.Start)
	case protocol.Decline:
		b.answer(from, body.Job, body.Epoch, "decline", 0, body.Why)
	case protocol.Launch:
		b.launch(from, body)
	case protocol.Started:
		b.started(from, body)
	case protocol.Finished:
		b.exited(from, body)
	case protocol.Interrupted:
		b.lost(from, body)
	case protocol.Preempted:
		b.preempted(from, body)
	case protocol.UsageReport:
		b.done(from, body)
	case protocol.Settlement:
		b.settled(from, body)
	case protocol.RegisterSite:
		b.hello(from, body)
	case protocol.SiteUsage:
		b.meter(from, body)
	case protocol.Cancel:
		b.cancel(from, m.To, body)
	case protocol.DecommissionSite:
		if m.From == protocol.OperatorAPI {
			b.gone(from, body)
		}
	case protocol.Drain:
		if s := b.sites[body.Site]; s != nil && !s.gone && m.From == protocol.OperatorAPI { // the market knows none that is gone
			s.Drained = !body.Over
		}
	case protocol.Snapshot:
		for _, a := range body.Accounts {
			if s := b.sites[strings.TrimPrefix(a.Account, "site/")]; s != nil {
				s.Settled += a.Jobs
			}
		}
	}
}

// Job returns what is known of a job; false if it was never submitted. Of several
// that one id was given to, each when the one before was over, it is the last.
func (b *Book) Job(id protocol.JobID) (JobRecord, bool) {
	e := b.jobs[id]
	if e == nil {
		return JobRecord{}, false
	}
	return b.record(e), true
}

// Before returns how many jobs an id was given to before the last.
func (b *Book) Before(id protocol.JobID) int {
	if e := b.jobs[id]; e != nil {
		return e.rec.Before
	}
	return 0
}

// Namesakes returns all jobs that an id was given to, oldest first.
func (b *Book) Namesakes(id protocol.JobID) (all []JobRecord) {
	for e := b.jobs[id]; e != nil; e = e.before {
		all = append(all, b.record(e))
	}
	slices.Reverse(all)
	return all
}

// Jobs returns the ids of all submitted jobs, sorted.
func (b *Book) Jobs() []protocol.JobID { return slices.Sorted(maps.Keys(b.jobs)) }

// Instances goes through all jobs in the order in which they began: several of one
// id, each after the one before was over. The records are the Book's own, and lack
// Rounds and Hearings: see Job.
func (b *Book) Instances() iter.Seq[*JobRecord] {
	return func(yield func(*JobRecord) bool) {
		for _, e := range b.begun {
			if !yield(&e.rec) {
				return
			}
		}
	}
}

// entries goes through all jobs, by id, and the newest of an id first.
func (b *Book) entries() iter.Seq2[protocol.JobID, *entry] {
	return func(yield func(protocol.JobID, *entry) bool) {
		for _, id := range b.Jobs() {
			for e := b.jobs[id]; e != nil; e = e.before {
				if !yield(id, e) {
					return
				}
			}
		}
	}
}

// Sites returns what is known of each site, by name.
func (b *Book) Sites() []SiteRecord {
	var all []SiteRecord
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		all = append(all, *b.sites[name])
	}
	return all
}

// Rounds returns the clearing rounds, as they were called.
func (b *Book) Rounds() []RoundRecord {
	var all []RoundRecord
	for _, c := range b.rounds {
		all = append(all, c.record())
	}
	return all
}

func (b *Book) site(name string) *SiteRecord {
	s := b.sites[name]
	if s == nil {
		s = &SiteRecord{Site: name, hours: make(map[protocol.Time]*hour)}
		b.sites[name] = s
	}
	return s
}

func (s *SiteRecord) hour(at protocol.Time) *hour {
	h := s.hours[at]
	if h == nil {
		h = &hour{}
		s.hours[at] = h
	}
	return h
}
