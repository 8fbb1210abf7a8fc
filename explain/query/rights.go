package query

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// answerQuotas says what each tenant's quota guarantees and caps, how much of it the tenant's jobs hold, and
// who holds what it does not use.
func (l *Dataset) answerQuotas(q ask.Query) (r Result) {
	at, all := r.instantOf(l, q), l.policyAt(1<<62).Quotas
	held := make(map[string]protocol.Milli)
	for _, x := range l.jobsWhere(func(x history.JobRecord) bool { return l.history.JobStateAt(&x, at).State == history.Running }) {
		above := x.Job.Tenant
		for range all { // a tree is no deeper than it has quotas
			held[above] += x.Job.TotalGPUMilli()
			i := slices.IndexFunc(all, func(y protocol.Quota) bool { return y.Name == above })
			if i < 0 || all[i].Parent == "" {
				break
			}
			above = all[i].Parent
		}
	}
	var unused protocol.Milli
	r.Head = []string{"quota", "guaranteed", "cap", "held", "left of the guarantee", "beyond it"}
	for _, x := range all {
		if q.Tenant != "" && q.Tenant != x.Name {
			continue
		}
		subject, most, left := "tenant/"+x.Name, Part(plainText("none")), max(x.Min-held[x.Name], 0)
		if unused += left; x.Max > 0 {
			most = valueOf(subject, "quota-cap", x.Max)
		}
		r.addListed(namePart(x.Name), valueOf(subject, "guaranteed", x.Min), most, valueOf(subject, "gpus-held", held[x.Name]), valueOf(subject, "left-of-guarantee", left), valueOf(subject, "beyond-guarantee", max(held[x.Name]-x.Min, 0)))
	}
	r.addSentence("%s.", quotaText(all))
	r.addSentence("Of what is guaranteed %s GPUs are not used.", valueOf("run", "guaranteed-unused", unused))
	for _, x := range all {
		isLeaf := !slices.ContainsFunc(all, func(y protocol.Quota) bool { return y.Parent == x.Name })
		if more := held[x.Name] - x.Min; isLeaf && more > 0 && x.Name != q.Tenant {
			r.addSentence("%s holds %s beyond its guarantee; they come back when a job of those whose they are asks for them.", namePart(x.Name), valueOf("tenant/"+x.Name, "beyond-guarantee", more))
		}
	}
	if l.policyAt(1<<62).By == protocol.HiddenOperator {
		r.addSentence("This is a tenant's part of the record: what others hold is not in it. A job that needs what it is guaranteed gets it back from them.")
	}
	return r
}

// answerRefusals says for which jobs sites had no offer when they were last asked, and why.
func (l *Dataset) answerRefusals(q ask.Query) (r Result) {
	r.Head = []string{"job", "site", "decision", "why"}
	n, bySite := 0, make(map[string]int)
	for _, x := range l.jobsWhere(func(x history.JobRecord) bool {
		return includes(ask.Query{Tenant: q.Tenant}, x.Job.Tenant, "") && len(x.FullRounds) > 0
	}) {
		m := l.caseOfDecision(x, decisionNumber(x.FullRounds[len(x.FullRounds)-1].Decision))
		for _, a := range m.round.Answers {
			if len(a.Options) == 0 && (q.Site == "" || q.Site == a.Site) {
				n++
				bySite[a.Site]++
				r.addListed(namePart(x.Job.ID), namePart(a.Site), decisionCitation(m.decision), m.noOffer(a.Site))
				r.citeDecision(m.decision)
			}
		}
	}
	r.addSentence("A site made no offer for a job, when that was last called, %s.", countedPart(valueOf("run", "refusals", n, r.Cites...), "time", "times"))
	if q.Site == "" && n > 0 {
		r.rankSites(q, bySite, "jobs without an offer")
	}
	return r
}

// rankSites says how many of something each site has; where the most or the least is asked for, that is the table.
func (r *Result) rankSites(q ask.Query, counts map[string]int, what string) {
	sites := sortedKeys(counts)
	slices.SortStableFunc(sites, func(a, b string) int {
		if q.Pick == "least" {
			a, b = b, a
		}
		return cmp.Compare(counts[b], counts[a])
	})
	var all partList
	rows := [][]Part(nil)
	for _, s := range sites {
		f := valueOf("site/"+s, what, counts[s])
		all, rows = append(all, newSentence("%s %s", namePart(s), f)), append(rows, []Part{namePart(s), f})
	}
	r.addSentence("By site: %s.", all)
	if q.Pick != "" {
		r.Head, r.Rows = []string{"site", what}, rows
	}
}

// answerStartNow says what each job that waits was offered when it was last called, for its earliest start.
func (l *Dataset) answerStartNow(q ask.Query) (r Result) {
	all := l.pendingJobs(q, r.instantOf(l, q))
	r.addAssumption("as it was offered when it was last called; `gridbid submit --dry-run` asks the sites for a job that is not submitted")
	r.Head = []string{"job", "start", "site", "cost", "decision"}
	for _, x := range all {
		if len(x.FullRounds) == 0 {
			continue
		}
		h, job := x.FullRounds[len(x.FullRounds)-1], jobSubject(x.Job.ID)
		if p, site, ok := narrate.EarliestOption(h); ok {
			r.citeDecision(h.Decision.Message.Seq)
			r.addListed(namePart(x.Job.ID), valueOf(job, "earliest-start", p.Start), namePart(site), valueOf(job, "earliest-cost", p.Terms.Total()), decisionCitation(h.Decision.Message.Seq))
		}
	}
	r.addSentence("%s; %s an offer.", countedPart(valueOf("run", "waiting", len(all)), "job waits", "jobs wait"), countedPart(valueOf("run", "offered", len(r.Rows)), "has", "have"))
	return r
}
