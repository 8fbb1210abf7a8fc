package query

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
)

// A word that stands for what was spoken of is never dropped: where nothing was,
// it is asked what is meant.
func TestAPointerIsNotDropped(t *testing.T) {
	for _, q := range []string{
		"and the cost of that?", "cost of this", "the energy of it", "how many of those were late?", "how much carbon was that", "what did that cost",
		"how much energy did it use", "how many of them were late", "what was its carbon", "late jobs of those", "the energy of it at oslo",
	} {
		if a := day().buildDataset().AnswerQuestion(q); a.Kind == "answer" || a.Query != nil {
			t.Errorf("%q is answered: read as %q", q, a.Read)
		}
	}
	for _, q := range []string{"how much is that in total: carbon", "when is it greenest at oslo", "jobs that missed their deadline", "carbon of the jobs that ran on that day", "oslo and its energy"} {
		if a := day().buildDataset().AnswerQuestion(q); slices.ContainsFunc(a.Text, func(s string) bool { return strings.Contains(s, "stand for") }) {
			t.Errorf("%q has no word that stands for another: %q", q, a.Text)
		}
	}
}

func TestAPointerStandsForTheSubjectOfTheQuestionBefore(t *testing.T) {
	for _, talk := range [][][2]string{
		{{"why did train-1 go to oslo", "why job train-1 at site oslo"}, {"and the cost of that?", "cost used of job train-1"}, {"how much carbon was that", "carbon used of job train-1"}},
		{{"explain D-2", "why D-2"}, {"the energy of it", "energy used of D-2"}},
		{{"carbon intensity at oslo", "carbon intensity at site oslo"}, {"the energy of that", "energy used at site oslo"}},
		{{"carbon at oslo on 2022-04-13", "carbon used at site oslo from 2022-04-13T00:00:00Z to 2022-04-14T00:00:00Z"},
			{"how much energy was that", "energy used at site oslo from 2022-04-13T00:00:00Z to 2022-04-14T00:00:00Z"}},
		{{"how many jobs of vision ran", "how many jobs ran of tenant vision"}, {"how many of those were late?", "late jobs of tenant vision"}},
		{{"top 3 jobs by carbon", "top 3 jobs by carbon"}, {"and the energy of those?", ""}}, // not the top by energy
		{{"carbon used", "carbon used"}, {"how many of those were late?", ""}},
	} {
		talks(t, talk)
	}
}

// "Would it stay" and "would it change" are one query, and get one answer: it must
// be true for both.
func TestAWhatIfAnswersNeitherYesNorNo(t *testing.T) {
	l := twoJobAuction().buildDataset()
	for _, q := range []string{
		"would train-1 change at a carbon price of 200", "would train-1 stay the same at 200 €/t carbon", "would train-1 still go to oslo with a carbon price of 200 €/t",
		"would train-1 change at a carbon price of 5000", "would train-1 remain the same at a carbon price of 5000",
	} {
		a := l.AnswerQuestion(q)
		if a.Kind != "answer" {
			t.Errorf("%q: %s %q", q, a.Kind, a.Text)
		}
		for _, s := range a.Text {
			if strings.HasPrefix(s, "Yes") || strings.HasPrefix(s, "No:") {
				t.Errorf("%q: %q", q, s)
			}
		}
	}
}

func TestFiguresAreInDollars(t *testing.T) {
	l := day().buildDataset()
	for q, want := range map[string]bool{"what did train-1 cost in euros": true, "what did train-1 cost in €": true, "what did train-1 cost": false, "carbon of train-1 in kg": false} {
		if a := l.AnswerQuestion(q); a.Kind != "answer" || strings.Contains(a.Read, "no exchange rate is known") != want {
			t.Errorf("%q: %s, read as %q", q, a.Kind, a.Read)
		}
	}
}

// What is offered instead never has the opposite sense.
func TestNoOppositeIsOffered(t *testing.T) {
	l := day().buildDataset()
	for _, q := range []string{"how many jobs did not miss their deadline on 2022-04-13?", "which jobs were not late", "carbon not at oslo", "would oslo have won train-1 with the residency rule kept"} {
		a := l.AnswerQuestion(q)
		if a.Kind == "answer" || slices.ContainsFunc(a.Readings, func(r string) bool {
			return strings.HasPrefix(r, "late jobs") || strings.HasPrefix(r, "carbon used at site oslo") || strings.Contains(r, "without the residency")
		}) {
			t.Errorf("%q: %s %q, offers %q", q, a.Kind, a.Read, a.Readings)
		}
	}
}

// A window of a what-if is played, or given back; figures of the whole run are
// never passed off as a part's.
func TestAWhatIfKeepsItsWindow(t *testing.T) {
	f := day()
	book := history.New(history.Config{})
	for _, m := range f.messages {
		book.AddMessage(m)
	}
	var last DayChange
	l := f.buildDataset()
	l.SetReplay(ReplaySetup{Policies: []string{"home-fifo"}, Replay: func(d DayChange) (DayReplay, error) {
		if last = d; d.Policy != "" {
			return DayReplay{}, errors.New("no such thing")
		}
		return DayReplay{history.Totals{CarbonKg: 100}, book}, nil
	}})
	a := l.AnswerQuestion("what if lyon had been down on 2022-04-13 from 12:10 to 12:30")
	if want := (DayChange{Down: "lyon", From: after(10 * time.Minute), To: after(30 * time.Minute), Carbon: -1}); a.Kind != "answer" || last != want {
		t.Errorf("%s %q, played %+v; want %+v", a.Kind, a.Text, last, want)
	}
	if text := strings.Join(a.Text, " "); !strings.Contains(text, "down from 13 Apr 12:10") || strings.Contains(text, "without lyon") {
		t.Errorf("%q; want the window in it", text)
	}
	last = DayChange{}
	for _, q := range []string{"what if the carbon price were 250 from 12:10 to 12:30", "compare policies home-fifo from 12:10 to 12:30"} {
		a := l.AnswerQuestion(q)
		if a.Kind != "ambiguous" || len(a.Figures) > 0 || a.Table != nil || len(a.Readings) != 1 || strings.Contains(a.Readings[0], "from") || last != (DayChange{}) {
			t.Errorf("%q: %s %q %q, played %+v; want the question about the whole run offered", q, a.Kind, a.Text, a.Readings, last)
		}
	}
	if a := l.AnswerQuestion("what if the carbon price were 250 from 12:00 to 12:40"); a.Kind != "answer" || !strings.Contains(a.Read, "every job was submitted in that time") {
		t.Errorf("a day with all jobs: %s %q %q", a.Kind, a.Read, a.Text)
	}
}

func TestOnlyBesideANameIsItsFilter(t *testing.T) {
	l := day().buildDataset()
	for q, want := range map[string]string{
		"energy by tenant, only at oslo": "energy used by tenant at site oslo", "late jobs, oslo only": "late jobs at site oslo", "carbon only of tenant vision": "carbon used of tenant vision",
		"did vision run only at oslo": "", "carbon not only at oslo": "", "only late jobs at oslo by carbon": "", "why is train-1 only at oslo": "",
	} {
		got, back := l.ParseQuestion(q)
		if back == nil && got.String() != want || back != nil && want != "" {
			t.Errorf("%q is read as %q (%+v); want %q", q, got.String(), back, want)
		}
	}
}
