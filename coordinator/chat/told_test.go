package chat

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/phrase"
	"github.com/gridbid/gridbid/protocol"
)

// Who asks for payments is shown them, and no idle draw is in them.
func TestPaymentsAreShown(t *testing.T) {
	l := day().log()
	for q, who := range map[string]string{"payments by tenant": "tenant/vision", "payments by site": "site/oslo"} {
		a := l.Ask(q)
		i := slices.Index(a.Table.Head, "paid $")
		if i < 0 {
			t.Fatalf("%s: the columns are %q", q, a.Table.Head)
		}
		paid := phrase.Dollars(protocol.Microdollars(figure(t, a, who, "paid")))
		if !slices.ContainsFunc(a.Table.Rows, func(row []string) bool { return row[0] == who[strings.Index(who, "/")+1:] && row[i] == paid }) {
			t.Errorf("%s: %q; want %s of %s", q, a.Table.Rows, paid, who)
		}
		if text := strings.Join(a.Text, " "); strings.Contains(text, "idle") || !strings.Contains(text, "was paid to sites for jobs") {
			t.Errorf("%s: %q; idle draw is in no payment", q, a.Text)
		}
	}
}

// A job that was paused, or given up by its site, was there all the same; one that was
// accepted has not run there yet.
func TestWhereAJobWasBeforeIsNotDenied(t *testing.T) {
	l := paused().log()
	holds(t, l, "why did resumes run at lyon", "was awarded to lyon in round 2", "did not")
	holds(t, l, "why did halved run at lyon", "It did not", "")
	s, j := unanswered()
	s.say(protocol.Agent("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now})
	holds(t, s.log(), "why did train-1 run at lyon", "It did not: job train-1 is at oslo, which accepted it", "ran at oslo")
	s.now = s.now.Add(time.Minute)
	s.say(protocol.Agent("oslo"), protocol.Coordinator, protocol.Decline{Job: "train-1", Epoch: s.epoch, Why: protocol.Reason{Code: protocol.Evicted}})
	s.call(2, j)
	s.offer("lyon", 2, "train-1", "", option(0, 2, 50))
	s.award("lyon", 2, j, option(0, 2, 50), "l1", []int{0, 1}, time.Hour)
	holds(t, s.log(), "why did train-1 run at oslo", "oslo declined: it was evicted", "did not")
}

// What a site accepted has not run there by that, and a part that was paused has.
func TestWhatIsToRunIsNotCountedAsRun(t *testing.T) {
	s, _ := unanswered()
	s.say(protocol.Agent("oslo"), protocol.Coordinator, protocol.Accept{Job: "train-1", Epoch: s.epoch, Start: s.now.Add(8 * time.Hour)})
	holds(t, s.log(), "how many jobs ran at oslo", "1 job is at oslo or was: 1 awarded", "ran at")
	l := paused().log()
	holds(t, l, "how many jobs ran at lyon", "1 job ran at lyon: 1 ended", "")
	holds(t, l, "how many jobs ran at oslo", "2 jobs ran at oslo: 1 ended and 1 waiting", "")
	holds(t, s.log(), "what is ahead of train-1", "0 jobs held GPUs at oslo at 13 Apr 11:59:59", "20:00")
}
