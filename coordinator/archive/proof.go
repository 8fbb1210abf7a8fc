package archive

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

// ProofHandler serves what a site or a tenant may see of the log, as a ledger: see notary.OpenFor.
// The query names the site (site=NAME), or the tenant (tenant=NAME) and the party that submits its
// jobs (party=NAME). Who has a credential gets its own only, whatever the query names.
func ProofHandler(read func(context.Context) ([]protocol.Message, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := readerOf(r)
		if err != nil {
			answerError(w, http.StatusForbidden, err)
			return
		}
		record, err := read(r.Context())
		if err == nil && len(record) == 0 {
			err = errNoRecord
		}
		var shown []protocol.Message
		if err == nil {
			shown, err = notary.OpenFor(who, record)
		}
		if err != nil {
			answerError(w, http.StatusServiceUnavailable, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", "no-store")
		writeLedger(w, r, shown, map[string]string{"proof": string(who.Party) + who.Tenant})
	})
}

// readerOf returns who asks: whom the query names if the principal may read everything, else the
// principal's own site or tenant.
func readerOf(r *http.Request) (who notary.Reader, err error) {
	q, p := r.URL.Query(), rights.Of(r.Context())
	site, tenant := q.Get("site"), q.Get("tenant")
	if who.Party = protocol.Party(q.Get("party")); site != "" {
		who.Party = protocol.AgentParty(site)
	}
	who.Tenant = tenant
	switch {
	case p.SeesAllJobs():
	case p.Is(rights.SiteOperator) && site == p.Site && tenant == "" && q.Get("party") == "":
	case (p.Is(rights.Tenant) || p.Is(rights.TenantAdmin)) && p.Tenant != "" && tenant == p.Tenant && site == "":
		who.Party = "" // several tenants may submit through one party
	default:
		return who, errors.New("archive: proof: ask for your own site (site=NAME) or tenant (tenant=NAME): the credential is of another")
	}
	if who == (notary.Reader{}) {
		return who, errors.New("archive: proof: name a site (site=NAME) or a tenant (tenant=NAME)")
	}
	return who, nil
}

// answerError answers with an error as JSON.
func answerError(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // fails if the client has gone
}
