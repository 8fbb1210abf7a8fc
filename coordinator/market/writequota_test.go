package market

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// For an hour a site sends as much as it can: changed registrations, or jobs of its queue that it
// cancels. The recorded bytes stay bounded, and other sites' messages are processed.
func TestWriteQuotaBoundsWhatASiteHasRecorded(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	for name, flood := range map[string]func(s *testMarket, i int) []protocol.Message{
		"greetings": func(s *testMarket, i int) []protocol.Message {
			return s.send("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: fmt.Sprint(i, long)}}})
		},
		"jobs": func(s *testMarket, i int) []protocol.Message {
			j := s.job()
			j.ID, j.Tenant, j.Arrival, j.Deadline = protocol.JobID(fmt.Sprint("oslo/", i)), "oslo/lab", s.now, s.now.Add(8*time.Hour)
			return s.send("queue/oslo", protocol.Submit{Job: j, Task: protocol.Task(long)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "oslo")
			written, answers := 0, 0
			for i := range 10_000 { // some 600 MB in ten seconds
				s.now = noon + protocol.Time(i)
				answers += min(1, len(flood(s, i)))
				for _, m := range s.market.Events() {
					b, err := protocol.Encode(m)
					if err != nil {
						t.Fatal(err)
					}
					written += len(b)
				}
				s.sent = s.sent[:0]
			}
			if most := quotaBurstBytes + 11*quotaBytesPerSecond; written > most || written < most/2 || answers == 10_000 {
				t.Errorf("%d bytes are written down, at most %d may be; %d of 10,000 are answered", written, most, answers)
			}
			if sent := s.send("agent/bern", protocol.RegisterSite{Site: "bern"}); count[protocol.Confirm](sent) != 1 {
				t.Errorf("another site gets no answer: %v", sent)
			}
			s.now = s.now.Add(time.Minute)
			if sent := flood(s, 10_000); len(sent) == 0 {
				t.Error("it gets no answer when it retransmits after a while")
			}
		})
	}
}

// The quota refills after the clock was set back, too.
func TestWriteQuotaRefillsAfterTheClockWasWrong(t *testing.T) {
	s := newTestMarket(t, "oslo")
	ahead := noon.Add(365 * 24 * time.Hour)
	for _, step := range []struct {
		at    protocol.Time
		bytes int
		want  bool
	}{{ahead, quotaBurstBytes, true}, {ahead, quotaBytesPerSecond, false}, {noon, quotaBytesPerSecond, false}, {noon.Add(time.Second), quotaBytesPerSecond, true}} {
		if got := s.market.takeWriteQuota(step.at, "oslo", step.bytes); got != step.want {
			t.Errorf("%d bytes at %v: %v", step.bytes, step.at, got)
		}
	}
}

// A queue resubmits a changed job for as long as it is changed. The event log must not grow by
// that.
func TestRejectedDuplicateIsNoEvent(t *testing.T) {
	s := newTestMarket(t, "oslo")
	j := s.job()
	j.ID, j.Tenant = "oslo/train", "oslo/lab"
	s.send("queue/oslo", protocol.Submit{Job: j})
	j.GPUs = 2
	if sent := s.send("queue/oslo", protocol.Submit{Job: j}); count[protocol.Reject](sent) != 1 || len(s.market.Events()) != 0 {
		t.Errorf("sent %v; events %v", sent, s.market.Events())
	}
}
