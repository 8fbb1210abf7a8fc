package jobstatus

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// What was bid is not shown as measured, and what is not known is not a word in place of a value.
func TestWhatIsNotMeasuredIsNotShownAsMeasured(t *testing.T) {
	for n, want := range map[int][2]bool{2: {false, false}, 5: {true, false}, 6: {true, false}, 8: {true, true}} {
		j, _ := told(way()[:n]...).JobByID("a", noon.Add(time.Minute))
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if (j.Bid != nil) != want[0] || (j.Measured != nil) != want[1] || strings.Contains(string(text), "never") {
			t.Errorf("after %d messages: %s; want a bid: %v, measured: %v", n, text, want[0], want[1])
		}
		for key, there := range map[string]bool{`"bid":null`: !want[0], `"measured":null`: !want[1]} {
			if strings.Contains(string(text), key) != there {
				t.Errorf("after %d messages: %s; want %s: %v", n, text, key, there)
			}
		}
	}
}

// A share of a GPU is no whole one, and a job of processors alone has none.
func TestWhatAJobAsksForIsNotRounded(t *testing.T) {
	for _, c := range []struct {
		job  protocol.Job
		gpus float64
	}{
		{protocol.Job{ID: "a", GPUs: 1, Share: 320}, 0.32}, {protocol.Job{ID: "a", GPUs: 4, Share: 1000}, 4}, {protocol.Job{ID: "a", CPU: 2500}, 0},
	} {
		j, _ := told(say("submitter", protocol.Coordinator, protocol.Submit{Job: c.job})).JobByID("a", noon)
		if j.GPUs != c.gpus || j.CPU != float64(c.job.CPU)/1000 {
			t.Errorf("%+v asks for %v GPUs and %v cores", c.job, j.GPUs, j.CPU)
		}
	}
}

// A planned job says where, when, and after whom; a job that was asked for says what happened to it.
func TestAPlannedJobSaysWhoIsBeforeIt(t *testing.T) {
	var all []func(protocol.Time) protocol.Message
	for _, id := range []protocol.JobID{"a", "b", "c", "d", "e", "f", "g"} {
		all = append(all, say("submitter", protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: id}}))
	}
	for i, id := range []protocol.JobID{"a", "b", "c", "d", "e", "f", "g"} {
		all = append(all, say(protocol.Coordinator, "submitter", protocol.Defer{Round: 1, Job: id, Site: "oslo", Start: noon.Add(time.Duration(i+1) * time.Hour), Until: noon.Add(time.Hour), Why: protocol.Reason{Code: protocol.CheaperLater}}))
	}
	b := told(all...)
	j, _ := b.DescribeJob("g", noon.Add(time.Minute))
	if q := j.Queue; j.State != history.Planned || j.Awarded || j.Site != "oslo" || j.Start != noon.Add(7*time.Hour) || q == nil || q.Place != 7 || q.Of != 7 || len(q.Before) != 5 || q.Before[0] != "f" || q.Before[4] != "b" {
		t.Errorf("planned as the seventh: %+v, %+v", j, q)
	}
	if len(j.Events) != 2 || j.Events[1].Reason != history.EventHeld || j.Events[1].Record().Start != j.Start {
		t.Errorf("its events: %+v", j.Events)
	}
	for _, x := range b.AllJobs(noon.Add(time.Minute)) {
		if len(x.Events) > 0 || x.Queue == nil {
			t.Errorf("in the list: %+v", x)
		}
	}
}

// The list of jobs and that of sites count alike.
func TestListsCountAlike(t *testing.T) {
	for n := range len(way()) {
		b := told(way()[:n]...)
		now := noon.Add(time.Minute)
		counts := make(map[history.State]int)
		for _, j := range b.AllJobs(now) {
			counts[j.State]++
		}
		all, _ := b.liveHistory().CountJobsAt(now)
		for _, s := range history.AllStates() {
			if want := all[s]; counts[s] != want {
				t.Errorf("after %d messages the list has %d jobs %s; counted are %d", n, counts[s], s, want)
			}
		}
	}
}
