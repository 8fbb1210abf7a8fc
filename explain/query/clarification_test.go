package query

import (
	"strings"
	"testing"
)

// What makes a question another one is in its query, or the question is given
// back with what would have been lost.
func TestAQueryHoldsEveryPartOfItsQuestion(t *testing.T) {
	l := day().buildDataset()
	for _, tc := range []struct{ name, q, says string }{
		{"one of three splits", "carbon by site by hour by tenant", "split by tenant"},
		{"a wait beside a quantity", "top 5 jobs by carbon which waited", "quantities"},
		{"what is to come", "what will the total carbon be", "time to come"},
		{"a total of what has none", "how dirty in total", "total"},
		{"a unit that is not that of the answer", "energy bill in kWh", "kWh"},
		{"two numbers", "top 5 jobs by carbon 8", "number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := l.AnswerQuestion(tc.q)
			if text := strings.Join(a.Text, " "); a.Kind != "ambiguous" || !strings.Contains(text, tc.says) || len(a.Readings) != 1 || len(a.Figures) > 0 {
				t.Errorf("%q: %s %q, readings %q; want one reading, and that %q would be lost", tc.q, a.Kind, text, a.Readings, tc.says)
			}
		})
	}
}

func TestPhrasesAreTakenApartIfThatLeavesOneQuestion(t *testing.T) {
	l := day().buildDataset()
	for q, want := range map[string]string{
		"why was the greenest site not used for train-1": "why not the greenest site for job train-1",
		"how long did jobs wait on average":              "average wait",
	} {
		got, back := l.ParseQuestion(q)
		if back != nil || got.String() != want {
			t.Errorf("%q is read as %q (%+v); want %q", q, got.String(), back, want)
		}
	}
	for name, q := range map[string]string{
		"a denial stays whole":       "late jobs that are not there",
		"a split stays whole":        "stuck jobs by job",
		"a kind of jobs stays whole": "average wait of long jobs",
		"my jobs are not all jobs":   "late ones among my jobs",
	} {
		if a := l.AnswerQuestion(q); a.Kind == "answer" || len(a.Figures) > 0 {
			t.Errorf("%s: %q: %s, read as %q; want no answer", name, q, a.Kind, a.Read)
		}
	}
}

// One word that would be refused does not refuse what the others ask.
func TestARefusalWordAloneDoesNotRefuseAQuestion(t *testing.T) {
	l := day().buildDataset()
	for _, tc := range []struct{ q, kind string }{
		{"why must train-1 wait", "answer"},
		{"is it good if train-1 would run at lyon", "ambiguous"},
		{"shouldn't lyon have won train-1", "unclear ambiguous answer"},
		{"make carbon 90 for D-4, would it move", "unclear ambiguous"},
		{"oslo must not be used", "refused"},
		{"put train-1 on hold", "refused"},
		{"is oslo run well?", "refused"},
	} {
		if a := l.AnswerQuestion(tc.q); !strings.Contains(tc.kind, a.Kind) {
			t.Errorf("%q: %s %q %q; want %s", tc.q, a.Kind, a.Text, a.Readings, tc.kind)
		}
	}
}
