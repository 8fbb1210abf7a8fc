package query

import "testing"

// What is asked of all jobs does not lean on the one that was last spoken of.
func TestWhatIsAskedOfAllIsNotAnsweredOfOne(t *testing.T) {
	l := day().buildDataset()
	for _, q := range []string{"which jobs were postponed", "how much co2 did we save"} {
		s := l.NewSession()
		if a := s.AnswerQuestion("why train-1"); a.Kind != "answer" {
			t.Fatalf("%q", a.Text)
		}
		if a := s.AnswerQuestion(q); a.Query != nil && a.Query.Job != "" {
			t.Errorf("%q is read as %q", q, a.Read)
		}
	}
	s := l.NewSession()
	s.AnswerQuestion("why train-1")
	if a := s.AnswerQuestion("why did we not use lyon"); a.Query == nil || a.Query.Job != "train-1" {
		t.Errorf("read as %q: %q", a.Read, a.Text)
	}
}
