// Package rights says who asks and what they may do. It authenticates the credentials of
// requests, keeps the table of the endpoints that each role may use, and cuts requests that are
// still served when their credential is revoked or expires.
//
// Invariant: no token is in an error, a log or a file. The file of credentials has hashes.
//
// Package coordinator/api, the neighbour, decides by the principal whose jobs a request is about.
package rights

import (
	"context"
	"slices"
	"time"
)

// A Role is what a principal may do. Endpoints has the table.
type Role string

// The roles.
const (
	Tenant          Role = "tenant"           // submits, reads and cancels the jobs of its tenant
	TenantAdmin     Role = "tenant-admin"     // the same for its tenant and all below it in the quota tree
	SiteOperator    Role = "site-operator"    // reads how its site stands, and drains it
	Auditor         Role = "auditor"          // reads everything, changes nothing
	FederationAdmin Role = "federation-admin" // sets the policy, removes sites, cancels jobs
)

// AllRoles returns every role.
func AllRoles() []Role { return []Role{Tenant, TenantAdmin, SiteOperator, Auditor, FederationAdmin} }

// A Source says what vouches for a principal.
type Source string

// The sources.
const (
	ThisMachine Source = "loopback" // nothing: whoever can log in to this machine; it has every right
	TokenFile   Source = "token"    // a token of the credentials file
	OIDC        Source = "oidc"     // a token that an OIDC provider signed
)

// A Principal is who asks.
type Principal struct {
	Name    string    `json:"name"`
	Roles   []Role    `json:"roles"`
	Tenant  string    `json:"tenant,omitempty"` // of the roles tenant and tenant-admin
	Site    string    `json:"site,omitempty"`   // of the role site-operator
	Source  Source    `json:"source"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// everybody is who asks a coordinator that authenticates nobody: it serves its own machine alone.
var everybody = Principal{Name: "this machine", Roles: AllRoles(), Source: ThisMachine}

// Is reports whether p has a role. Who is not authenticated has them all.
func (p Principal) Is(r Role) bool { return slices.Contains(p.Roles, r) }

// IsAuthenticated reports whether a credential says who p is.
func (p Principal) IsAuthenticated() bool { return p.Source != ThisMachine }

// SeesAllJobs reports whether p may read the jobs of every tenant.
func (p Principal) SeesAllJobs() bool {
	return !p.IsAuthenticated() || p.Is(Auditor) || p.Is(FederationAdmin)
}

// SeesAllSites reports whether p may read how every site stands.
func (p Principal) SeesAllSites() bool { return p.SeesAllJobs() }

// isSame reports whether a credential still stands for the same principal.
func (p Principal) isSame(q Principal) bool {
	return p.Name == q.Name && p.Tenant == q.Tenant && p.Site == q.Site && p.Source == q.Source && slices.Equal(p.Roles, q.Roles)
}

type contextKey struct{}

// Of returns who asks, of the context of a request that a Guard passed on. A request that none
// passed on comes from nobody, who has no role.
func Of(ctx context.Context) Principal {
	p, ok := ctx.Value(contextKey{}).(Principal)
	if !ok {
		p.Source = TokenFile
	}
	return p
}

// with returns a context in which p asks.
func with(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}
