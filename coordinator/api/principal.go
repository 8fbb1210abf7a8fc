package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

// GuardBy sets who is let through; without it this machine alone is, and may do everything. Call
// it before serving.
func (d *Server) GuardBy(g *rights.Guard) { d.guard = g }

// A tenantFilter says which tenants' jobs a principal may see or act on; nil is those of all.
type tenantFilter map[string]bool

func (f tenantFilter) has(tenant string) bool { return f == nil || f[tenant] }

// jobsSeenBy returns whose jobs the principal of a request may read.
func (d *Server) jobsSeenBy(r *http.Request) tenantFilter {
	p := rights.Of(r.Context())
	if p.SeesAllJobs() {
		return nil
	}
	return d.ownTenants(p)
}

// jobsCancelledBy returns whose jobs a principal may cancel.
func (d *Server) jobsCancelledBy(p rights.Principal) tenantFilter {
	if !p.IsAuthenticated() || p.Is(rights.FederationAdmin) {
		return nil
	}
	return d.ownTenants(p)
}

// ownTenants returns the tenants for whom a principal submits: its own and, for a tenant-admin,
// all that are below it in the quota tree in force.
func (d *Server) ownTenants(p rights.Principal) tenantFilter {
	own := tenantFilter{}
	if p.Tenant != "" {
		own[p.Tenant] = true
	}
	if p.Is(rights.TenantAdmin) {
		for _, name := range tenantsBelow(d.currentPolicy().Quotas, p.Tenant) {
			own[name] = true
		}
	}
	return own
}

// tenantsBelow returns the names of all quotas below that of group.
func tenantsBelow(list []protocol.Quota, group string) (below []string) {
	for grown := true; grown; {
		grown = false
		for _, q := range list {
			isBelow := q.Parent == group || slices.Contains(below, q.Parent)
			if q.Parent != "" && isBelow && q.Name != group && !slices.Contains(below, q.Name) {
				below, grown = append(below, q.Name), true
			}
		}
	}
	return below
}

// hideOthers removes from a job's status the ids of jobs and the names of tenants that may not be
// seen.
func (f tenantFilter) hideOthers(j *jobstatus.Job, b *jobstatus.View, now protocol.Time) {
	if f == nil {
		return
	}
	ownJob := func(id protocol.JobID) bool {
		other, ok := b.JobByID(id, now)
		return ok && f.has(other.Tenant)
	}
	redact := func(code protocol.Code, note string) string {
		return tenantview.Redact(protocol.Reason{Code: code, Note: note}, f.has, ownJob).Note
	}
	j.Note = redact(protocol.Code(j.Why), j.Note)
	j.Events = slices.Clone(j.Events) // the view keeps its own
	for i := range j.Events {
		j.Events[i].Note = redact(j.Events[i].Why, j.Events[i].Note)
	}
	if j.Queue == nil {
		return
	}
	place := *j.Queue
	place.Before = slices.DeleteFunc(slices.Clone(place.Before), func(id protocol.JobID) bool { return !ownJob(id) })
	j.Queue = &place
}

// OwnRecord returns the messages of a record that the principal of a request may read, by the context
// of the request.
func (d *Server) OwnRecord(ctx context.Context, all []protocol.Message) []protocol.Message {
	p := rights.Of(ctx)
	if p.SeesAllJobs() {
		return all
	}
	return tenantview.Of(all, d.ownTenants(p).has)
}

// tenantOf returns the tenant of what a request submits, a job or a service, and logs a refusal.
func (d *Server) tenantOf(r *http.Request, what, named string) (string, error) {
	p := rights.Of(r.Context())
	tenant, err := d.tenantFor(p, what, named)
	if err != nil {
		d.guard.LogRefusal(r, p.Name, err)
	}
	return tenant, err
}

// tenantFor returns the tenant of what a principal submits, a job or a service: that of its credential,
// whatever the file names. A file that names another is refused: who copied it would otherwise pay for
// what another was to pay.
func (d *Server) tenantFor(p rights.Principal, what, named string) (string, error) {
	if !p.IsAuthenticated() {
		return named, nil
	}
	if named == "" {
		return p.Tenant, nil
	}
	if !d.ownTenants(p).has(named) {
		err := fmt.Errorf("api: %s: tenant: the file names %q, and the credential is of tenant %q: leave tenant out, or use a credential of that tenant", what, named, p.Tenant)
		return named, err
	}
	return named, nil
}

// errNotYourSite is the answer to an operator who acts on the site of another.
var errNotYourSite = errors.New("api: the credential is of the operator of another site")

// actsOnSite reports whether the principal of a request may act on a site; otherwise it has
// answered.
func (d *Server) actsOnSite(w http.ResponseWriter, r *http.Request, site string) bool {
	p := rights.Of(r.Context())
	if !p.IsAuthenticated() || p.Is(rights.FederationAdmin) || p.Is(rights.SiteOperator) && p.Site == site {
		return true
	}
	d.guard.LogRefusal(r, p.Name, errNotYourSite)
	writeError(w, http.StatusForbidden, errNotYourSite)
	return false
}

// sitesSeenBy returns the sites whose state the principal of a request may see.
func (d *Server) sitesSeenBy(r *http.Request) (out []jobstatus.Site) {
	p := rights.Of(r.Context())
	for _, s := range d.listSites() {
		if p.SeesAllSites() || p.Is(rights.SiteOperator) && s.Name == p.Site {
			out = append(out, s)
		}
	}
	return out
}
