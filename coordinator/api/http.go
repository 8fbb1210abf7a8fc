package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// requestTimeout bounds the time of a request.
const requestTimeout = 10 * time.Second

// HTTPHandler serves everything under /v1/ but the record, and /healthz and /readyz, to those
// whom the guard lets through. It refuses what a page elsewhere has a browser send.
func (d *Server) HTTPHandler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range d.handlers() {
		mux.Handle(pattern, d.guard.Protect(pattern, withReadDeadline(http.TimeoutHandler(handle, requestTimeout, `{"error":"no answer in time; try once more"}`))))
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

// withReadDeadline ends the request of a client that sends its body slowly: it would hold a connection
// and what reads from it, credential or not.
func withReadDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(requestTimeout)) // fails in tests without a connection
		next.ServeHTTP(w, r)
	})
}

// handlers returns what serves each endpoint of the rights' table that is served here.
func (d *Server) handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v1/jobs":                             d.handleListJobs,
		"POST /v1/jobs":                            d.handleSubmit,
		"POST /v1/quotes":                          d.handleQuote,
		"GET /v1/jobs/{id}":                        d.handleGetJob,
		"POST /v1/jobs/{id}/cancel":                d.handleCancel,
		"GET /v1/jobs/{id}/logs":                   d.handleLogs,
		"GET /v1/services":                         d.handleListServices,
		"POST /v1/services":                        d.handleSubmitService,
		"GET /v1/services/{id}":                    d.handleGetService,
		"POST /v1/services/{id}/scale":             d.handleScale,
		"POST /v1/services/{id}/rebalance":         d.handleRebalance,
		"POST /v1/services/{id}/rebalance/preview": d.handlePreview,
		"DELETE /v1/services/{id}":                 d.handleDeleteService,
		"GET /v1/sites":                            d.handleListSites,
		"POST /v1/sites/{site}/drain":              d.handleDrain,
		"POST /v1/sites/{site}/gone":               d.handleDecommission,
		"POST /v1/sites/{site}/revoked":            d.handleRevoked,
		"GET /v1/events":                           d.handleListEvents,
		"GET /v1/auctions":                         d.handleListRounds,
		"GET /v1/policy":                           d.handleGetPolicy,
		"POST /v1/policy":                          d.handleChangePolicy,
		"GET /v1/policy/waiting":                   d.handleListPending,
		"POST /v1/policy/waiting/{id}":             d.handleSecondApproval,
		"GET /v1/quotas":                           d.handleListQuotas,
		"POST /v1/quotas/{name}":                   d.handleChangeQuota,
		"GET /v1/whoami":                           handleWhoami,
		"GET /v1/openapi.json":                     handleOpenAPI,
		"GET /v1/login":                            d.handleLogin,
		"GET /healthz":                             func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") },
		"GET /readyz":                              d.handleReady,
	}
}

// handleLogin answers how a client signs in at the OIDC provider.
func (d *Server) handleLogin(w http.ResponseWriter, _ *http.Request) {
	login, ok := d.guard.Login()
	if !ok {
		writeError(w, http.StatusNotFound, errors.New("api: this coordinator takes no tokens of an OIDC provider: ask its admin for a credential"))
		return
	}
	writeJSON(w, http.StatusOK, login)
}

// handleWhoami answers whom a credential stands for.
func handleWhoami(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, rights.Of(r.Context()))
}

// writeJSON writes v as JSON. No cache may store it, since a job's status changes.
func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
}

// writeError answers with an error as JSON.
func writeError(w http.ResponseWriter, code int, err error) { rights.WriteError(w, code, err) }

// rejectIfStandby answers for a coordinator that does not lead, and reports whether it did.
func (d *Server) rejectIfStandby(w http.ResponseWriter) bool {
	err := d.notLeadingReason()
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
	}
	return err != nil
}

// handleReady answers 200 for a leader and for a standby, which works as intended, and 503
// with the reason for a coordinator that cannot do either.
func (d *Server) handleReady(w http.ResponseWriter, _ *http.Request) {
	state := "leading"
	switch err := d.notLeadingReason(); {
	case errors.Is(err, errStandby):
		state = "standing by"
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	writeJSON(w, http.StatusOK, readiness{state})
}

// handleListJobs lists jobs, filtered by state and tenant; limit bounds their number (default
// 1,000).
func (d *Server) handleListJobs(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	limit := 1000
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			writeError(w, http.StatusBadRequest, fmt.Errorf("api: limit %q: want a number from 1", text))
			return
		}
		limit = n
	}
	s, t := history.State(r.FormValue("state")), r.FormValue("tenant")
	if states := history.AllStates(); s != "" && !slices.Contains(states, s) {
		writeError(w, http.StatusBadRequest, fmt.Errorf("api: state %q%s: want one of %s", s, nearest.DidYouMean(string(s), stateNames(states)), strings.Join(stateNames(states), ", ")))
		return
	}
	out := []jobstatus.Job{} // an empty list, and not null, where no job matches
	sees := d.jobsSeenBy(r)
	d.readStatus(func(b *jobstatus.View) {
		for _, j := range b.AllJobs(d.clock.Now()) {
			if len(out) < limit && sees.has(j.Tenant) && (s == "" || s == j.State) && (t == "" || t == j.Tenant) {
				out = append(out, j)
			}
		}
		for i := range out {
			sees.hideOthers(&out[i], b, d.clock.Now())
		}
	})
	writeJSON(w, http.StatusOK, out)
}

// stateNames returns states as text.
func stateNames(states []history.State) (out []string) {
	for _, s := range states {
		out = append(out, string(s))
	}
	return out
}

// findJob returns the status of a job; ok is false if the id is unknown.
func (d *Server) findJob(id string) (j jobstatus.Job, ok bool) {
	d.readStatus(func(b *jobstatus.View) { j, ok = b.JobByID(protocol.JobID(id), d.clock.Now()) })
	return j, ok
}

// writeUnknownJob answers that there is no such job, and which may be meant. A job that the
// request's principal may not see is answered in the same way.
func (d *Server) writeUnknownJob(w http.ResponseWriter, r *http.Request) {
	var known []string
	sees := d.jobsSeenBy(r)
	d.readStatus(func(b *jobstatus.View) {
		for _, j := range b.AllJobs(d.clock.Now()) {
			if sees.has(j.Tenant) {
				known = append(known, string(j.ID))
			}
		}
	})
	id := r.PathValue("id")
	writeError(w, http.StatusNotFound, fmt.Errorf("api: unknown job %q%s", id, nearest.DidYouMean(id, known)))
}

// nearestSites returns the end of an error about an unknown site: the names that may be
// meant.
func (d *Server) nearestSites(name string) string {
	var known []string
	for _, s := range d.listSites() {
		known = append(known, s.Name)
	}
	return nearest.WhatThereIs(name, known)
}

// handleGetJob answers with the status of one job.
func (d *Server) handleGetJob(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	var j jobstatus.Job
	var ok bool
	sees := d.jobsSeenBy(r)
	d.readStatus(func(b *jobstatus.View) {
		j, ok = b.DescribeJob(protocol.JobID(r.PathValue("id")), d.clock.Now())
		sees.hideOthers(&j, b, d.clock.Now())
	})
	if !ok || !sees.has(j.Tenant) {
		d.writeUnknownJob(w, r)
		return
	}
	writeJSON(w, http.StatusOK, j)
}

// jobIDPattern matches valid ids of jobs; it agrees with the schema of the job file.
var jobIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// readFileRequest reads the file, of a job or a service, in a request's body. code is the status of an
// error.
func readFileRequest(w http.ResponseWriter, r *http.Request, what string) (text []byte, code int, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/yaml" && kind != "application/json" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("api: send a %s as application/yaml or application/json", what)
	}
	if text, err = io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)); err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("api: %w", err)
	}
	return text, http.StatusOK, nil
}

// readJobRequest reads the job file in a request's body, with the id of its address where it has
// one, and the tenant of its credential. code is the status of an error.
func (d *Server) readJobRequest(w http.ResponseWriter, r *http.Request) (o jobfile.Request, code int, err error) {
	text, code, err := readFileRequest(w, r, "job")
	if err != nil {
		return o, code, err
	}
	o, err = jobfile.Parse("job", text)
	if id := r.FormValue("id"); id != "" {
		o = o.WithID(protocol.JobID(id))
		if err == nil && !jobIDPattern.MatchString(id) {
			err = fmt.Errorf("api: id %q: want up to 128 letters, digits and ._-", id)
		}
	}
	if err != nil {
		return o, http.StatusBadRequest, err
	}
	tenant, err := d.tenantOf(r, "job", o.Tenant())
	if err != nil {
		return o, http.StatusForbidden, err
	}
	return o.WithTenant(tenant), http.StatusOK, nil
}

// handleSubmit accepts a job file. It is idempotent: a second submission of the same job
// answers with the status of the first. Only the market knows how long the id of a
// job that has ended stays known, so such a submission is passed on to it.
func (d *Server) handleSubmit(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	o, code, err := d.readJobRequest(w, r)
	if err == nil && o.ID() == "" {
		err = errors.New("api: job: id is missing: give the job a unique name")
	}
	if err != nil {
		writeError(w, code, err)
		return
	}
	// A job that has not ended is answered from the status, without asking the market.
	was, known := d.findJob(string(o.ID()))
	if known && !was.IsOver() {
		d.answerKnownJob(w, r, o, was)
		return
	}
	if err := d.checkJobNames(o); err != nil {
		writeError(w, http.StatusUnprocessableEntity, err)
		return
	}
	if err := d.submitMessage(r.Context(), func(now protocol.Time) protocol.Body { return o.SubmitAt(now) }); err != nil {
		writeError(w, http.StatusServiceUnavailable, fmt.Errorf("api: the job may not have been stored; submit it once more under the same id: %w", err))
		return
	}
	// The market has processed the submission: the status tells what became of it.
	j, ok := d.findJob(string(o.ID()))
	switch {
	case !ok: // the market remembers the id for longer than the job status does
		writeConflict(w, o.ID())
	case j.Why == string(protocol.Malformed) && j.IsSubmittedBy(o.SubmitAt(j.Arrived)): // refused now, or at an earlier submission
		writeError(w, http.StatusUnprocessableEntity, fmt.Errorf("api: job %s: refused: %s %s", j.ID, j.Why, j.Note))
	default:
		d.answerKnownJob(w, r, o, j)
	}
}

// answerKnownJob answers a repeated submission with the job's status, or with 409 if the job
// of that id is a different one.
func (d *Server) answerKnownJob(w http.ResponseWriter, r *http.Request, o jobfile.Request, j jobstatus.Job) {
	if !j.IsSubmittedBy(o.SubmitAt(j.Arrived)) {
		writeConflict(w, j.ID)
		return
	}
	d.answerJob(w, r, j)
}

// answerJob answers with a job that the request's principal may see.
func (d *Server) answerJob(w http.ResponseWriter, r *http.Request, j jobstatus.Job) {
	sees := d.jobsSeenBy(r)
	d.readStatus(func(b *jobstatus.View) { sees.hideOthers(&j, b, d.clock.Now()) })
	writeJSON(w, http.StatusOK, j)
}

// writeConflict answers that the id of a submission belongs to another job.
func writeConflict(w http.ResponseWriter, id protocol.JobID) {
	writeError(w, http.StatusConflict, fmt.Errorf("api: another job %s was submitted before; give this one an id of its own", id))
}

// handleCancel asks the market to cancel a job, and answers with its new status. For a job
// that has ended it changes nothing.
func (d *Server) handleCancel(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	switch j, err := d.cancelJob(r.Context(), r.PathValue("id")); {
	case errors.Is(err, errUnknownJob):
		d.writeUnknownJob(w, r)
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, err)
	default:
		d.answerJob(w, r, j)
	}
}

// errUnknownJob says that there is no such job, or none that a principal may cancel.
var errUnknownJob = errors.New("api: unknown job")

// cancelJob has the market cancel a job, if the principal of ctx may, and returns its new status.
func (d *Server) cancelJob(ctx context.Context, id string) (jobstatus.Job, error) {
	j, ok := d.findJob(id)
	if !ok || !d.jobsCancelledBy(rights.Of(ctx)).has(j.Tenant) {
		return j, errUnknownJob
	}
	if j.IsOver() {
		return j, nil
	}
	if err := d.submitMessage(ctx, func(protocol.Time) protocol.Body { return protocol.Cancel{Job: j.ID} }); err != nil {
		return j, fmt.Errorf("api: the cancellation may not have been stored; repeat it: %w", err)
	}
	j, _ = d.findJob(id)
	return j, nil
}

// handleListRounds lists the latest clearing rounds.
func (d *Server) handleListRounds(w http.ResponseWriter, _ *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	out := []jobstatus.Round{}
	d.readStatus(func(b *jobstatus.View) { out = append(out, b.RecentRounds()...) })
	writeJSON(w, http.StatusOK, out)
}
