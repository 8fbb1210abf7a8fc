package query

import "testing"

// What is asked of all jobs does not lean on the one that was last spoken of.
func TestWhatIsAskedOfAllIsNotAnsweredOfOne(t *testing.T) {
	l := day().log()
	for _, q := range []string{"which jobs were postponed", "how much co2 did we save"} {
		s := l.Talk()
		if a := s.Ask("why train-1"); a.Kind != "answer" {
			t.Fatalf("%q", a.Text)
		}
		if a := s.Ask(q); a.Query != nil && a.Query.Job != "" {
			t.Errorf("%q is read as %q", q, a.Read)
		}
	}
	s := l.Talk()
	s.Ask("why train-1")
	if a := s.Ask("why did we not use lyon"); a.Query == nil || a.Query.Job != "train-1" {
		t.Errorf("read as %q: %q", a.Read, a.Text)
	}
}
