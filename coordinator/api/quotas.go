package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

// A QuotaReply is a quota as the API shows it, in GPUs, and how it stands.
type QuotaReply struct {
	Name   string  `json:"name"`
	Parent string  `json:"parent,omitempty"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max,omitempty"` // absent: no cap
	Weight float64 `json:"weight"`
	Lend   float64 `json:"lend"` // most of min that others get
	Band   int64   `json:"band,omitempty"`

	Running float64 `json:"running"` // GPUs of its tenants' runs now
	Planned float64 `json:"planned"` // GPUs of awarded runs that are to start

	Models       []ModelQuotaReply `json:"models,omitempty"`
	Budget       *BudgetReply      `json:"budget,omitempty"`        // in dollars; absent: none
	CarbonBudget *BudgetReply      `json:"carbon_budget,omitempty"` // in kilograms of CO2e
}

// A ModelQuotaReply is what a quota says of the GPUs of one model, and how it stands.
type ModelQuotaReply struct {
	Model   string  `json:"model"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max,omitempty"`
	Weight  float64 `json:"weight"`
	Lend    float64 `json:"lend"`
	Band    int64   `json:"band,omitempty"`
	Running float64 `json:"running"`
	Planned float64 `json:"planned"`
}

// A BudgetReply is how a budget of a month stands.
type BudgetReply struct {
	Month    string  `json:"month"` // in UTC, as 2026-03
	Amount   float64 `json:"amount"`
	Overrun  float64 `json:"overrun,omitempty"` // its first line: what the month before spent beyond its own
	Spent    float64 `json:"spent"`
	Reserved float64 `json:"reserved"` // for runs that were awarded
	Left     float64 `json:"left"`     // below zero: an overrun
}

// A ListQuotas returns the quotas in force, and how they stand.
type ListQuotas func(now protocol.Time) []QuotaReply

// ListQuotasBy has the API list quotas by a market, which leads from now on.
func (d *Server) ListQuotasBy(list ListQuotas) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listQuotas = list
}

// quotasSeenBy returns the quotas that the principal of a request may read: all, or those of its own
// tenants. A parent that is not among them is left out.
func (d *Server) quotasSeenBy(r *http.Request) (out []QuotaReply, err error) {
	out = []QuotaReply{}
	d.mu.Lock()
	list := d.listQuotas
	d.mu.Unlock()
	err = d.inspectMarket(r.Context(), func(now protocol.Time) { out = append(out, list(now)...) })
	sees := d.jobsSeenBy(r)
	out = slices.DeleteFunc(out, func(q QuotaReply) bool { return !sees.has(q.Name) })
	for i := range out {
		if !sees.has(out[i].Parent) {
			out[i].Parent = ""
		}
	}
	return out, err
}

// handleListQuotas lists the quotas in force.
func (d *Server) handleListQuotas(w http.ResponseWriter, r *http.Request) {
	if !d.rejectIfStandby(w) {
		d.writeQuotas(w, r)
	}
}

func (d *Server) writeQuotas(w http.ResponseWriter, r *http.Request) {
	all, err := d.quotasSeenBy(r)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	writeJSON(w, http.StatusOK, all)
}

// handleChangeQuota changes amounts of a quota below that of the credential's tenant. Its own, and those
// beside it, are the federation's admins': here they are answered as if they were not there.
func (d *Server) handleChangeQuota(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	p, was, name := rights.Of(r.Context()), d.currentPolicy(), r.PathValue("name")
	group := p.Tenant
	i := slices.IndexFunc(was.Quotas, func(q protocol.Quota) bool { return q.Name == name })
	if i >= 0 && !p.IsAuthenticated() {
		group = was.Quotas[i].Parent
	}
	if i < 0 || group == "" || !slices.Contains(tenantsBelow(was.Quotas, group), name) {
		err := fmt.Errorf("api: no quota %q is below that of %s: quotas of top level are changed by `gridbid import`", name, cmp.Or(group, "a group"))
		d.guard.LogRefusal(r, p.Name, err)
		writeError(w, http.StatusNotFound, err)
		return
	}
	now := was
	now.Version, now.Within, now.Quotas = was.Version+1, group, slices.Clone(was.Quotas)
	now.By, now.Second, now.Proved = cmp.Or(p.Name, "this machine"), "", p.IsAuthenticated()
	query := r.URL.Query()
	if now.Sentence = query.Get("why"); len(now.Sentence) > 1000 {
		writeError(w, http.StatusBadRequest, errors.New("api: why: want at most 1000 bytes"))
		return
	}
	if err := changeAmounts(&now.Quotas[i], query); err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	if d.putPolicyIntoForce(w, r, was, now) {
		d.writeQuotas(w, r)
	}
}

// changeAmounts sets those amounts of a quota that a request names, in GPUs.
func changeAmounts(q *protocol.Quota, query url.Values) error {
	lent := q.Min - q.Kept
	if query.Has("min") && !query.Has("lend") && q.Kept == 0 {
		lent = protocol.Milli(1e9) // it lent all
	}
	given := false
	for _, x := range []struct {
		key string
		to  *protocol.Milli
	}{{"min", &q.Min}, {"max", &q.Max}, {"weight", &q.Weight}, {"lend", &lent}} {
		if !query.Has(x.key) {
			continue
		}
		v, err := strconv.ParseFloat(query.Get(x.key), 64)
		if err != nil || !(v >= 0 && v <= 1e6) {
			return fmt.Errorf("api: %s %q: want a number from 0 to 1,000,000", x.key, query.Get(x.key))
		}
		*x.to, given = protocol.Milli(v*1000+0.5), true
	}
	if !given {
		return errors.New("api: nothing to change: give min, max, weight or lend")
	}
	q.Kept = max(q.Min-lent, 0)
	return nil
}
