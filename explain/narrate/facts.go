package narrate

import (
	"fmt"

	"github.com/gridbid/gridbid/history"
)

// A Fact is one figure of a decision, with what it is about and which message
// said it.
type Fact struct {
	ID      string         `json:"id"`      // within its decision: "F7"
	Subject string         `json:"subject"` // "job", "run", "award", or "site/NAME"
	Name    string         `json:"name"`
	Value   int64          `json:"value"`
	Unit    string         `json:"unit"` // "microdollars", "millijoules", "milligrams", "ms", "thousandths", ...
	Round   uint64         `json:"round,omitempty"`
	Origin  history.Origin `json:"origin"`
}

type facts []Fact

func (f *facts) add(subject, name string, value int64, unit string, round uint64, from history.Origin) {
	*f = append(*f, Fact{fmt.Sprintf("F%d", len(*f)+1), subject, name, value, unit, round, from})
}

// Facts returns the figures that Decision tells, in an order that does not
// change. Instants are milliseconds since 1970.
func Facts(r history.JobRecord) []Fact {
	var f facts
	j := r.Job
	f.add("job", "gpu", int64(j.GPU()), "thousandths", 0, r.Submitted)
	if j.Run != 0 {
		f.add("job", "run", j.Run.Milliseconds(), "ms", 0, r.Submitted)
	}
	f.add("job", "arrival", int64(j.Arrival), "instant", 0, r.Submitted)
	f.add("job", "deadline", int64(j.Deadline), "instant", 0, r.Submitted)
	h, heard := hearing(r)
	award := r.Award()
	if heard && (award == nil || of(h, award)) {
		for _, a := range h.Answers {
			if p, won, ok := shown(h, a); ok && (!won || award == nil) {
				f.option("site/"+a.Site, p, h.Round, a.Said)
				f.costs("site/"+a.Site, p, h.Round, a.Said)
			}
		}
	}
	if a := award; a != nil {
		f.option("award", a.Option, a.Round, a.Said)
		if heard && of(h, a) { // else nobody here knows by what prices
			f.costs("award", a.Option, a.Round, a.Said)
		}
		f.add("award", "primal", int64(a.Proof.Primal), "microdollars", a.Round, a.Said)
		f.add("award", "bound", int64(a.Proof.Bound), "microdollars", a.Round, a.Said)
	}
	for i := range r.Parts {
		f.run(fmt.Sprintf("part/%d", i+1), &r.Parts[i])
	}
	if r.State == history.Ended {
		f.run("run", r.Run)
	}
	return f
}

func (f *facts) option(subject string, p history.Priced, round uint64, from history.Origin) {
	f.add(subject, "start", int64(p.Start), "instant", round, from)
	f.add(subject, "finish", int64(p.Finish), "instant", round, from)
	f.add(subject, "energy", int64(p.Energy), "millijoules", round, from)
	f.add(subject, "carbon", int64(p.Carbon), "milligrams", round, from)
}

func (f *facts) costs(subject string, p history.Priced, round uint64, from history.Origin) {
	for _, c := range Causes() {
		f.add(subject, c.Key+"-cost", int64(c.Of(p.Terms)), "microdollars", round, from)
	}
	f.add(subject, "total-cost", int64(p.Terms.Total()), "microdollars", round, from)
	f.add(subject, "room-worth", int64(p.Room), "microdollars", round, from)
}

func (f *facts) run(of string, run *history.Run) {
	f.add(of, "started", int64(run.Started), "instant", 0, run.Done)
	f.add(of, "ended", int64(run.Ended), "instant", 0, run.Done)
	f.add(of, "energy", int64(run.Cost.Energy), "millijoules", 0, run.Done)
	f.add(of, "carbon", int64(run.Cost.Carbon), "milligrams", 0, run.Done)
	f.add(of, "money", int64(run.Cost.Money), "microdollars", 0, run.Done)
	if (run.Settlement != history.Origin{}) {
		f.add(of, "paid", int64(run.Settled.Paid), "microdollars", 0, run.Settlement)
	}
}
