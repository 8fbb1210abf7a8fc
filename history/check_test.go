package history

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func TestACorrectRunHasNoProblem(t *testing.T) {
	for _, p := range twoRounds().book(Config{}).CheckInvariants(nodes) {
		t.Error(p)
	}
}

// Each case breaks one promise in a correct run: it changes, drops or repeats
// what is said.
func TestABrokenPromiseIsFound(t *testing.T) {
	drop := func(protocol.Body) []protocol.Body { return nil }
	for _, tc := range []struct {
		name, kind string
		change     func(protocol.Body) []protocol.Body
		want       string
	}{
		{"a job runs that was not submitted", "submit", drop, "called-unknown-job"},
		{"a job is awarded twice", "award", func(b protocol.Body) []protocol.Body {
			again := b.(protocol.Award)
			again.Epoch++
			return []protocol.Body{b, again}
		}, "awarded-twice"},
		{"a job is refused and runs", "award", func(b protocol.Body) []protocol.Body {
			return []protocol.Body{protocol.Reject{Job: "a", Why: protocol.Reason{Code: protocol.NoBids}}, b}
		}, "awarded-twice"},
		{"a running job is refused", "settled", func(b protocol.Body) []protocol.Body {
			return []protocol.Body{b, protocol.Reject{Job: "a", Why: protocol.Reason{Code: protocol.NoBids}}}
		}, "refused-and-placed"},
		{"a job runs without an award", "award", drop, "launched-without-award"},
		{"a job runs before it was accepted", "accept", drop, "launched-without-accept"},
		{"a job is launched twice", "launch", func(b protocol.Body) []protocol.Body {
			again := b.(protocol.Launch)
			again.Epoch++
			return []protocol.Body{b, again}
		}, "launched-twice"},
		{"a job ends twice", "done", func(b protocol.Body) []protocol.Body { return []protocol.Body{b, b} }, "done-twice"},
		{"a job exits twice", "exited", func(b protocol.Body) []protocol.Body { return []protocol.Body{b, b} }, "exited-twice"},
		{"a job is lost that had ended", "exited", func(b protocol.Body) []protocol.Body {
			x := b.(protocol.Finished)
			return []protocol.Body{b, protocol.Interrupted{Job: x.Job, Epoch: x.Epoch}}
		}, "lost-after-exit"},
		{"a job is settled twice", "settled", func(b protocol.Body) []protocol.Body { return []protocol.Body{b, b} }, "settled-twice"},
		{"a job is settled that did not end", "done", drop, "settled-before-end"},
		{"an exit is made up", "launch", drop, "exited-without-launch"},
		{"the agent reports less energy than its runtime measured", "done", func(b protocol.Body) []protocol.Body {
			d := b.(protocol.UsageReport)
			d.IT--
			return []protocol.Body{d}
		}, "energy-of-job"},
		{"a site's meter misses a millijoule", "meter", func(b protocol.Body) []protocol.Body {
			m := b.(protocol.SiteUsage)
			m.Total--
			return []protocol.Body{m}
		}, "meter"},
		{"a site's hour is not reported", "meter", drop, "meter"},
		{"a bill changes between measurement and settlement", "settled", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Settlement)
			s.Counted.Money++
			return []protocol.Body{s}
		}, "settled-other-bill"},
		{"a measurement is settled as an estimate", "settled", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Settlement)
			s.Estimated = true
			return []protocol.Body{s}
		}, "settled-other-mark"},
		{"a bid changes between award and settlement", "settled", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Settlement)
			s.BidFor.Carbon++
			return []protocol.Body{s}
		}, "settled-other-bid"},
		{"a late job is settled as on time", "settled", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Settlement)
			s.Late = true
			return []protocol.Body{s}
		}, "settled-lateness"},
		{"another tenant pays", "settled", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Settlement)
			s.Payer = "other"
			return []protocol.Body{s}
		}, "settled-elsewhere"},
		{"a job runs where its data may not be", "submit", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Submit)
			s.Job.Regions = []string{"lyon"}
			return []protocol.Body{s}
		}, "region"},
		{"a job runs on a model that it cannot use", "submit", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Submit)
			s.Job.Models = []string{"A100"}
			return []protocol.Body{s}
		}, "model"},
		{"a job starts before it arrives", "submit", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Submit)
			s.Job.Arrival = at(2 * time.Hour)
			return []protocol.Body{s}
		}, "before-arrival"},
		{"a launch names a device that the node lacks", "launch", func(b protocol.Body) []protocol.Body {
			l := b.(protocol.Launch)
			l.Devices = []int{2}
			return []protocol.Body{l}
		}, "devices"},
		{"a launch gives too few devices", "launch", func(b protocol.Body) []protocol.Body {
			l := b.(protocol.Launch)
			l.Devices = nil
			return []protocol.Body{l}
		}, "devices"},
		{"a launch names a node that the site lacks", "launch", func(b protocol.Body) []protocol.Body {
			l := b.(protocol.Launch)
			l.Node = "n9"
			return []protocol.Body{l}
		}, "no-such-node"},
		{"a job takes more cores than a node has", "submit", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Submit)
			s.Job.CPU = 32_001
			return []protocol.Body{s}
		}, "cpu-given-twice"},
		{"a job takes more memory than a node has", "submit", func(b protocol.Body) []protocol.Body {
			s := b.(protocol.Submit)
			s.Job.Memory = 65_537
			return []protocol.Body{s}
		}, "memory-given-twice"},
		{"more duplicates are refused than were submitted", "settled", func(b protocol.Body) []protocol.Body {
			return []protocol.Body{b, protocol.Reject{Job: "a", Why: protocol.Reason{Code: protocol.Duplicate}}}
		}, "duplicates"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := codes(changed(twoRounds(), tc.kind, tc.change).book(Config{}).CheckInvariants(nodes)); !slices.Contains(got, tc.want) {
				t.Errorf("problems are %q; want %q among them", got, tc.want)
			}
		})
	}
}

// changed says a run again, with every body of one kind replaced.
func changed(s *stage, kind string, change func(protocol.Body) []protocol.Body) *stage {
	again := &stage{}
	for _, m := range s.said {
		again.now = m.At
		bodies := []protocol.Body{m.Body}
		if m.KindName() == kind {
			bodies = change(m.Body)
		}
		for _, b := range bodies {
			again.say(m.From, m.To, b)
		}
	}
	return again
}

func codes(problems []Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Code)
	}
	return all
}

func TestADeviceGivenTwiceIsFound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		share protocol.Milli
		gap   time.Duration // between the first job's start and the second's
		want  string
	}{
		{"two whole jobs at once", 1000, time.Minute, "[gpu-given-twice]"},
		{"two halves at once are right", 500, time.Minute, "[]"},
		{"two jobs of 501 thousandths are one too many", 501, time.Minute, "[gpu-given-twice]"},
		{"one after the other is right, even at the same instant", 1000, time.Hour, "[]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := New(Config{})
			for i, id := range []protocol.JobID{"a", "b"} {
				s := &stage{now: noon, epoch: uint64(i)}
				j := job(id)
				j.Share = tc.share
				s.submit(j)
				s.now = at(time.Duration(i) * tc.gap)
				epoch := s.award("oslo", 1, j, option(0, 1, 1))
				s.run("oslo", "n1", []int{1}, j, epoch, option(0, 1, 1), time.Hour)
				for _, m := range s.said {
					m.Seq += uint64(i) * 100
					b.AddMessage(m)
				}
			}
			b.sites["oslo"].hours = nil // meters are not what this is about
			if got := fmt.Sprint(codes(b.CheckInvariants(nil))); got != tc.want {
				t.Errorf("problems are %v; want %v", got, tc.want)
			}
		})
	}
}

func TestCheckMayBeAskedTwice(t *testing.T) {
	b := changed(twoRounds(), "award", func(protocol.Body) []protocol.Body { return nil }).book(Config{})
	first, second := codes(b.CheckInvariants(nodes)), codes(b.CheckInvariants(nodes))
	if !slices.Equal(first, second) {
		t.Errorf("Check() = %q, then %q", first, second)
	}
}
