package market

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A site may say the most that it can for an hour: what it is, anew each time, or jobs of
// its queue that it cancels. That fills no disk; what other sites say is heard.
func TestWhatASiteHasWrittenDownIsBounded(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	for name, flood := range map[string]func(s *stage, i int) []protocol.Message{
		"greetings": func(s *stage, i int) []protocol.Message {
			return s.tell("agent/oslo", protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: fmt.Sprint(i, long)}}})
		},
		"jobs": func(s *stage, i int) []protocol.Message {
			j := s.job()
			j.ID, j.Tenant, j.Arrival, j.Deadline = protocol.JobID(fmt.Sprint("oslo/", i)), "oslo/lab", s.now, s.now.Add(8*time.Hour)
			return s.tell("queue/oslo", protocol.Submit{Job: j, Task: protocol.Task(long)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "oslo")
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
				s.said = s.said[:0]
			}
			if most := quotaBurstBytes + 11*quotaBytesPerSecond; written > most || written < most/2 || answers == 10_000 {
				t.Errorf("%d bytes are written down, at most %d may be; %d of 10,000 are answered", written, most, answers)
			}
			if said := s.tell("agent/bern", protocol.RegisterSite{Site: "bern"}); count[protocol.Confirm](said) != 1 {
				t.Errorf("another site is not heard: %v", said)
			}
			s.now = s.now.Add(time.Minute)
			if said := flood(s, 10_000); len(said) == 0 {
				t.Error("it is not heard when it says that again after a while")
			}
		})
	}
}

// What a site may say comes back by a clock that was set back, too.
func TestWhatASiteMaySayComesBackByAClockThatWasWrong(t *testing.T) {
	s := newStage(t, "oslo")
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

// A queue that asks of a job that was changed asks for as long as that stands. The books
// do not grow by that.
func TestARefusedDuplicateIsNoFact(t *testing.T) {
	s := newStage(t, "oslo")
	j := s.job()
	j.ID, j.Tenant = "oslo/train", "oslo/lab"
	s.tell("queue/oslo", protocol.Submit{Job: j})
	j.GPUs = 2
	if said := s.tell("queue/oslo", protocol.Submit{Job: j}); count[protocol.Reject](said) != 1 || len(s.market.Events()) != 0 {
		t.Errorf("said %v; facts %v", said, s.market.Events())
	}
}
