package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

// handleListSites lists the registered sites with their status.
func (d *Server) handleListSites(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	writeJSON(w, http.StatusOK, append([]jobstatus.Site{}, d.sitesSeenBy(r)...))
}

// handleListEvents lists what operators did and what changed at sites, oldest first: since an
// instant or for a duration (?since), at one site (?site).
func (d *Server) handleListEvents(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	since, err := parseSince(d.now(), r.FormValue("since"))
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("api: since: %w", err))
		return
	}
	site := r.FormValue("site")
	if p := rights.Of(r.Context()); !p.SeesAllSites() {
		if site != "" && !d.actsOnSite(w, r, site) {
			return
		}
		site = p.Site
	}
	if _, ok := d.findSite(site); site != "" && !ok {
		d.writeUnknownSite(w, site)
		return
	}
	out := []jobstatus.SiteEvent{}
	d.readStatus(func(b *jobstatus.View) { out = append(out, b.Events(since, site)...) })
	writeJSON(w, http.StatusOK, out)
}

// parseSince returns an instant that is given as a duration before now or as a time; 0 for "".
func parseSince(now protocol.Time, text string) (protocol.Time, error) {
	if text == "" {
		return 0, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("%q: want a duration such as 2h, or a time such as 2026-03-11T14:00:00Z", text)
	}
	return protocol.FromStdTime(at), nil
}

// parseUntil returns the instant at which a drain ends: after a duration, at a time, or at the next
// such time of a day in UTC; 0 for "".
func parseUntil(now protocol.Time, text string) (at protocol.Time, err error) {
	if text == "" {
		return 0, nil
	}
	if clock, fault := time.Parse("15:04", text); fault == nil {
		at = now.Floor(24 * time.Hour).Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute)
		if at <= now {
			at = at.Add(24 * time.Hour)
		}
		return at, nil
	}
	if wait, fault := time.ParseDuration(text); fault == nil {
		at = now.Add(wait)
	} else if t, fault := time.Parse(time.RFC3339, text); fault == nil {
		at = protocol.FromStdTime(t)
	} else {
		return 0, fmt.Errorf("%q: want a duration such as 2h, a time of day in UTC such as 18:00, or a time such as 2026-03-11T18:00:00Z", text)
	}
	if at <= now {
		return 0, fmt.Errorf("%q: is over: it is %v", text, now)
	}
	return at, nil
}

// requestOperator returns who asks and why, of a request's credential or its by, and its why. An
// error was answered.
func requestOperator(w http.ResponseWriter, r *http.Request, required bool) (by, why string, ok bool) {
	by, why = r.FormValue("by"), r.FormValue("why")
	if p := rights.Of(r.Context()); p.IsAuthenticated() {
		by = p.Name
	}
	if by == "" && required || len(by) > 128 || len(why) > 1000 {
		writeError(w, http.StatusBadRequest, errors.New("api: by: want the name of the operator, up to 128 bytes; why: up to 1,000 bytes"))
		return by, why, false
	}
	return by, why, true
}

// handleDrain excludes a site from rounds, or includes it with ?over=true; ?until ends it by itself.
func (d *Server) handleDrain(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	by, why, ok := requestOperator(w, r, false)
	if !ok {
		return
	}
	until, err := parseUntil(d.now(), r.FormValue("until"))
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("api: until: %w", err))
		return
	}
	b := protocol.Drain{Site: r.PathValue("site"), Over: r.FormValue("over") == "true", By: by, Why: why, Until: until}
	if b.Over && until != 0 {
		writeError(w, http.StatusBadRequest, errors.New("api: a drain that is over has no until: give one of both"))
		return
	}
	d.applyToSite(w, r, "drained", b, "takes part in no round until it registers; drain it then")
}

// handleDecommission decommissions a site: an operator declares that it will not come back, and
// its jobs are requeued or, with ?end=true, ended.
func (d *Server) handleDecommission(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	by, why, ok := requestOperator(w, r, true)
	if !ok {
		return
	}
	g := protocol.DecommissionSite{Site: r.PathValue("site"), By: by, Why: why, End: r.FormValue("end") == "true"}
	late := "" // to repeat it is harmless
	if g.End {
		late = "has no jobs any more; cancel jobs one by one instead"
	}
	d.applyToSite(w, r, "decommissioned", g, late)
}

// handleRevoked records that the keys of a site were revoked: the servers have cut it off, and it
// is not the coordinator that does so.
func (d *Server) handleRevoked(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	by, why, ok := requestOperator(w, r, true)
	if !ok {
		return
	}
	b := protocol.SiteCondition{Site: r.PathValue("site"), State: protocol.SiteRevoked, Since: d.now(), By: by, Why: protocol.Reason{Code: protocol.KeysRevoked, Note: why}}
	d.applyToSite(w, r, "marked as revoked", b, "has no part in the federation any more")
}

// findSite returns the status of a site; false if it is unknown.
func (d *Server) findSite(name string) (jobstatus.Site, bool) {
	for _, s := range d.listSites() {
		if s.Name == name {
			return s, true
		}
	}
	return jobstatus.Site{}, false
}

// writeUnknownSite answers that there is no such site, and which may be meant.
func (d *Server) writeUnknownSite(w http.ResponseWriter, name string) {
	writeError(w, http.StatusNotFound, fmt.Errorf("api: unknown site %q%s", name, d.nearestSites(name)))
}

// A siteReply is the status of a site after an operator's act, and how many jobs it had before.
type siteReply struct {
	jobstatus.Site
	Had int `json:"had"`
}

// applyToSite sends a message about the site of a request to the market, and answers with
// the site's new status. If the site was decommissioned before, the market ignores
// the message: late is then the rest of the error, or "" if that is no error.
func (d *Server) applyToSite(w http.ResponseWriter, r *http.Request, what string, b protocol.Body, late string) {
	name := r.PathValue("site")
	if !d.actsOnSite(w, r, name) {
		return
	}
	was, ok := d.findSite(name)
	switch {
	case !ok:
		d.writeUnknownSite(w, name)
		return
	case was.Decommissioned && late != "":
		writeError(w, http.StatusConflict, fmt.Errorf("api: site %s was decommissioned: it %s", name, late))
		return
	}
	if err := d.submitMessage(r.Context(), func(protocol.Time) protocol.Body { return b }); err != nil {
		writeError(w, http.StatusServiceUnavailable, fmt.Errorf("api: the site may not have been %s; repeat the request: %w", what, err))
		return
	}
	s, _ := d.findSite(name)
	writeJSON(w, http.StatusOK, siteReply{s, was.Placed})
}
