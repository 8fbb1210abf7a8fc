package query

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/counterfactual"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A Log is a run that can be asked about: its record, and what the record does
// not keep of grids, meters and decisions.
type Log struct {
	book   *history.Book
	totals []history.Totals
	ears   protocol.Ears

	span
	day       protocol.Time // midnight before the last submission
	decisions map[uint64]decided
	order     []uint64 // of decisions, as they were said
	sites     map[string]*site
	jobs      map[namesake]*jobNotes
	tenants   map[string]bool
	said      []protocol.Message // that the market said or heard
	hints     map[place]*hint    // what a judge was asked
	governed  []inForce          // as they were announced
	stage     Stage
	numbers   map[protocol.JobID]int // of jobs, as they were submitted, from 1

	run *counterfactual.Run // said[:fed], stepped over
	fed int
	as  *Rehearsal // the run as it was, if it was replayed

	// Made when first asked for, and again after a message was added.
	listener *ask.Listener
	kept     map[protocol.JobID][]history.JobRecord
}

// A decided is where a decision is found again.
type decided struct {
	id    uint64
	at    protocol.Time
	kind  string // "award", "hold", "refuse"
	job   protocol.JobID
	nth   int // of the jobs of that id, from 0
	round uint64
	site  string
	why   protocol.Reason
}

// A namesake is a job: an id is given to several, each when the one before is over.
type namesake struct {
	id  protocol.JobID
	nth int
}

// A jobNotes is what was said of one job beyond its record.
type jobNotes struct{ decisions []uint64 }

// A site is what one site said of itself.
type site struct {
	heard    protocol.Time // its last message
	pools    []pools       // as it became another
	outlooks []outlook     // the first and the last of each hour, as said
	meters   []protocol.Meter
	scrapped []scrap // where they change
	tells    bool    // it has ever said of idle GPUs
}

type outlook struct {
	at protocol.Time
	protocol.Outlook
}

// pools are what a site consists of, as it said.
type pools struct {
	at   protocol.Time
	all  []protocol.Pool
	gone bool // an operator said that it will not come back
}

// New returns an empty Log. Totals are the figures of all policies that were
// replayed over the same jobs, for comparisons; nil without.
func New(totals []history.Totals) *Log {
	return &Log{
		book:   history.New(history.Config{All: true}),
		totals: totals, decisions: make(map[uint64]decided), sites: make(map[string]*site),
		jobs: make(map[namesake]*jobNotes), tenants: make(map[string]bool), numbers: make(map[protocol.JobID]int), hints: make(map[place]*hint),
	}
}

// Add reads the next message of the run. A message heard before is dropped.
func (l *Log) Add(m protocol.Message) {
	if m.Body == nil || !l.ears.New(m) {
		return
	}
	l.listener, l.kept = nil, nil
	l.book.Add(m)
	if counterfactual.Heard(m) {
		l.said = append(l.said, m)
	}
	if m.From == protocol.Clerk && !l.live {
		l.run = nil // the ledger says in which order it was heard
	}
	if !m.Proper() { // the market heard it, and nobody else is to
		return
	}
	l.hinted(m)
	l.span.add(m)
	from := m.From.Site()
	if m.From == protocol.Agent(from) {
		l.site(from).heard = m.At
	}
	switch b := m.Body.(type) {
	case protocol.Submit:
		l.submit(b.Job)
	case protocol.Award:
		l.decide(decided{id: m.Seq, at: m.At, kind: "award", job: b.Job, round: b.Round, site: m.To.Site(), why: b.Why})
	case protocol.Hold:
		l.decide(decided{id: m.Seq, at: m.At, kind: "hold", job: b.Job, round: b.Round, site: b.Site, why: b.Why})
	case protocol.Refuse:
		l.decide(decided{id: m.Seq, at: m.At, kind: "refuse", job: b.Job, why: b.Why})
	case protocol.Heard:
		l.span.begun(m.At, b.Life)
	case protocol.Gone:
		if s := l.sites[b.Site]; s != nil && m.From == protocol.Desk {
			s.leave(m.At)
		}
	case protocol.Hello:
		s := l.site(b.Site)
		if n := len(s.pools); n == 0 || s.pools[n-1].gone || !slices.Equal(s.pools[n-1].all, b.Pools) {
			s.pools = append(s.pools, pools{at: m.At, all: b.Pools})
		}
	case protocol.Meter:
		l.site(from).meters = append(l.site(from).meters, b)
	case protocol.Offer:
		l.site(from).look(outlook{m.At, b.Grid})
		l.site(from).scraps(m.At, b)
	}
}

func (l *Log) submit(j protocol.Job) {
	l.tenants[j.Tenant] = true
	if l.numbers[j.ID] == 0 {
		l.numbers[j.ID] = len(l.numbers) + 1
	}
	if day := j.Arrival.Floor(24 * time.Hour); day > l.day {
		l.day = day
	}
}

func (l *Log) decide(d decided) {
	d.id, d.nth = max(d.id, 1), l.book.Before(d.job)
	l.decisions[d.id] = d
	l.order = append(l.order, d.id)
	if d.kind == "refuse" && d.why.Code == protocol.Duplicate {
		return // of another submission under the job's id: nothing was decided on the job
	}
	h := l.past(d.job, d.nth)
	h.decisions = append(h.decisions, d.id)
}

// past returns what was said of a job: of those of its id, the nth, from 0.
func (l *Log) past(id protocol.JobID, nth int) *jobNotes {
	of := namesake{id, nth}
	if l.jobs[of] == nil {
		l.jobs[of] = new(jobNotes)
	}
	return l.jobs[of]
}

func (l *Log) site(name string) *site {
	if l.sites[name] == nil {
		l.sites[name] = new(site)
	}
	return l.sites[name]
}

// look keeps the first and the last outlook of an hour.
func (s *site) look(o outlook) {
	n := len(s.outlooks)
	if n >= 2 && s.outlooks[n-1].From == o.From && s.outlooks[n-2].From == o.From {
		s.outlooks[n-1] = o
		return
	}
	s.outlooks = append(s.outlooks, o)
}

// leave notes that an operator said that a site will not come back: it has no GPUs. One
// that greeted since is there again, in whichever order that was written.
func (s *site) leave(at protocol.Time) {
	if n := len(s.pools); n > 0 && s.pools[n-1].at < at {
		s.pools = append(s.pools, pools{at: at, gone: true})
	}
}

// siteNames returns all sites, by name.
func (l *Log) siteNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.sites)), func(s string) bool { return s == "" })
}

// known returns the record of a job that was submitted: the last of its id.
func (l *Log) known(id protocol.JobID) (r history.JobRecord) {
	if all := l.namesakes(id); len(all) > 0 {
		r = all[len(all)-1]
	}
	return r
}

// namesakes returns all jobs of an id, oldest first.
func (l *Log) namesakes(id protocol.JobID) []history.JobRecord {
	all, ok := l.kept[id]
	if !ok {
		if all = l.book.Namesakes(id); l.kept == nil {
			l.kept = make(map[protocol.JobID][]history.JobRecord)
		}
		if len(all) > 0 {
			l.kept[id] = all
		}
	}
	return all
}

// records returns all submitted jobs, by id; of an id that was given to several, all.
func (l *Log) records() (all []history.JobRecord) {
	for _, id := range l.book.Jobs() {
		all = append(all, l.namesakes(id)...)
	}
	return all
}

// decidedOn returns the job that a decision was about.
func (l *Log) decidedOn(d decided) (r history.JobRecord) {
	if all := l.namesakes(d.job); d.nth < len(all) {
		r = all[d.nth]
	}
	return r
}

// deciding returns the id of the decision that a job stands by: its award, or else its
// last; 0 if there is none.
func (l *Log) deciding(r history.JobRecord) uint64 {
	if a := r.Award(); a != nil {
		return number(*a)
	}
	if all := l.past(r.Job.ID, r.Before).decisions; len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

// About returns the job that a decision was about; false if there is no decision of
// that number, or nobody knows of its job.
func (l *Log) About(id uint64) (history.JobRecord, bool) {
	r := l.decidedOn(l.decisions[id])
	return r, r.Job.ID != ""
}

// Book returns the record of the run, with every round of every job in full.
// It is the Log's own: read it, and add to the Log.
func (l *Log) Book() *history.Book { return l.book }

// Decisions returns the numbers of all decisions, as they were said.
func (l *Log) Decisions() []uint64 { return slices.Clone(l.order) }

// Decision returns one decision as a document; false if there is none of that
// number.
func (l *Log) Decision(id uint64) (record.Record, bool) {
	d, ok := l.decisions[id]
	if !ok {
		return record.Record{}, false
	}
	r := l.decidedOn(d)
	for _, h := range r.Hearings {
		if number(h.Decision) == id {
			out, ok := record.Of(r, h, l.numbers[d.job], 0)
			if x := l.hints[place{h.Round, d.job}]; x != nil {
				out = out.Judged(x.ask, x.answer, h.Decision)
			}
			return out.Under(l.policyAt(id), r, h), ok
		}
	}
	if r.Refusal == nil || number(*r.Refusal) != id {
		return record.Record{}, false
	}
	return record.Refused(r, l.numbers[d.job], 0)
}

// number is what a decision is known by: how the coordinator numbered what it said,
// from 1.
func number(d history.Decision) uint64 { return max(d.Said.Seq, 1) }

// cite returns an id as people see it; "" of no decision.
func cite(id uint64) string {
	if id == 0 {
		return ""
	}
	return record.ID(id)
}
