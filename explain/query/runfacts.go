package query

import (
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// answerRunFacts says what is in the run: its sites with their GPUs, tenants, jobs, rounds, and how long it is.
func (l *Dataset) answerRunFacts(ask.Query) (r Result) {
	var gpus protocol.Milli
	r.Head = []string{"site", "model", "GPUs"}
	for _, s := range l.countDeviceStock(ask.Query{}, l.lastTime()) {
		gpus += s.all
		r.addRow(namePart(s.site), namePart(s.model), valueOf("site/"+s.site, "all-"+s.model, s.all))
	}
	sites, tenants := l.history.ReportingSiteNames(), l.history.TenantNames()
	r.addSentence("%s: %s.", countedPart(valueOf("run", "sites", len(sites)), "site", "sites"), namesOf(sites...))
	r.addSentence("%s: %s.", countedPart(valueOf("run", "tenants", len(tenants)), "tenant", "tenants"), namesOf(tenants...))
	r.addSentence("%s GPUs, %s and %s. The record goes from %s to %s, which is %s.", valueOf("run", "gpus", gpus), countedPart(valueOf("run", "jobs", len(l.allInstances())), "job", "jobs"),
		countedPart(valueOf("run", "rounds", len(l.history.RoundRecords())), "round", "rounds"), firstTimeFigure(l), lastTimeFigure(l), valueOf("run", "length", l.lastTime().Sub(l.firstTime())))
	return r
}
