package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Jobs need not say whose they are. What sites draw beside jobs is nobody's, too, and
// no tenant: it never has the most.
func TestJobsOfNoTenantAreNotTheIdleDraw(t *testing.T) {
	s := day()
	j := task("stray", "")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addAward("oslo", 9, j, option(0, 900, 90_000), "oslo-1", []int{0}, time.Hour)
	s.addMeter("oslo", "lyon")
	a := s.buildDataset().AnswerQuestion("which tenant used the most carbon")
	if a.Kind != "answer" || !strings.Contains(a.Text[0], "(none), with 90.0") || a.Table.Rows[0][0] != "(none)" {
		t.Errorf("%s %q %+v", a.Kind, a.Text, a.Table)
	}
	if rows := a.Table.Rows; rows[len(rows)-1][0] != "(idle draw of sites)" {
		t.Errorf("idle draw does not stand last: %v", rows)
	}
}

// Of a sum that is not above nothing, as energy may cost where prices are negative, there
// are no parts.
func TestThereAreNoSharesOfLessThanNothing(t *testing.T) {
	for _, whole := range []int64{0, -40} {
		if x := percentPart("run", "share", 10, whole); x.renderText() != "–" || len(figuresIn(x)) != 0 {
			t.Errorf("10 of %d is %q, %+v", whole, x.renderText(), figuresIn(x))
		}
	}
	if got := percentPart("run", "share", -10, 40).renderText(); got != "-25.0 %" {
		t.Errorf("-10 of 40 is %s", got)
	}
}

// What a site guesses of its idle draw is marked wherever it is counted.
func TestIdleDrawThatIsAnEstimateIsMarked(t *testing.T) {
	for _, estimated := range []bool{false, true} {
		s := day()
		s.addMessage(protocol.AgentParty("bern"), protocol.Coordinator, protocol.SiteUsage{Hour: noon, Total: 9, Idle: protocol.Usage{Energy: 9, Carbon: 9, Money: 9}, Estimated: estimated})
		l := s.buildDataset()
		for _, ask := range []string{"energy used", "energy by site", "average carbon intensity of our energy"} {
			a := l.AnswerQuestion(ask)
			if a.Kind != "answer" || strings.Contains(strings.Join(a.Text, " "), "estimate") != estimated {
				t.Errorf("%s, an estimate %v: %s %q", ask, estimated, a.Kind, a.Text)
			}
		}
		if a := l.AnswerQuestion("energy of tenant vision"); strings.Contains(strings.Join(a.Text, " "), "estimate") {
			t.Errorf("idle draw is no tenant's: %q", a.Text)
		}
	}
}
