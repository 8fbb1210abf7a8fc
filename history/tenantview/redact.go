package tenantview

import (
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// Others stands for a tenant whose name is not shown.
const Others = "*"

// Redact returns a reason without the names of others' jobs, tenants and operators.
func (v *View) Redact(why protocol.Reason) protocol.Reason {
	return Redact(why, v.has, func(id protocol.JobID) bool { return v.own[id] })
}

// Redact returns a reason without the names of jobs and tenants other than those that a reader
// owns, and of operators. A note that may name another is replaced unless it names an own one.
func Redact(why protocol.Reason, ownTenant func(string) bool, ownJob func(protocol.JobID) bool) protocol.Reason {
	switch why.Code {
	case protocol.OverQuota: // "4 of the 8 GPUs that TENANT may hold now are taken, ..."; "no quota names tenant TENANT"
		before, after, named := strings.Cut(why.Note, " GPUs that ")
		if name, rest, ok := strings.Cut(after, " may hold now "); named && ok && !ownTenant(name) {
			rest, _, _ = strings.Cut(rest, " (") // min and max of the quota follow
			why.Note = before + " GPUs that " + Others + " may hold now " + rest
		}
	case protocol.BudgetSpent, protocol.CarbonBudgetSpent: // "$95.00 of the $100.00 that QUOTA may spend in January 2026 are taken, ..."
		for _, verb := range []string{" may spend in ", " may emit in "} {
			_, after, named := strings.Cut(why.Note, " that ")
			name, rest, ok := strings.Cut(after, verb)
			if named && ok && !ownTenant(name) { // nor what others of the group spent
				month, _, _ := strings.Cut(rest, " are taken")
				why.Note = "the budget of a group in " + month + " has no room"
			}
		}
	case protocol.QueueBlocked: // "job ID stands before it in the queue of GROUP"
		id, _, _ := strings.Cut(strings.TrimPrefix(why.Note, "job "), " stands before it in the queue of ")
		if why.Note = "a job of another tenant stands before it in its queue"; ownJob(protocol.JobID(id)) {
			why.Note = "job " + id + " stands before it in its queue"
		}
	case protocol.Preempting: // ids of runs
		why.Note = ""
	case protocol.QuotaReclaimed: // "lent to TENANT, guaranteed to TENANT"
		why.Note = "lent to its tenant, guaranteed to another"
	case protocol.SiteDecommissioned: // "SITE, says OPERATOR"
		why.Note, _, _ = strings.Cut(why.Note, ", says ")
	}
	return why
}

// Answer returns a message of the coordinator to a tenant as the tenant may read it: without the
// names of others, which the record keeps. Other messages are as they are.
func Answer(m protocol.Message) protocol.Message {
	tenant := m.To.TenantName()
	if tenant == "" {
		return m
	}
	redact := func(why protocol.Reason) protocol.Reason {
		return Redact(why, func(t string) bool { return t == tenant }, func(id protocol.JobID) bool { return strings.HasPrefix(string(id), tenant+"/") })
	}
	switch b := m.Body.(type) {
	case protocol.Defer:
		b.Why = redact(b.Why)
		m.Body = b
	case protocol.Reject:
		b.Why = redact(b.Why)
		m.Body = b
	case protocol.JobStatus:
		b.Why = redact(b.Why)
		m.Body = b
	}
	return m
}
