package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/protocol"
)

// A Quote is what a job would cost now, in the units of the API. Nothing of it is submitted.
type Quote struct {
	Job   protocol.JobID `json:"job,omitempty"` // by its file
	At    protocol.Time  `json:"at"`
	Sites []SiteQuote    `json:"sites"`
	// Verdict is what a round of this job alone would decide now: award, wait or refuse. Takes is
	// the start that it awards, or that the plan would keep for a job that waits.
	Verdict string       `json:"verdict,omitempty"`
	Takes   *QuotedStart `json:"takes,omitempty"`
	Why     string       `json:"why,omitempty"` // of the verdict, in a code
	Note    string       `json:"note,omitempty"`
	// Parts are those of a job that may go to several sites, each as a job, and Takes its own start. All of
	// them start, or none does: the verdict is on all. The job itself then has no sites.
	Parts []PartQuote `json:"parts,omitempty"`
}

// A PartQuote is what a part of a job would cost.
type PartQuote struct {
	Part  protocol.JobID `json:"part"` // job.part, as it will be named
	Sites []SiteQuote    `json:"sites"`
	Takes *QuotedStart   `json:"takes,omitempty"` // together with the other parts
}

// A SiteQuote is what one site offers: the soonest of its starts and the cheapest, which may be
// the same; or why it offers none.
type SiteQuote struct {
	Site     string       `json:"site"`
	Earliest *QuotedStart `json:"earliest,omitempty"`
	Cheapest *QuotedStart `json:"cheapest,omitempty"` // to its tenant
	Why      string       `json:"why,omitempty"`      // in a code; drained: by an operator
	Note     string       `json:"note,omitempty"`
}

// A QuotedStart is one option: figures include the facility's share.
type QuotedStart struct {
	Site   string        `json:"site"`
	Model  string        `json:"model,omitempty"` // of its GPUs
	Start  protocol.Time `json:"start"`
	Finish protocol.Time `json:"finish"`
	Energy float64       `json:"energy_kwh"`
	Carbon float64       `json:"carbon_kg"`
	Price  float64       `json:"price_usd"` // that the tenant pays, if it is measured as it was bid
	Cost   float64       `json:"cost_usd"`  // by the objective of the market
	Late   bool          `json:"late,omitempty"`
}

// An EvaluateQuote turns the answers of sites, by name, to a request of the time asked into a
// quote. The loop of the market calls it between two steps.
type EvaluateQuote func(now, asked protocol.Time, j protocol.Job, answers map[string]protocol.Message) Quote

// AnswerQuotesBy sets what evaluates quotes, for the term that begins.
func (d *Server) AnswerQuotesBy(f EvaluateQuote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.evaluateQuote = f
}

// An openQuote is a request for quotes that sites are answering.
type openQuote struct {
	answers map[string]protocol.Message // by site
	more    chan struct{}               // holds one token while there are new answers
}

// quoteWait is how long the API waits for the answers of sites: longer than a round does, as a
// person who asks rather waits a second than misses a site.
const quoteWait = 3 * time.Second

// handleQuote answers what the job of a file would cost. Nothing is submitted or kept.
func (d *Server) handleQuote(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	o, code, err := d.readJobRequest(w, r)
	if err == nil {
		code, err = http.StatusUnprocessableEntity, d.checkJobNames(o)
	}
	if err != nil {
		writeError(w, code, err)
		return
	}
	q, err := d.quoteJob(r.Context(), o)
	switch {
	case errors.As(err, new(invalidJobError)):
		writeError(w, http.StatusUnprocessableEntity, err)
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, fmt.Errorf("api: no quote: %w", err))
	default:
		writeJSON(w, http.StatusOK, q)
	}
}

// An invalidJobError is why a job would be refused as it is.
type invalidJobError struct{ why string }

func (e invalidJobError) Error() string { return "api: job: " + e.why }

// quoteJob has the market ask all sites, collects their answers, and has the market reckon with
// them. The job gets an id of its own, so that sites do not take it for one that they know.
func (d *Server) quoteJob(ctx context.Context, o jobfile.Request) (q Quote, err error) {
	number := rand.Uint64N(1<<53-1) + 1
	open := &openQuote{answers: make(map[string]protocol.Message), more: make(chan struct{}, 1)}
	d.mu.Lock()
	d.openQuotes[number] = open
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.openQuotes, number)
		d.mu.Unlock()
	}()
	var asked protocol.Time
	var job protocol.Job
	if err := d.submitMessage(ctx, func(now protocol.Time) protocol.Body {
		asked, job = now, o.WithID(protocol.JobID("quote-"+strconv.FormatUint(number, 36))).SubmitAt(now).Job
		jobs := []protocol.Job{job}
		if job.IsDivided() && job.InvalidReason() == "" {
			jobs = job.PartJobs()
		}
		return protocol.QuoteRequest{Call: protocol.CallForBids{Round: number, Jobs: jobs}}
	}); err != nil {
		return q, err
	}
	if why := job.InvalidReason(); why != "" {
		return q, invalidJobError{why}
	}
	d.awaitAnswers(ctx, open)
	err = d.inspectMarket(ctx, func(now protocol.Time) {
		d.mu.Lock()
		defer d.mu.Unlock()
		q = d.evaluateQuote(now, asked, job, open.answers)
	})
	q.Job = o.ID()
	for i := range q.Parts {
		if q.Parts[i].Part = protocol.JobID(job.Parts[i].Name); q.Job != "" {
			q.Parts[i].Part = protocol.PartID(q.Job, job.Parts[i].Name)
		}
	}
	return q, err
}

// awaitAnswers waits until every registered site has answered, for quoteWait at most.
func (d *Server) awaitAnswers(ctx context.Context, open *openQuote) {
	over := time.NewTimer(quoteWait)
	defer over.Stop()
	for {
		missing := false
		d.readStatus(func(b *jobstatus.View) {
			for _, s := range b.AllSites(d.clock.Now()) {
				_, answered := open.answers[s.Name]
				missing = missing || !answered && !s.Decommissioned
			}
		})
		if !missing {
			return
		}
		select {
		case <-open.more:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// collectQuotes passes the quotes among messages that the coordinator received to who asked.
// Invariant: the caller holds d.mu.
func (d *Server) collectQuotes(heard []protocol.Message) {
	for _, m := range heard {
		q, ok := m.Body.(protocol.Quote)
		open := d.openQuotes[q.Bids.Round]
		if !ok || open == nil || !m.IsPlausible() {
			continue
		}
		open.answers[m.From.SiteName()] = m
		select {
		case open.more <- struct{}{}:
		default:
		}
	}
}

// inspectMarket calls read on the loop of the market, which takes no step meanwhile.
func (d *Server) inspectMarket(ctx context.Context, read func(now protocol.Time)) error {
	return d.runOnLoop(ctx, bus.LocalRequest{Inspect: read})
}
