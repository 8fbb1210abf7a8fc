package market

import (
	"fmt"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// crowd is a market of n sites, all of which are asked for each of so many jobs that wait.
func crowd(t *testing.T, n, jobs int) *testMarket {
	s := newTestMarket(t)
	s.market = New(Config{MostSites: n}, s.rule)
	for i := range n {
		name := fmt.Sprint("site-", i)
		s.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name})
	}
	for i := range jobs {
		j := s.job()
		j.ID, j.Regions = protocol.JobID(fmt.Sprintf("job-%03d", i)), nil
		s.send(protocol.Submitter, protocol.Submit{Job: j})
	}
	return s
}

// called waits for the next call and returns how many jobs it has.
func (s *testMarket) called() int {
	s.Helper()
	for s.market.round == nil {
		s.wait()
	}
	return len(lastSent[protocol.CallForBids](s).Jobs)
}

// After a call that most sites answer too late, the next one asks for half as many bids, and comes
// when the answers have come. Once all answer in time, calls grow to what they were.
func TestACallThatIsTooLargeIsFollowedByHalfOfItOnceItsAnswersCame(t *testing.T) {
	const sites = 200
	s := crowd(t, sites, 1500)
	if n := s.called(); n != 500 { // 100,000 bids
		t.Fatalf("%d jobs are called", n)
	}
	s.wait() // closes without an answer
	if due := s.market.Due(); due != s.now.Add(maxRest*2*time.Second) {
		t.Fatalf("the next round is due at %v, %v after the last; its answers are on their way", due, due.Sub(s.now))
	}
	for i := range sites - sites/10 {
		if s.market.Due() <= s.now {
			t.Fatalf("a round is due after %d late answers", i)
		}
		s.offer(fmt.Sprint("site-", i))
	}
	if due := s.market.Due(); due > s.now {
		t.Fatalf("the answers have come, and the next round is due in %v", due.Sub(s.now))
	}
	for _, want := range []int{250, 500} {
		if n := s.called(); n != want {
			t.Errorf("%d jobs are called; want %d", n, want)
		}
		for i := range sites {
			s.offer(fmt.Sprint("site-", i))
		}
	}
	if s.market.congestion.limit != 0 {
		t.Errorf("calls are bounded on: %+v", s.market.congestion)
	}
}

// If the answers never come, the market goes on after a while; and a few jobs are never too many.
func TestRestsEndAndSmallCallsHaveNone(t *testing.T) {
	s := crowd(t, 200, 900)
	s.called()
	s.wait()
	closed := s.now
	if s.called(); s.now != closed.Add(maxRest*2*time.Second) {
		t.Errorf("the next round opens %v after the first", s.now.Sub(closed))
	}
	s = crowd(t, 10, 90)
	s.called()
	if s.wait(); s.market.congestion != (congestion{}) {
		t.Errorf("%+v", s.market.congestion)
	}
}
