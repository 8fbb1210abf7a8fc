// Package tenantview shows a tenant its own part of a market's messages. What it returns is a
// record that package history folds like any other, so every reader of records, be it why, ask,
// a chart, an export or the page, shows a tenant its own affairs and no others.
//
// Promises: no message that a View returns has the id of a job, or the name of a tenant, that is
// not its own. A job is of the tenant for which the coordinator took it, and not of one that submits
// under its id later and is refused.
//
// Of the offers of sites it shows those for the tenant's own jobs, which a quote shows, too: no
// capacity, no forecasts and no prices of rooms. It has no inputs of the coordinator, so no decision
// can be made again by it.
package tenantview

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A View is what some tenants may see. Give it every message in its order.
type View struct {
	has         func(tenant string) bool
	own         map[protocol.JobID]bool               // of the jobs that the coordinator took
	submitted   map[protocol.JobID][]protocol.Message // that the coordinator has not answered yet, oldest first
	rounds      map[uint64]bool                       // that called an own job
	incarnation uint64
	marked      protocol.Time // of the last InputLog that was shown
	policy      bool          // was shown
}

// markEvery is how far the end of a tenant's part of a live record may be behind that of the record: what stands at
// its end is what is so now, also for a tenant that was told nothing for hours.
const markEvery = 10 * time.Second

// New returns the view of the tenants that has names.
func New(has func(tenant string) bool) *View {
	return &View{has: has, own: make(map[protocol.JobID]bool), submitted: make(map[protocol.JobID][]protocol.Message), rounds: make(map[uint64]bool)}
}

// Of returns what tenants may see of messages.
func Of(all []protocol.Message, has func(tenant string) bool) (out []protocol.Message) {
	v := New(has)
	for _, m := range all {
		out = append(out, v.Show(m)...)
	}
	return out
}

// Show returns what the tenants may see of the next message. A submission is shown when the
// coordinator has taken it.
func (v *View) Show(m protocol.Message) (out []protocol.Message) {
	if m.Body == nil || !m.IsPlausible() {
		return nil
	}
	switch b := m.Body.(type) {
	case protocol.Submit:
		v.submitted[b.Job.ID] = append(v.submitted[b.Job.ID], m)
	case protocol.Confirm:
		return v.answered(m.To, b.Job, b.Code == protocol.Acknowledged)
	case protocol.Reject:
		taken := b.Why.Code != protocol.Duplicate
		out = v.answered(m.To, b.Job, taken)
		if taken && v.own[b.Job] {
			m.Body = protocol.Reject{Job: b.Job, Why: v.Redact(b.Why)}
			return append(out, m)
		}
	case protocol.CallForBids:
		return v.showCall(m, b)
	case protocol.InputLog: // without inputs: it says that the record is of a live coordinator, and what time it is there
		if b.Incarnation != v.incarnation || m.At >= v.marked.Add(markEvery) {
			v.incarnation, v.marked = b.Incarnation, m.At
			m.Body = protocol.InputLog{Incarnation: b.Incarnation}
			return []protocol.Message{m}
		}
	case protocol.DecommissionSite:
		m.Body = protocol.DecommissionSite{Site: b.Site, By: protocol.HiddenOperator, End: b.End}
		return []protocol.Message{m}
	case protocol.Policy:
		return v.showPolicy(m, b)
	case protocol.ServiceSettlement:
		if m.From != protocol.Coordinator || !v.has(b.Payer) {
			return nil
		}
		b.Charges = v.ownCharges(b.Charges)
		m.Body = b
		return []protocol.Message{m}
	default:
		return v.showOwn(m)
	}
	return out
}

// showPolicy returns the priority classes and the tenants' own quotas of a policy that came into force, and
// nothing else of it.
func (v *View) showPolicy(m protocol.Message, b protocol.Policy) []protocol.Message {
	own := protocol.Policy{Version: b.Version, By: protocol.HiddenOperator, Classes: b.Classes}
	for _, q := range b.Quotas {
		if !v.has(q.Name) {
			continue
		}
		if !v.has(q.Parent) {
			q.Parent = ""
		}
		own.Quotas = append(own.Quotas, q)
	}
	if m.From != protocol.Coordinator || len(own.Quotas)+len(own.Classes) == 0 && !v.policy {
		return nil
	}
	v.policy, m.Body = true, own
	return []protocol.Message{m}
}

// answered notes what became of a submission, and returns it if the coordinator took it from one of
// the tenants. Of several that one party sent under an id the first was taken, and the last refused:
// an API sends those of all its tenants.
func (v *View) answered(from protocol.Party, id protocol.JobID, taken bool) []protocol.Message {
	all, at := v.submitted[id], -1
	for i, m := range all {
		if m.From == from && (at < 0 || !taken) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	m := all[at]
	if v.submitted[id] = slices.Delete(all, at, at+1); len(v.submitted[id]) == 0 {
		delete(v.submitted, id)
	}
	if !taken {
		return nil
	}
	if v.own[id] = v.has(m.Body.(protocol.Submit).Job.Tenant); !v.own[id] {
		return nil
	}
	return []protocol.Message{m}
}

// showCall returns a call for bids with the own jobs in it. The coordinator names the tenant of each,
// so a record that begins in the middle of a run tells whose they are.
func (v *View) showCall(m protocol.Message, b protocol.CallForBids) (out []protocol.Message) {
	var jobs []protocol.Job
	var asked [][]int
	for i, j := range b.Jobs {
		if v.own[j.ID] = v.has(j.Tenant); !v.own[j.ID] {
			continue
		}
		jobs = append(jobs, j)
		if i < len(b.Asked) {
			asked = append(asked, b.Asked[i])
		}
		sent := j.ID
		if j.PartOf != "" { // the whole was submitted
			sent, v.own[j.PartOf] = j.PartOf, true
		}
		for _, s := range v.submitted[sent] {
			if s.Body.(protocol.Submit).Job.Tenant == j.Tenant {
				out = append(out, s)
			}
		}
		delete(v.submitted, sent)
	}
	if len(jobs) == 0 {
		return nil
	}
	v.rounds[b.Round] = true
	m.Body = protocol.CallForBids{Round: b.Round, Closes: b.Closes, Jobs: jobs, Weights: b.Weights, Planning: b.Planning, Sites: b.Sites, Asked: asked}
	return append(out, m)
}

// showOwn returns a message about one job, or about jobs, without what is not the tenants'.
func (v *View) showOwn(m protocol.Message) []protocol.Message {
	switch b := m.Body.(type) {
	case protocol.Bids:
		if m.Body = v.ownBids(b); !v.rounds[b.Round] {
			return nil
		}
		return []protocol.Message{m}
	case protocol.Award:
		b.Why, b.Proof = v.Redact(b.Why), protocol.Certificate{}
		m.Body = b
	case protocol.Defer:
		b.Why = v.Redact(b.Why)
		m.Body = b
	case protocol.PartsDecided:
		b.Why = v.Redact(b.Why)
		m.Body = b
	case protocol.Decline:
		b.Why = v.Redact(b.Why)
		m.Body = b
	case protocol.Preempted:
		if b.Why = v.Redact(b.Why); b.For != "" && !v.own[b.For] {
			b.For, b.Owner = "", "another job"
		}
		m.Body = b
	case protocol.Settlement:
		if !v.has(b.Payer) {
			b.Payer = Others
		}
		b.Charges = v.ownCharges(b.Charges)
		m.Body = b
	case protocol.Cancel:
		if tenant := m.From.TenantName(); tenant != "" && !v.has(tenant) {
			return nil // in vain: it names a job that is not its sender's
		}
	case protocol.Accept, protocol.Started, protocol.UsageReport:
	default:
		return nil
	}
	if id, ok := m.OneJob(); !ok || !v.own[id] {
		return nil
	}
	return []protocol.Message{m}
}

// ownCharges returns the charges to the tenants' own budgets: those of the groups above them are not theirs to see.
func (v *View) ownCharges(all []protocol.BudgetCharge) []protocol.BudgetCharge {
	return slices.DeleteFunc(slices.Clone(all), func(c protocol.BudgetCharge) bool { return !v.has(c.Quota) })
}

// ownBids returns the bids for own jobs, and nothing about the site.
func (v *View) ownBids(b protocol.Bids) protocol.Bids {
	out := protocol.Bids{Round: b.Round}
	for _, x := range b.Jobs {
		if v.own[x.Job] {
			x.Why = v.Redact(x.Why)
			out.Jobs = append(out.Jobs, x)
		}
	}
	for _, id := range b.WithinDomain {
		if v.own[id] {
			out.WithinDomain = append(out.WithinDomain, id)
		}
	}
	return out
}
