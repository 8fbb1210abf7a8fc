package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/loopback"
	"github.com/gridbid/gridbid/protocol"
)

// patience bounds the time of a request.
const patience = 10 * time.Second

// Handler serves everything under /v1/, and /healthz and /readyz. It refuses
// requests from other machines, and those to a host name that is not this
// machine's, which a web page could send through a browser (DNS rebinding).
func (d *Desk) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/jobs", d.jobs)
	mux.HandleFunc("POST /v1/jobs", d.submit)
	mux.HandleFunc("GET /v1/jobs/{id}", d.job)
	mux.HandleFunc("POST /v1/jobs/{id}/cancel", d.cancel)
	mux.HandleFunc("GET /v1/sites", d.sites)
	mux.HandleFunc("POST /v1/sites/{site}/drain", d.drain)
	mux.HandleFunc("POST /v1/sites/{site}/gone", d.gone)
	mux.HandleFunc("GET /v1/auctions", d.auctions)
	mux.HandleFunc("GET /v1/policy", d.inForce)
	mux.HandleFunc("POST /v1/policy", d.govern)
	mux.HandleFunc("GET /v1/policy/waiting", d.waits)
	mux.HandleFunc("POST /v1/policy/waiting/{id}", d.second)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.ready)
	return here(http.NewCrossOriginProtection().Handler(http.TimeoutHandler(mux, patience, `{"error":"api: no answer in time; try once more"}`)))
}

// here refuses requests from other machines, with an error in JSON.
func here(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback.Asks(r) {
			fail(w, http.StatusForbidden, errors.New("api: only requests from this machine, under its own name, are served"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
}

func fail(w http.ResponseWriter, code int, err error) {
	answer(w, code, struct {
		Error string `json:"error"`
	}{err.Error()})
}

// away answers for a coordinator that does not lead, and reports whether it did.
func (d *Desk) away(w http.ResponseWriter) bool {
	err := d.absent()
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
	}
	return err != nil
}

func (d *Desk) ready(w http.ResponseWriter, _ *http.Request) {
	state := "leading"
	switch err := d.absent(); {
	case errors.Is(err, errAway):
		state = "standing by"
	case err != nil:
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	answer(w, http.StatusOK, struct {
		State string `json:"state"`
	}{state})
}

func (d *Desk) jobs(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	limit := 1000
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fail(w, http.StatusBadRequest, fmt.Errorf("api: limit %q: want a number from 1", text))
			return
		}
		limit = n
	}
	s, t := jobstatus.State(r.FormValue("state")), r.FormValue("tenant")
	if states := jobstatus.States(); s != "" && !slices.Contains(states, s) {
		fail(w, http.StatusBadRequest, fmt.Errorf("api: state %q: want one of %q", s, states))
		return
	}
	out := []jobstatus.Job{}
	d.look(func(b *jobstatus.Board) {
		for _, j := range b.Jobs() {
			if len(out) < limit && (s == "" || s == j.State) && (t == "" || t == j.Tenant) {
				out = append(out, j)
			}
		}
	})
	answer(w, http.StatusOK, out)
}

func (d *Desk) find(id string) (j jobstatus.Job, ok bool) {
	d.look(func(b *jobstatus.Board) { j, ok = b.Job(protocol.JobID(id)) })
	return j, ok
}

func (d *Desk) job(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	j, ok := d.find(r.PathValue("id"))
	if !ok {
		fail(w, http.StatusNotFound, fmt.Errorf("api: unknown job %q", r.PathValue("id")))
		return
	}
	answer(w, http.StatusOK, j)
}

// named matches valid ids of jobs; it agrees with the schema of the job file.
var named = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// submit accepts a job file. It is idempotent: a second submission of the same job
// answers with the status of the first. Only the market knows how long the id of a
// job that has ended stays known, so such a submission is passed on to it.
func (d *Desk) submit(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/yaml" && kind != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, errors.New("api: send a job as application/yaml or application/json"))
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("api: %w", err))
		return
	}
	o, err := ParseOrder("job", text)
	if id := r.FormValue("id"); id != "" {
		o = o.Named(protocol.JobID(id))
		if err == nil && !named.MatchString(id) {
			err = fmt.Errorf("api: id %q: want up to 128 letters, digits and ._-", id)
		}
	}
	if err == nil && o.ID() == "" {
		err = errors.New("api: job: id is missing: give the job a unique name")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	was, known := d.find(string(o.ID()))
	if known && !was.Over() {
		d.known(w, o, was)
		return
	}
	if err := d.say(r.Context(), func(now protocol.Time) protocol.Body { return o.at(now) }); err != nil {
		fail(w, http.StatusServiceUnavailable, fmt.Errorf("api: the job may not have been stored; submit it once more under the same id: %w", err))
		return
	}
	j, ok := d.find(string(o.ID()))
	switch {
	case !ok: // the market remembers the id for longer than the job status does
		conflict(w, o.ID())
	case j.Why == string(protocol.Malformed) && j.Is(o.at(j.Arrived)): // refused now, or at an earlier submission
		fail(w, http.StatusUnprocessableEntity, fmt.Errorf("api: job %s: refused: %s %s", j.ID, j.Why, j.Note))
	default:
		d.known(w, o, j)
	}
}

func (d *Desk) known(w http.ResponseWriter, o Order, j jobstatus.Job) {
	if !j.Is(o.at(j.Arrived)) {
		conflict(w, j.ID)
		return
	}
	answer(w, http.StatusOK, j)
}

func conflict(w http.ResponseWriter, id protocol.JobID) {
	fail(w, http.StatusConflict, fmt.Errorf("api: another job %s was submitted before; give this one an id of its own", id))
}

func (d *Desk) cancel(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	id := r.PathValue("id")
	j, ok := d.find(id)
	switch {
	case !ok:
		fail(w, http.StatusNotFound, fmt.Errorf("api: unknown job %q", id))
		return
	case !j.Over():
		if err := d.say(r.Context(), func(protocol.Time) protocol.Body { return protocol.Cancel{Job: j.ID} }); err != nil {
			fail(w, http.StatusServiceUnavailable, fmt.Errorf("api: the cancellation may not have been stored; repeat it: %w", err))
			return
		}
		j, _ = d.find(id)
	}
	answer(w, http.StatusOK, j)
}

func (d *Desk) sites(w http.ResponseWriter, _ *http.Request) {
	if d.away(w) {
		return
	}
	var out []jobstatus.Site
	d.look(func(b *jobstatus.Board) { out = b.Sites() })
	answer(w, http.StatusOK, out)
}

// drain excludes a site from rounds, or includes it with ?over=true.
func (d *Desk) drain(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	b := protocol.Drain{Site: r.PathValue("site"), Over: r.FormValue("over") == "true"}
	d.tell(w, r, "drained", b, "takes part in no round until it registers; drain it then")
}

// gone decommissions a site: an operator declares that it will not come back, and
// its jobs are requeued or, with ?end=true, ended.
func (d *Desk) gone(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	g := protocol.Gone{Site: r.PathValue("site"), By: r.FormValue("by"), Why: r.FormValue("why"), End: r.FormValue("end") == "true"}
	if g.By == "" || len(g.By) > 128 || len(g.Why) > 1000 {
		fail(w, http.StatusBadRequest, errors.New("api: by: want the name of the operator, up to 128 bytes; why: up to 1,000 bytes"))
		return
	}
	late := "" // to repeat it is harmless
	if g.End {
		late = "has no jobs any more; cancel jobs one by one instead"
	}
	d.tell(w, r, "decommissioned", g, late)
}

// tell sends a message about the site of a request to the market, and answers with
// the site's new status. If the site was decommissioned before, the market ignores
// the message: late is then the rest of the error, or "" if that is no error.
func (d *Desk) tell(w http.ResponseWriter, r *http.Request, what string, b protocol.Body, late string) {
	name := r.PathValue("site")
	find := func() (out jobstatus.Site, ok bool) {
		d.look(func(b *jobstatus.Board) {
			for _, s := range b.Sites() {
				if s.Name == name {
					out, ok = s, true
				}
			}
		})
		return out, ok
	}
	switch s, ok := find(); {
	case !ok:
		fail(w, http.StatusNotFound, fmt.Errorf("api: unknown site %q", name))
		return
	case s.Gone && late != "":
		fail(w, http.StatusConflict, fmt.Errorf("api: site %s was decommissioned: it %s", name, late))
		return
	}
	if err := d.say(r.Context(), func(protocol.Time) protocol.Body { return b }); err != nil {
		fail(w, http.StatusServiceUnavailable, fmt.Errorf("api: the site may not have been %s; repeat the request: %w", what, err))
		return
	}
	s, _ := find()
	answer(w, http.StatusOK, s)
}

func (d *Desk) auctions(w http.ResponseWriter, _ *http.Request) {
	if d.away(w) {
		return
	}
	out := []jobstatus.Round{}
	d.look(func(b *jobstatus.Board) { out = append(out, b.Rounds()...) })
	answer(w, http.StatusOK, out)
}
