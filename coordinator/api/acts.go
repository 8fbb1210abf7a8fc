package api

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/protocol"
)

// What follows is for a page of the coordinator, whose visitors act by the principal of ctx. Its roles
// are checked by the page; whose jobs a principal acts on is decided here, as for the API.

// CancelJob has the market cancel a job.
func (d *Server) CancelJob(ctx context.Context, id protocol.JobID) error {
	_, err := d.cancelJob(ctx, string(id))
	return err
}

// QuoteJob returns what the job of a file would cost, a line for each site; of a job in parts, for each site and part.
func (d *Server) QuoteJob(ctx context.Context, file []byte) (lines []string, err error) {
	o, err := jobfile.Parse("job", file)
	if err == nil {
		err = d.checkJobNames(o)
	}
	if err != nil {
		return nil, err
	}
	tenant, err := d.tenantFor(rights.Of(ctx), "job", o.Tenant())
	if err != nil {
		return nil, err
	}
	q, err := d.quoteJob(ctx, o.WithTenant(tenant))
	if err != nil {
		return nil, err
	}
	lines = siteLines("", q.Sites)
	for _, p := range q.Parts {
		lines = append(lines, siteLines(string(p.Part)+" at ", p.Sites)...)
	}
	return append(lines, "the market would now: "+cmp.Or(q.Verdict, "not say")+" "+q.Note), nil
}

// siteLines returns a line for what each site offers, after a prefix.
func siteLines(prefix string, sites []SiteQuote) (lines []string) {
	for _, s := range sites {
		if s.Cheapest == nil {
			lines = append(lines, prefix+s.Site+": "+cmp.Or(s.Note, s.Why))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s%s: from $%.4f, to start %s; soonest %s for $%.4f", prefix, s.Site, s.Cheapest.Price, format.FormatInstant(s.Cheapest.Start), format.FormatInstant(s.Earliest.Start), s.Earliest.Price))
	}
	return lines
}

// TenantsOf returns for whom the principal of ctx submits, as they are now.
func (d *Server) TenantsOf(ctx context.Context) map[string]bool { return d.ownTenants(rights.Of(ctx)) }
