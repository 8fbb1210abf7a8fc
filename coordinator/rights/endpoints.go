package rights

import "slices"

// An Endpoint is one of the HTTP API, as a pattern of http.ServeMux, and the roles that may use it.
type Endpoint struct {
	Pattern string
	Roles   []Role // none: everybody, without a credential
	// Own restricts a role to what is its own: the jobs and services of its tenant, or its site. What is not
	// its own is answered as if it were not there.
	Own []Role
}

var (
	submitters = []Role{Tenant, TenantAdmin}
	readers    = []Role{Auditor, FederationAdmin}
	admins     = []Role{FederationAdmin}
	operators  = []Role{SiteOperator, FederationAdmin}
)

// join returns roles of several lists.
func join(lists ...[]Role) []Role { return slices.Concat(lists...) }

// Endpoints returns the table of all endpoints.
func Endpoints() []Endpoint {
	return []Endpoint{
		{"GET /v1/jobs", join(submitters, readers), submitters},
		{"POST /v1/jobs", submitters, submitters},
		{"POST /v1/quotes", submitters, submitters},
		{"GET /v1/jobs/{id}", join(submitters, readers), submitters},
		{"POST /v1/jobs/{id}/cancel", join(submitters, admins), submitters},
		{"GET /v1/jobs/{id}/logs", submitters, submitters},
		{"GET /v1/services", join(submitters, readers), submitters},
		{"POST /v1/services", submitters, submitters},
		{"GET /v1/services/{id}", join(submitters, readers), submitters},
		{"POST /v1/services/{id}/scale", join(submitters, admins), submitters},
		{"POST /v1/services/{id}/rebalance", join(submitters, admins), submitters},
		{"POST /v1/services/{id}/rebalance/preview", join(submitters, admins), submitters},
		{"DELETE /v1/services/{id}", join(submitters, admins), submitters},
		{"GET /v1/sites", join([]Role{SiteOperator}, readers), []Role{SiteOperator}},
		{"POST /v1/sites/{site}/drain", operators, []Role{SiteOperator}},
		{"POST /v1/sites/{site}/gone", admins, nil},
		{"POST /v1/sites/{site}/revoked", admins, nil},
		{"GET /v1/events", join([]Role{SiteOperator}, readers), []Role{SiteOperator}},
		{"GET /v1/auctions", readers, nil},
		{"GET /v1/policy", readers, nil},
		{"POST /v1/policy", admins, nil},
		{"GET /v1/policy/waiting", readers, nil},
		{"POST /v1/policy/waiting/{id}", admins, nil},
		{"GET /v1/quotas", join(submitters, readers), submitters},
		{"POST /v1/quotas/{name}", []Role{TenantAdmin}, []Role{TenantAdmin}},
		{"GET /v1/whoami", AllRoles(), nil},
		{"GET /v1/login", nil, nil},
		{"GET /v1/openapi.json", nil, nil},
		{"GET /v1/record", join(submitters, readers), submitters},
		{"GET /v1/proof", AllRoles(), join(submitters, []Role{SiteOperator})},
		{"GET /metrics", readers, nil},
		{"GET /healthz", nil, nil},
		{"GET /readyz", nil, nil},
	}
}

// Page is the web page of a coordinator, which shows a tenant its own jobs.
var Page = Endpoint{"/", join(submitters, readers), submitters}

// MayUse reports whether a principal may use the endpoint of a pattern of the table.
func MayUse(pattern string, p Principal) bool {
	e, ok := endpointOf(pattern)
	return ok && e.Allows(p)
}

// endpointOf returns the endpoint of a pattern.
func endpointOf(pattern string) (Endpoint, bool) {
	for _, e := range append(Endpoints(), Page) {
		if e.Pattern == pattern {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Allows reports whether a principal may use the endpoint.
func (e Endpoint) Allows(p Principal) bool {
	return len(e.Roles) == 0 || !p.IsAuthenticated() || slices.ContainsFunc(e.Roles, p.Is)
}
