package query

import (
	"slices"
	"testing"
)

func TestAQuestionMayLeanOnTheOneBefore(t *testing.T) {
	for _, talk := range [][][2]string{
		{{"why did train-1 go to oslo", "why job train-1 at site oslo"}, {"why not lyon?", "why not site lyon for job train-1"},
			{"and bern?", "why not site bern for job train-1"}, {"how long did it wait?", "how long did job train-1 wait"}, {"and train-2?", "how long did job train-2 wait"},
			{"what did that job cost", "cost used of job train-2"}},
		{{"carbon by site", "carbon used by site"}, {"and energy?", "energy used by site"}, {"what about by tenant", "energy used by tenant"},
			{"and on 2022-04-13", "energy used by tenant from 2022-04-13T00:00:00Z to 2022-04-14T00:00:00Z"}},
		{{"greenest site at 12:30", "greenest site at 2022-04-13T12:30:00Z"}, {"and at 13:30?", "greenest site at 2022-04-13T13:30:00Z"}},
		{{"carbon intensity at oslo", "carbon intensity at site oslo"}, {"what about lyon", "carbon intensity at site lyon"}},
		{{"free gpus at 13:00", "free gpus at 2022-04-13T13:00:00Z"}, {"at 14:00?", "free gpus at 2022-04-13T14:00:00Z"}, {"lyon?", "free gpus at site lyon at 2022-04-13T14:00:00Z"}},
		{{"late jobs", "late jobs"}, {"of vision?", "late jobs of tenant vision"}, {"of the moon?", ""}},
		{{"why not lyon?", ""}},                          // nothing was spoken of
		{{"late jobs", "late jobs"}, {"and trees?", ""}}, // no part of the question before
		{{"free gpus at 13:00", "free gpus at 2022-04-13T13:00:00Z"}, {"and at lyon now?", "free gpus at site lyon"}},
		{{"free gpus at oslo", "free gpus at site oslo"}, {"and carbon at lyon?", ""}},
		{{"carbon on 2022-04-13", "carbon used from 2022-04-13T00:00:00Z to 2022-04-14T00:00:00Z"}, {"and on 11 april and 13 april", ""}, {"carbon on 11 april and 13 april", ""}},
		{{"at a carbon price of 200 would train-1 change", "at a carbon price of 200 would job train-1 change"}, {"and at 1,000?", "at a carbon price of 1000 would job train-1 change"}},
		{{"explain D-2", "why D-2"}, {"who bid on it", "list the bids for D-2"}},
	} {
		talks(t, talk)
	}
}

// talks asks one question after the other and holds how each is read; "" is one
// that is not read.
func talks(t *testing.T, talk [][2]string) {
	t.Helper()
	s := day().buildDataset().NewSession()
	for _, turn := range talk {
		a := s.AnswerQuestion(turn[0])
		read := ""
		if a.Query != nil {
			read = a.Query.String()
		}
		if read != turn[1] {
			t.Errorf("%q is read as %q (%s %q); want %q", turn[0], read, a.Kind, a.Text, turn[1])
		}
	}
}

func TestYesterdayIsTheDayBefore(t *testing.T) {
	s := day().buildDataset().NewSession()
	s.AnswerQuestion("carbon on 2022-04-13")
	if a := s.AnswerQuestion("and yesterday?"); a.Kind != "not-found" {
		t.Errorf("yesterday is not in the record, but is answered: %s %q", a.Kind, a.Text)
	}
}

func TestANumberChoosesAReading(t *testing.T) {
	s := day().buildDataset().NewSession()
	a := s.AnswerQuestion("why waiting")
	if a.Kind != "ambiguous" || len(a.Readings) < 2 {
		t.Fatalf("%s %q %q; want readings", a.Kind, a.Text, a.Readings)
	}
	want := a.Readings[1]
	if b := s.AnswerQuestion("2"); b.Query == nil || b.Query.String() != want {
		t.Errorf("2 is read as %+v; want %q", b.Query, want)
	}
	if b := s.AnswerQuestion("2"); b.Kind == "answer" {
		t.Error("a number chose among readings that are no longer offered")
	}
	a = s.AnswerQuestion("what if the carbon price were 250 from 12:10 to 12:30") // given back by who answers, not by who reads
	if b := s.AnswerQuestion("1"); len(a.Readings) != 1 || b.Query == nil || b.Query.String() != a.Readings[0] {
		t.Errorf("of %q, 1 is read as %+v", a.Readings, b.Query)
	}
}

// What a session answers can be asked again alone.
func TestASessionsReadingStandsAlone(t *testing.T) {
	l := day().buildDataset()
	s := l.NewSession()
	for _, q := range []string{"why train-1", "why not lyon", "and bern?", "carbon by site", "and cost?", "and of vision?"} {
		a := s.AnswerQuestion(q)
		if a.Query == nil {
			continue
		}
		if b := l.AnswerQuestion(a.Query.String()); !slices.Equal(a.Text, b.Text) {
			t.Errorf("%q: in the session %q; alone %q", q, a.Text, b.Text)
		}
	}
}
