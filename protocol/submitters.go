package protocol

import (
	"strings"
	"time"
)

const tenantRole = "tenant/"

// TenantParty returns the party of a tenant that submits by a key of its own.
func TenantParty(name string) Party { return Party(tenantRole + name) }

// TenantName returns the tenant of p: "vision" for "tenant/vision"; "" if p is no tenant.
func (p Party) TenantName() string {
	name, ok := strings.CutPrefix(string(p), tenantRole)
	if !ok {
		return ""
	}
	return name
}

// KindsOfTenants returns the kinds of messages that a tenant may send.
func KindsOfTenants() []string { return []string{Submit{}.messageKind(), Cancel{}.messageKind()} }

// WhyForeign returns why a job is not p's to submit; "" if it is. A site submits by its queue alone,
// jobs of its own home; ids and tenants of these begin with "SITE/". A tenant submits jobs of its own,
// whose ids begin with "TENANT/". Without these rules a member could take the ids of others, or let
// another pay.
func (p Party) WhyForeign(j Job) string {
	tenant, site := p.TenantName(), p.SiteName()
	switch {
	case tenant == "" && site == "" && !strings.Contains(string(p), "/"):
		return ""
	case tenant == "" && site == "":
		return "the sender has no name"
	case site != "" && p != QueueParty(site):
		return "a site submits by its queue alone"
	case !strings.HasPrefix(string(j.ID), tenant+site+"/"):
		return "id: want one that begins with " + tenant + site + "/"
	case tenant != "" && j.Tenant != tenant:
		return "tenant: the job names another tenant than its sender"
	case site != "" && !strings.HasPrefix(j.Tenant, site+"/"):
		return "tenant: want one that begins with " + site + "/"
	case site != "" && j.Home != "" && j.Home != site:
		return "home: the job has the home of another site"
	}
	return ""
}

// mayChangeService reports whether p may submit and delete a service. A site does so by its queue alone, with
// services whose ids begin with "SITE."; a tenant has the coordinator's API for that.
func (p Party) mayChangeService(id ServiceID) bool {
	if !strings.Contains(string(p), "/") {
		return true
	}
	site := p.SiteName()
	return site != "" && p == QueueParty(site) && strings.HasPrefix(string(id), site+".")
}

// isPayerOfSite reports whether a service of p may be of a tenant: those of a site's queue are of a tenant
// whose name begins with "SITE/".
func (p Party) isPayerOfSite(tenant string) bool {
	site := p.SiteName()
	return site == "" || strings.HasPrefix(tenant, site+"/")
}

// SequenceAt returns the number of a message that a party sends at t. It is for parties of which
// several processes send beside each other, such as the commands of a tenant: numbers count
// microseconds, so that a later message has a higher one whichever process sends it. They are
// numbers of an incarnation that began in t's second.
func SequenceAt(t time.Time) uint64 {
	return SequenceNumber(uint64(t.Unix()), uint64(t.Nanosecond()/1000))
}
