package market

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Messages of a site with a wrong clock are counted. Its options are moved to the market's clock,
// and it cannot bill the future.
func TestClockSkewIsCountedAndHarmless(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newTestMarket(t, "oslo")
			s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
			s.wait()
			o := s.option(0, time.Hour)
			o.Start, o.Finish = o.Start.Add(ahead), o.Finish.Add(ahead)
			m := s.message("agent/oslo", protocol.Bids{Round: 1, Jobs: []protocol.JobBids{bidsOf("train", o)}, Capacity: []protocol.CapacityProfile{freeCapacity(s.now)}})
			m.At = m.At.Add(ahead)
			s.record(s.market.Step(s.now, m))
			if n := s.market.RefusalCounts()["clock-apart"]; n != 1 {
				t.Errorf("counted %d times", n)
			}
			a := lastSent[protocol.Award](s)
			if a.Option.Start != s.now {
				t.Errorf("by the market's clock the job starts at %v, not %v", a.Option.Start, s.now)
			}
			s.send("agent/oslo", protocol.Accept{Job: "train", Epoch: a.Epoch})
			d := s.done(a)
			s.send("agent/oslo", d)
			if count[protocol.Settlement](s.sent) != 0 {
				t.Error("a run that has yet to end was settled")
			}
			s.now = d.Ended
			s.send("agent/oslo", d)
			if count[protocol.Settlement](s.sent) != 1 {
				t.Error("the site's word does not count when its time has come")
			}
		})
	}
}

// Whatever the market counts is explained to people, in docs/federation.md.
func TestEveryRefusalIsExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "federation.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{string(protocol.ImpossibleBid): true, string(protocol.Forbidden): true, "judge-": true}
	counted := regexp.MustCompile(`counts\["([a-z-]+)"`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range counted.FindAllStringSubmatch(string(text), -1) {
			codes[m[1]] = true
		}
	}
	if len(codes) < 20 {
		t.Fatalf("found %d codes", len(codes))
	}
	for code := range codes {
		if !strings.Contains(string(page), "`"+code) {
			t.Errorf("docs/federation.md does not say what %s means", code)
		}
	}
}
