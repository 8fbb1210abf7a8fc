package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// A JobLog is what a pod of a job wrote, as the API shows it. The text is that of the job's program.
type JobLog struct {
	Job   protocol.JobID `json:"job"`
	Site  string         `json:"site"`
	Pods  []string       `json:"pods"` // of the run, by name
	Pod   string         `json:"pod"`  // whose lines these are
	Lines []LogLine      `json:"lines"`
	More  bool           `json:"more,omitempty"` // lines follow: ask for those after the last one
	Over  bool           `json:"over,omitempty"` // the job had ended when this was asked
}

// A LogLine is a line of a log.
type LogLine struct {
	At   string `json:"at"` // RFC 3339 with nanoseconds
	Text string `json:"text"`
}

// Logs travel on the connection by which sites bid, of which each may send four megabytes a second.
// These limits leave most of it to the bids of a site, and some of it to every tenant.
const (
	logsPerSite   = rate.Limit(4) // a second
	logsPerTenant = rate.Limit(2)
	logBurst      = 8
	maxLogLimits  = 4096 // sites and tenants that have limits of their own
	logWait       = 8 * time.Second
	maxTail       = 10_000
)

// An openLog is a request for a log that a site is answering.
type openLog struct {
	agent  protocol.Party
	answer chan protocol.JobLog
}

// SendToSitesBy sets what sends messages to sites outside the market's sequence, for the term that begins.
func (d *Server) SendToSitesBy(send func(context.Context, ...protocol.Message) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sendToSites = send
}

// errNoLog says why a job's log cannot be shown.
type errNoLog struct{ why string }

func (e errNoLog) Error() string { return "api: " + e.why }

var errManyLogs = errors.New("api: more logs are asked for than are sent: ask again in a second")

// handleLogs answers what a pod of a job wrote.
func (d *Server) handleLogs(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	q, err := readLogQuery(r)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	j, ok := d.findJob(r.PathValue("id"))
	if !ok || !d.logsReadBy(rights.Of(r.Context())).has(j.Tenant) {
		d.writeUnknownJob(w, r)
		return
	}
	log, err := d.readLog(r.Context(), j, q)
	switch {
	case errors.As(err, new(errNoLog)):
		writeError(w, http.StatusConflict, err)
	case errors.Is(err, errManyLogs):
		writeError(w, http.StatusTooManyRequests, err)
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, err)
	default:
		writeJSON(w, http.StatusOK, log)
	}
}

// readLogQuery reads the parameters of a request for a log.
func readLogQuery(r *http.Request) (q protocol.LogRequest, err error) {
	if q.Pod = r.FormValue("pod"); len(q.Pod) > 253 {
		return q, errors.New("api: pod: want the name of a pod, of 253 characters at most")
	}
	if text := r.FormValue("after"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || at.Year() < 1970 || at.Year() > 2200 {
			return q, fmt.Errorf("api: after %q: want an instant as 2026-12-01T00:00:00.000000001Z", text)
		}
		q.After = at.UnixNano()
	}
	if text := r.FormValue("tail"); text != "" {
		if q.Tail, err = strconv.Atoi(text); err != nil || q.Tail < 1 || q.Tail > maxTail {
			return q, fmt.Errorf("api: tail %q: want a number from 1 to %d", text, maxTail)
		}
	}
	return q, nil
}

// logsReadBy returns whose logs a principal may read: those of the tenants for whom it submits. Who may
// read all jobs may not read what they write.
func (d *Server) logsReadBy(p rights.Principal) tenantFilter {
	if !p.IsAuthenticated() {
		return nil
	}
	return d.ownTenants(p)
}

// readLog has the site of a job's run say what a pod of it wrote.
func (d *Server) readLog(ctx context.Context, j jobstatus.Job, q protocol.LogRequest) (out JobLog, err error) {
	switch {
	case len(j.Parts) > 0:
		return out, errNoLog{fmt.Sprintf("job %s has parts, and each a log of its own: ask for that of %s", j.ID, j.Parts[0].ID)}
	case j.Epoch == 0 || !j.Awarded:
		return out, errNoLog{fmt.Sprintf("job %s is at no site, so there is no log of it", j.ID)}
	}
	open := &openLog{agent: protocol.AgentParty(j.Site), answer: make(chan protocol.JobLog, 1)}
	q.Number, q.Job, q.Epoch = rand.Uint64N(1<<53-1)+1, j.ID, j.Epoch
	send, err := d.beginLog(open, q.Number, j)
	if err != nil {
		return out, err
	}
	defer func() {
		d.mu.Lock()
		delete(d.openLogs, q.Number)
		d.mu.Unlock()
	}()
	// Numbered as a heartbeat is: it stands outside the sequence of the market's messages.
	if err := send(ctx, protocol.Message{Version: protocol.Current, At: d.now(), From: protocol.Coordinator, Seq: 1, To: open.agent, Body: q}); err != nil {
		return out, fmt.Errorf("api: site %s could not be asked: %w", j.Site, err)
	}
	late := time.NewTimer(logWait)
	defer late.Stop()
	select {
	case a := <-open.answer:
		if a.Why != "" {
			return out, errNoLog{format.CleanText("site " + j.Site + " " + a.Why)}
		}
		return shownLog(j, a), nil
	case <-late.C:
		return out, fmt.Errorf("api: site %s has not answered in time, or its agent is of an older release: ask again", j.Site)
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
}

// beginLog keeps a request open for its answer, if site and tenant are within their limits.
func (d *Server) beginLog(open *openLog, number uint64, j jobstatus.Job) (send func(context.Context, ...protocol.Message) error, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logLimits == nil || len(d.logLimits) > maxLogLimits {
		d.logLimits = make(map[string]*rate.Limiter)
	}
	for key, limit := range map[string]rate.Limit{"tenant " + j.Tenant: logsPerTenant, "site " + j.Site: logsPerSite} {
		if d.logLimits[key] == nil {
			d.logLimits[key] = rate.NewLimiter(limit, logBurst)
		}
	}
	if !d.logLimits["tenant "+j.Tenant].Allow() || !d.logLimits["site "+j.Site].Allow() {
		return nil, errManyLogs
	}
	if d.sendToSites == nil {
		return nil, errStandby
	}
	d.openLogs[number] = open
	return d.sendToSites, nil
}

// collectLog passes the answer of a site to who asked. Invariant: the caller holds d.mu.
func (d *Server) collectLog(from protocol.Party, b protocol.JobLog) {
	open := d.openLogs[b.Number]
	if open == nil || open.agent != from {
		return
	}
	delete(d.openLogs, b.Number)
	open.answer <- b
}

// shownLog returns the log of a site's answer.
func shownLog(j jobstatus.Job, a protocol.JobLog) JobLog {
	out := JobLog{Job: j.ID, Site: j.Site, Pods: a.Pods, Pod: a.Pod, Lines: make([]LogLine, 0, len(a.Lines)), More: a.More, Over: j.HasEnded()}
	if out.Pods == nil {
		out.Pods = []string{}
	}
	for _, l := range a.Lines {
		out.Lines = append(out.Lines, LogLine{time.Unix(0, l.At).UTC().Format(time.RFC3339Nano), l.Text})
	}
	return out
}

// LogOfJob returns the last lines of a job's first pod, for a page.
func (d *Server) LogOfJob(ctx context.Context, id protocol.JobID) (lines []string, err error) {
	j, ok := d.findJob(string(id))
	if !ok || !d.logsReadBy(rights.Of(ctx)).has(j.Tenant) {
		return nil, errUnknownJob
	}
	log, err := d.readLog(ctx, j, protocol.LogRequest{Tail: 200})
	for _, l := range log.Lines {
		lines = append(lines, l.Text)
	}
	if more := len(log.Pods) - 1; more > 0 && err == nil {
		lines = append(lines, fmt.Sprintf("(%d more pods: gridbid logs %s)", more, j.ID))
	}
	return lines, err
}
