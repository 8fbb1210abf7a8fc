package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
)

// servicesSeenBy returns the services that the principal of a request may read, by id. A deleted one
// is there as long as replicas of it run.
func (d *Server) servicesSeenBy(r *http.Request) (out []jobstatus.Service) {
	sees := d.jobsSeenBy(r)
	d.readStatus(func(b *jobstatus.View) { out = b.AllServices(d.clock.Now()) })
	return slices.DeleteFunc(out, func(s jobstatus.Service) bool {
		return !sees.has(s.Tenant) || s.Deleted && s.Running == 0
	})
}

// findService returns a service; ok is false if the id is unknown, or it was deleted.
func (d *Server) findService(id string) (s jobstatus.Service, ok bool) {
	d.readStatus(func(b *jobstatus.View) { s, ok = b.ServiceByID(protocol.ServiceID(id), d.clock.Now()) })
	return s, ok && !s.Deleted
}

// handleListServices lists services.
func (d *Server) handleListServices(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	writeJSON(w, http.StatusOK, d.servicesSeenBy(r))
}

// handleGetService answers with the status of one service.
func (d *Server) handleGetService(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	if s, ok := d.serviceOf(w, r, d.jobsSeenBy(r)); ok {
		writeJSON(w, http.StatusOK, s)
	}
}

// serviceOf returns the service of a request's address. If there is none, or it is not one of theirs,
// it has answered.
func (d *Server) serviceOf(w http.ResponseWriter, r *http.Request, theirs tenantFilter) (s jobstatus.Service, ok bool) {
	id := r.PathValue("id")
	if s, ok = d.findService(id); ok && theirs.has(s.Tenant) {
		return s, true
	}
	var known []string
	for _, s := range d.servicesSeenBy(r) {
		known = append(known, string(s.Service))
	}
	writeError(w, http.StatusNotFound, fmt.Errorf("api: unknown service %q%s", id, nearest.DidYouMean(id, known)))
	return s, false
}

// handleSubmitService accepts a service file. The same id again replaces what was asked for, and
// leaves what runs where it is.
func (d *Server) handleSubmitService(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	text, code, err := readFileRequest(w, r, "service")
	if err != nil {
		writeError(w, code, err)
		return
	}
	s, err := servicefile.Parse("service", text)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	if s.Tenant, err = d.tenantOf(r, "service", s.Tenant); err != nil {
		writeError(w, http.StatusForbidden, err)
		return
	}
	if was, ok := d.findService(string(s.ID)); ok && was.Tenant != s.Tenant {
		writeError(w, http.StatusConflict, fmt.Errorf("api: the id %s is taken; give the service another", s.ID))
		return
	}
	if err := d.checkServiceNames(s); err != nil {
		writeError(w, http.StatusUnprocessableEntity, err)
		return
	}
	d.changeService(w, r, string(s.ID), protocol.SubmitService{Service: s})
}

// checkServiceNames returns an error if a service names a GPU model or a site that the federation has not.
func (d *Server) checkServiceNames(s protocol.Service) error {
	names := []namesOfKey{{"sites", s.Sites}}
	for i, t := range s.Division.Tiers {
		names = append(names, namesOfKey{fmt.Sprintf("tiers[%d]", i), t.Sites})
	}
	for _, x := range s.Division.Weights {
		names = append(names, namesOfKey{"weights", []string{x.Site}})
	}
	for _, x := range s.RTT {
		names = append(names, namesOfKey{"rtt", []string{x.Site}})
	}
	return d.checkNames("service", s.Models, names)
}

// handleScale sets how many replicas of a service are wanted.
func (d *Server) handleScale(w http.ResponseWriter, r *http.Request) {
	s, by, ok := d.serviceToChange(w, r)
	if !ok {
		return
	}
	spec := s.Spec()
	n, err := strconv.Atoi(r.FormValue("replicas"))
	switch {
	case err != nil || n < 0 || n > protocol.MaxReplicas:
		writeError(w, http.StatusBadRequest, fmt.Errorf("api: replicas %q: want a number from 0 to %d", r.FormValue("replicas"), protocol.MaxReplicas))
	case spec.Load > 0:
		writeError(w, http.StatusUnprocessableEntity, fmt.Errorf("api: service %s: its load of %g requests per second says how many replicas it has: change that, by its file", s.Service, float64(spec.Load)/1000))
	case n < spec.Min || spec.Max > 0 && n > spec.Max:
		writeError(w, http.StatusUnprocessableEntity, fmt.Errorf("api: service %s: %d replicas are outside of its min %d and max %d: change these first, by its file", s.Service, n, spec.Min, spec.Max))
	default:
		d.changeService(w, r, string(s.Service), protocol.ScaleService{Service: s.Service, Wanted: n, By: by})
	}
}

// handleRebalance divides all replicas of a service anew.
func (d *Server) handleRebalance(w http.ResponseWriter, r *http.Request) {
	if s, by, ok := d.serviceToChange(w, r); ok {
		d.changeService(w, r, string(s.Service), protocol.RebalanceService{Service: s.Service, By: by})
	}
}

// handlePreview answers what a rebalance of a service would do, when the sites have bid.
func (d *Server) handlePreview(w http.ResponseWriter, r *http.Request) {
	s, _, ok := d.serviceToChange(w, r)
	if !ok {
		return
	}
	asked := d.clock.Now() - 1
	if err := d.submitMessage(r.Context(), func(protocol.Time) protocol.Body { return protocol.RebalanceService{Service: s.Service, Preview: true} }); err != nil {
		writeError(w, http.StatusServiceUnavailable, fmt.Errorf("api: the preview was not asked for; repeat it: %w", err))
		return
	}
	for {
		var p jobstatus.ServicePreview
		var ok bool
		d.readStatus(func(b *jobstatus.View) { p, ok = b.PreviewOf(s.Service, asked) })
		if ok {
			writeJSON(w, http.StatusOK, p)
			return
		}
		select {
		case <-r.Context().Done():
			writeError(w, http.StatusServiceUnavailable, errors.New("api: the sites did not bid in time; repeat it"))
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// handleDeleteService removes a service from all sites.
func (d *Server) handleDeleteService(w http.ResponseWriter, r *http.Request) {
	if s, by, ok := d.serviceToChange(w, r); ok {
		d.changeService(w, r, string(s.Service), protocol.DeleteService{Service: s.Service, By: by})
	}
}

// serviceToChange returns the service that a request is to change, and who asks; otherwise it has
// answered. Whose jobs one may cancel, their services one may change.
func (d *Server) serviceToChange(w http.ResponseWriter, r *http.Request) (s jobstatus.Service, by string, ok bool) {
	if d.rejectIfStandby(w) {
		return s, "", false
	}
	if by, _, ok = requestOperator(w, r, false); !ok {
		return s, "", false
	}
	s, ok = d.serviceOf(w, r, d.jobsCancelledBy(rights.Of(r.Context())))
	return s, by, ok
}

// changeService asks the market for a change of a service, and answers with its status.
func (d *Server) changeService(w http.ResponseWriter, r *http.Request, id string, b protocol.Body) {
	if err := d.submitMessage(r.Context(), func(protocol.Time) protocol.Body { return b }); err != nil {
		writeError(w, http.StatusServiceUnavailable, fmt.Errorf("api: the change of the service may not have been stored; repeat it: %w", err))
		return
	}
	var s jobstatus.Service
	var ok bool
	d.readStatus(func(b *jobstatus.View) { s, ok = b.ServiceByID(protocol.ServiceID(id), d.clock.Now()) })
	if !ok {
		writeError(w, http.StatusServiceUnavailable, errors.New("api: the market took no further service: it has as many as it may"))
		return
	}
	writeJSON(w, http.StatusOK, s)
}
