package faults

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A row is one line of the table in docs/live.md: what happens when a site is
// cut off at one moment of its first job's way.
type row struct {
	name string // as in the docs
	// at reports whether m is the message at which the site is disconnected and which
	// is lost.
	at   func(m protocol.Message) bool
	who  string         // is cut off or killed: "" is the site that won the first job
	how  func(*simHost) // nil: cut off
	wait time.Duration  // until it is joined again, or started
	// ran is where the first job ran in the end.
	elsewhere bool
	anywhere  bool          // it is called again, and goes to who is cheapest then
	awards    int           // of the first job, at the least
	gone      time.Duration // after which an operator says that it will not come back; 0: nobody does
}

func isA[B protocol.Body](m protocol.Message) bool { _, ok := m.Body.(B); return ok }

func says(code protocol.Code) func(protocol.Message) bool {
	return func(m protocol.Message) bool {
		c, ok := m.Body.(protocol.Confirm)
		return ok && c.Code == code && c.Job == "job-1"
	}
}

func kill(h *simHost) { h.crashProcess("killed") }

// bury has a site's machines off for good.
func bury(h *simHost) {
	h.crashProcess("off")
	h.neverRestarts = true
}

var rows = []row{
	{name: "before it offers", at: isA[protocol.CallForBids], elsewhere: true, wait: 40 * time.Second, awards: 1},
	{name: "its award is lost", at: isA[protocol.Award], elsewhere: true, wait: 40 * time.Second, awards: 2},
	{name: "its accept is lost", at: isA[protocol.Accept], elsewhere: true, wait: 40 * time.Second, awards: 2},
	{name: "the confirmation is lost, and it returns before the lease ends", at: says(protocol.AcceptConfirmed), wait: 5 * time.Second, awards: 1},
	{name: "the confirmation is lost, and it returns later", at: says(protocol.AcceptConfirmed), anywhere: true, wait: 60 * time.Second, awards: 2},
	{name: "while the job runs", at: isA[protocol.Started], wait: 90 * time.Second, awards: 1},
	{name: "the report of its end is lost", at: isA[protocol.UsageReport], wait: 40 * time.Second, awards: 1},
	{name: "the settlement is lost", at: isA[protocol.Settlement], wait: 40 * time.Second, awards: 1},
	{name: "it is said to be gone before it launches, and returns", at: says(protocol.AcceptConfirmed), gone: 20 * time.Second, elsewhere: true, wait: 90 * time.Second, awards: 2},
	{name: "it is said to be gone while the job runs, and is", at: isA[protocol.Started], gone: time.Second, how: bury, elsewhere: true, awards: 2},
	{name: "it is said to be gone while the job runs, and returns", at: isA[protocol.Started], gone: time.Second, elsewhere: true, wait: 1500 * time.Millisecond, awards: 2},
	{name: "its agent is killed before it launches", at: says(protocol.AcceptConfirmed), how: kill, awards: 1},
	{name: "its agent is killed while the job runs", at: isA[protocol.Started], how: kill, awards: 1},
	{name: "the coordinator is killed before it awards", who: "coordinator-a", at: isA[protocol.CallForBids], how: kill, awards: 1},
	{name: "the coordinator is killed before it confirms", who: "coordinator-a", at: isA[protocol.Accept], how: kill, awards: 1},
	{name: "the coordinator is killed while the job runs", who: "coordinator-a", at: isA[protocol.Started], how: kill, awards: 1},
	{name: "the coordinator is killed before it settles", who: "coordinator-a", at: isA[protocol.UsageReport], how: kill, awards: 1},
}

func TestEachRowOfThePartitionTable(t *testing.T) {
	for _, r := range rows {
		t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) {
			p, err := newFaultRun(7, FaultPlan{Sites: 2, Jobs: 1, MaxDelay: time.Millisecond, FaultPeriod: time.Second}, true)
			if err != nil {
				t.Fatal(err)
			}
			awards, victim, harmed := 0, "", protocol.Time(0)
			p.beforeSend = func(from *simHost, m protocol.Message) bool {
				if isA[protocol.Award](m) {
					if awards++; victim == "" {
						victim = m.To.SiteName()
					}
				}
				if harmed != 0 || !r.at(m) {
					return false
				}
				if victim == "" {
					victim = "site-a" // nobody has won yet
				}
				harmed = p.now
				for _, h := range p.hosts {
					mine := h.party == protocol.AgentParty(victim)
					if r.who == "" && !mine || r.who != "" && h.name != r.who {
						continue
					}
					if r.gone > 0 {
						p.scheduleAfter(r.gone, func() { p.decommissionSite(victim) })
					}
					if r.how != nil {
						r.how(h)
						continue
					}
					h.partitioned = true
					p.scheduleAfter(r.wait, func() { h.partitioned = false })
				}
				return !isA[protocol.CallForBids](m) && r.how == nil
			}
			wrong := p.runToEnd()
			if wrong != nil {
				t.Fatal(wrong)
			}
			f := p.oracle.jobs["job-1"]
			if r.gone > 0 { // what runs where it was said to be gone is over, and counts for nothing
				p.oracle.checkClusters()
				if n := len(p.oracle.clusters[victim].simulator.RunningLaunches()); n > 0 && r.how == nil {
					t.Errorf("%d jobs run on at %s, which is back", n, victim)
				}
				f.sitesRunAt = f.sitesRunAt[max(len(f.sitesRunAt)-1, 0):]
			}
			if harmed == 0 || len(f.sitesRunAt) != 1 || f.outcome != "settled" {
				t.Fatalf("harmed %s, ran at %v, %s", sinceStart(harmed), f.sitesRunAt, f.outcome)
			}
			if away := f.sitesRunAt[0] != victim; away != r.elsewhere && !r.anywhere && r.who == "" {
				t.Errorf("%s was harmed, and it ran at %s", victim, f.sitesRunAt[0])
			}
			if awards < r.awards {
				t.Errorf("%d awards, want %d at least", awards, r.awards)
			}
		})
	}
}

// Every row is in the docs, by its name, and every row of the docs is tested.
func TestTheDocsHaveEachRow(t *testing.T) {
	text, err := os.ReadFile("../../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "<!-- rows -->\n")
	table, _, ok2 := strings.Cut(table, "<!-- /rows -->")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if !ok || !ok2 || len(lines) != len(rows)+2 {
		t.Fatalf("docs/live.md has a table of %d lines; there are %d rows", len(lines)-2, len(rows))
	}
	for i, r := range rows {
		if cell := strings.TrimSpace(strings.Split(lines[i+2], "|")[1]); cell != r.name {
			t.Errorf("row %d of docs/live.md is %q; the test's is %q", i+1, cell, r.name)
		}
	}
}
