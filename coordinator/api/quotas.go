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

// A QuotaReply is a quota as the API shows it, in GPUs.
type QuotaReply struct {
	Name   string  `json:"name"`
	Parent string  `json:"parent,omitempty"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max,omitempty"` // absent: no cap
	Weight float64 `json:"weight"`
	Lend   float64 `json:"lend"` // most of min that others get
	Band   int64   `json:"band,omitempty"`
}

// quotasSeenBy returns the quotas that the principal of a request may read: all, or those of its own
// tenants. A parent that is not among them is left out.
func (d *Server) quotasSeenBy(r *http.Request) []QuotaReply {
	sees := d.jobsSeenBy(r)
	inGPUs := func(v protocol.Milli) float64 { return float64(v) / 1000 }
	out := []QuotaReply{}
	for _, q := range d.currentPolicy().Quotas {
		if !sees.has(q.Name) {
			continue
		}
		x := QuotaReply{q.Name, q.Parent, inGPUs(q.Min), inGPUs(q.Max), inGPUs(q.Weight), inGPUs(q.Min - q.Kept), q.Band}
		if !sees.has(q.Parent) {
			x.Parent = ""
		}
		out = append(out, x)
	}
	return out
}

// handleListQuotas lists the quotas in force.
func (d *Server) handleListQuotas(w http.ResponseWriter, r *http.Request) {
	if !d.rejectIfStandby(w) {
		writeJSON(w, http.StatusOK, d.quotasSeenBy(r))
	}
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
		writeJSON(w, http.StatusOK, d.quotasSeenBy(r))
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
