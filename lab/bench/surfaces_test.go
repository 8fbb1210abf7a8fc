package bench

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// What every surface but the first two prints is grounded, too; and a fault that
// is planted there is seen.
func TestGroundingOfEverySurface(t *testing.T) {
	day, err := shortDay()
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	res, err := scenarios.Replay(t.Context(), s, "home-fifo", new(membus.Bus), scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := res.Totals
	other.Policy = "k8s-least-allocated/none" // a name with a figure in it
	said, totals := day.said, []history.Totals{day.totals, res.Totals, other}
	l, b := asked(t, totals...)
	var some []BenchQuestion
	for i, q := range set(t, "paraphrases") {
		if i%3 == 0 {
			some = append(some, q)
		}
	}
	all := JudgeQuestions(l, b, some)
	g := ground(l)
	got, err := g.CheckSurfaces(t.Context(), said, query.ReplaySetup{}, totals, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range got {
		t.Logf("%s: %d texts, %d claims", x.Surface, x.Texts, x.Claims)
		for _, l := range x.Loose {
			t.Errorf("%s %s %q: %q in %q: %s", x.Surface, l.ID, l.Asked, l.Claim, l.In, l.Why)
		}
		if x.Texts == 0 || x.Claims < 5*x.Texts {
			t.Errorf("%s: only %d claims were found in %d texts", x.Surface, x.Claims, x.Texts)
		}
	}
	if n, loose := g.checkReportText(totalFacts(totals), "k8s-most-allocated"); n != 1 || len(loose) != 1 {
		t.Errorf("a policy that was not replayed is borne out: %d claims, %+v", n, loose)
	}
	plantedOnSurfaces(t, g, said, totals, all)
}

var (
	fourPlaces = regexp.MustCompile(`\b\d+\.\d{4}\b`)
	aTime      = regexp.MustCompile(`\b\d\d:\d\d\b`)
	aCell      = regexp.MustCompile(`(?m)^[ ]*\d[\d,]*\.\d+[ ]*$`)
)

// plantedOnSurfaces plants figures ten times as high and other times into what is
// shown, one at a time. A surface whose check stops seeing them fails here.
func plantedOnSurfaces(t *testing.T, g *GroundingCheck, said []protocol.Message, totals []history.Totals, all []JudgedAnswer) {
	run := tail.StartReading(t.Context(), func(_ context.Context, from uint64, each func(protocol.Message) error) error {
		for _, m := range said[from:] {
			if err := each(m); err != nil {
				return err
			}
		}
		return nil
	}, totals)
	<-run.ReadingDone()
	page := page.NewPageHandler(run, page.Options{})
	type check struct {
		text string
		of   func(string) (int, []UngroundedClaim)
	}
	surfaces := make(map[string][]check)
	for i, id := range g.log.DecisionNumbers() {
		if i%5 == 0 {
			text := shownText(t.Context(), page, fmt.Sprintf("/decision?d=D-%d", id))
			surfaces["cards"] = append(surfaces["cards"], check{text, func(s string) (int, []UngroundedClaim) { return g.checkCard(id, s) }})
		}
	}
	for _, e := range all {
		if e.answer.Query == nil || len(e.answer.Figures) == 0 {
			continue
		}
		var out bytes.Buffer
		_ = e.answer.WriteText(&out)
		surfaces["mcp"] = append(surfaces["mcp"], check{out.String(), func(s string) (int, []UngroundedClaim) { return g.checkPrintedAnswer(e, s) }})
	}
	facts := totalFacts(totals)
	cells := "\n"
	for _, x := range totals {
		cells += fmt.Sprintf("%.2f\n%.1f\n%.1f\n%.1f\n", x.CostUSD, x.CarbonKg, x.EnergyKWh, x.WaitS.Mean/60)
	}
	surfaces["report"] = append(surfaces["report"], check{cells, func(s string) (int, []UngroundedClaim) { return g.checkReportText(facts, s) }})
	for name, checks := range surfaces {
		planted, seen := 0, 0
		for _, c := range checks {
			if _, loose := c.of(c.text); len(loose) > 0 {
				t.Errorf("%s: without a fault: %+v", name, loose[0])
			}
			for _, where := range []*regexp.Regexp{fourPlaces, aTime, aCell} {
				at := where.FindStringIndex(c.text)
				if at == nil || where == aCell && name != "report" {
					continue
				}
				wrong := "9" + c.text[at[0]:at[1]]
				if where == aTime { // another hour
					wrong = fmt.Sprintf("%02d%s", (int(c.text[at[0]]-'0')*10+int(c.text[at[0]+1]-'0')+11)%24, c.text[at[0]+2:at[1]])
				}
				planted++
				if _, loose := c.of(c.text[:at[0]] + wrong + c.text[at[1]:]); len(loose) > 0 {
					seen++
				}
			}
		}
		t.Logf("%s: %d of %d planted faults seen", name, seen, planted)
		if planted == 0 || seen*100 < 90*planted {
			t.Errorf("%s: %d of %d planted faults are seen", name, seen, planted)
		}
	}
}
