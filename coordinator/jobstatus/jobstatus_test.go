package jobstatus

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000

// told returns a board after what was said, one second after the other.
func told(said ...func(at protocol.Time) protocol.Message) *View {
	b := new(View)
	for i, s := range said {
		b.AddMessage(s(noon.Add(time.Duration(i) * time.Second)))
	}
	return b
}

var seq uint64

func say(from, to protocol.Party, body protocol.Body) func(protocol.Time) protocol.Message {
	return func(at protocol.Time) protocol.Message {
		seq++
		return protocol.Message{Version: protocol.Current, At: at, From: from, Seq: seq, To: to, Body: body}
	}
}

const oslo = protocol.Party("agent/oslo")

func way() []func(protocol.Time) protocol.Message {
	o := protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Energy: 3_600_000_000}
	return []func(protocol.Time) protocol.Message{
		say(oslo, protocol.Coordinator, protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", GPUs: 4}}}),
		say("submitter", protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: "a", GPUs: 1, Arrival: noon, Run: time.Hour}}),
		say(protocol.Coordinator, "", protocol.CallForBids{Round: 1, Jobs: []protocol.Job{{ID: "a"}}}),
		say(oslo, protocol.Coordinator, protocol.Bids{Round: 1, Capacity: []protocol.CapacityProfile{{From: noon, Slot: time.Hour, Free: []protocol.Milli{2500}}},
			Grid: protocol.GridForecast{From: noon.Floor(time.Hour), Price: []protocol.Microdollars{55_000}, Carbon: []protocol.Milligrams{28_000}, PUE: []protocol.Milli{1200}}}),
		say(protocol.Coordinator, oslo, protocol.Award{Round: 1, Job: "a", Epoch: 1, Option: o}),
		say(oslo, protocol.Coordinator, protocol.Accept{Job: "a", Epoch: 1, Start: noon}),
		say(oslo, protocol.Coordinator, protocol.UsageReport{Job: "a", Epoch: 1, Started: noon, Ended: noon.Add(time.Hour)}),
		say(protocol.Coordinator, "", protocol.Settlement{Job: "a", Site: "oslo", Counted: protocol.Usage{Energy: 7_200_000_000, Finish: noon.Add(time.Hour)}, Late: true}),
	}
}

func TestACancelledJobSaysSo(t *testing.T) {
	for _, who := range []protocol.Party{protocol.Coordinator, protocol.OperatorAPI, "agent/bern"} {
		to := oslo
		if who != protocol.Coordinator {
			to = protocol.Coordinator
		}
		all := append(way()[:6], say(who, to, protocol.Cancel{Job: "a", Epoch: 1}))
		b := told(append(all, way()[6:]...)...)
		j, _ := b.JobByID("a", noon.Add(time.Minute))
		if want := map[bool]history.State{true: history.Cancelled, false: history.Done}[who != "agent/bern"]; j.State != want || (want == history.Cancelled) != (j.Why == string(protocol.Cancelled)) {
			t.Errorf("cancelled by %s, a job is %+v", who, j)
		}
	}
}

// Another site has it since its own was said to be gone; that one is back, and is told
// to stop what it had.
func TestAJobThatASiteIsToStopElsewhereIsNotStopping(t *testing.T) {
	bern := protocol.Party("agent/bern")
	b := told(append(way()[:6],
		say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"}),
		say(bern, protocol.Coordinator, protocol.RegisterSite{Site: "bern"}),
		say(protocol.Coordinator, bern, protocol.Award{Round: 1, Job: "a", Epoch: 2}),
		say(bern, protocol.Coordinator, protocol.Accept{Job: "a", Epoch: 2}),
		say(protocol.Coordinator, oslo, protocol.Cancel{Job: "a", Epoch: 1}))...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Running || j.Site != "bern" {
		t.Errorf("it runs at bern, and is shown as %+v", j)
	}
}

// The lease of an award ended, and the job was held; then its site was heard after
// all. The market takes that as long as it has not sold the job again.
func TestAnAcceptAfterTheLeaseIsShown(t *testing.T) {
	for name, plan := range map[string]string{"no plan": "", "a plan at another": "bern", "a plan at the same": "oslo"} {
		w := way()
		held := append(w[:5:5], say(protocol.Coordinator, protocol.Submitter, protocol.Defer{Round: 2, Job: "a", Site: plan, Start: noon.Add(time.Hour)}))
		b := told(append(held, w[5])...)
		if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Running || j.Site != "oslo" || j.Model != "V100" || j.Start <= noon || j.Start > noon.Add(10*time.Second) || j.Finish != noon.Add(time.Hour) || b.AllSites(noon.Add(time.Minute))[0].Placed != 1 {
			t.Errorf("%s: shown as %+v, at %+v", name, j, b.AllSites(noon.Add(time.Minute)))
		}
		declined := append(held, say(oslo, protocol.Coordinator, protocol.Decline{Job: "a", Epoch: 1}))
		b = told(append(declined, w[5])...)
		if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != map[bool]history.State{true: history.Planned, false: history.Pending}[plan != ""] || j.Awarded || b.AllSites(noon.Add(time.Minute))[0].Placed != 0 {
			t.Errorf("%s: given back, and shown as %+v", name, j)
		}
	}
}

// The market does not hear that a site is drained which was said to be gone: that comes
// back as any other.
func TestASiteThatIsGoneIsNotDrained(t *testing.T) {
	b := told(append(way()[:1], say(protocol.OperatorAPI, protocol.Coordinator, protocol.DecommissionSite{Site: "oslo", By: "ada"}),
		say(protocol.OperatorAPI, protocol.Coordinator, protocol.Drain{Site: "oslo"}), way()[0])...)
	if s := b.AllSites(noon.Add(time.Minute))[0]; s.Drained || s.Decommissioned {
		t.Errorf("back, it is shown as %+v", s)
	}
}

func TestAPausedJobWaitsAgain(t *testing.T) {
	b := told(append(way()[:6],
		say(oslo, protocol.Coordinator, protocol.UsageReport{Job: "a", Epoch: 1, Started: noon, Ended: noon.Add(time.Second), Left: time.Minute}),
		say(protocol.Coordinator, "", protocol.Settlement{Job: "a", Site: "oslo", Part: true}))...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Pending || b.AllSites(noon.Add(time.Minute))[0].Placed != 0 || b.AllSites(noon.Add(time.Minute))[0].Done != 0 {
		t.Errorf("a paused job is %+v, at %+v", j, b.AllSites(noon.Add(time.Minute)))
	}
}

func TestAJobIsSeenOnItsWay(t *testing.T) {
	for n, want := range map[int]history.State{2: history.Pending, 3: history.Pending, 5: history.Planned, 6: history.Running, 7: history.Done, 8: history.Done} {
		b := told(way()[:n]...)
		j, ok := b.JobByID("a", noon.Add(time.Minute))
		placed := b.AllSites(noon.Add(time.Minute))[0].Placed
		if !ok || j.State != want || (placed == 1) != (want == history.Planned || want == history.Running) {
			t.Errorf("after %d messages: %+v, %d placed; want %s", n, j, placed, want)
		}
	}
	b := told(way()...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.Measured == nil || j.Measured.Energy != 2 || j.Bid == nil || j.Bid.Energy != 1 || !j.Late || j.Rounds != 1 || j.Model != "V100" {
		t.Errorf("in the end: %+v", j)
	}
	if s := b.AllSites(noon.Add(time.Minute))[0]; s.Free != 4 || s.Price != 55 || s.Carbon != 28 || s.PUE != 1.2 || s.Done != 1 || s.GPUs != 4 {
		t.Errorf("its site: %+v", s)
	}
	if r := b.RecentRounds()[0]; r.Jobs != 1 || r.Offers != 1 || r.Awards != 1 {
		t.Errorf("its round: %+v", r)
	}
}

func TestWhatIsSaidByOthersOrTwiceChangesNothing(t *testing.T) {
	w := way()
	b := told(append(w,
		say("agent/bern", protocol.Coordinator, protocol.UsageReport{Job: "a", Epoch: 1}),
		say(oslo, protocol.Coordinator, protocol.Decline{Job: "a", Epoch: 1}),
		say(protocol.Coordinator, "submitter", protocol.Reject{Job: "a"}),
		w[7],
	)...)
	if j, _ := b.JobByID("a", noon.Add(time.Minute)); j.State != history.Done || b.AllSites(noon.Add(time.Minute))[0].Placed != 0 || b.AllSites(noon.Add(time.Minute))[0].Done != 1 {
		t.Errorf("%+v, %+v", j, b.AllSites(noon.Add(time.Minute)))
	}
}

// The board of a market that has run a million jobs is as large as that of one
// that has run ten thousand.
func TestTheBoardForgetsWhatIsLongOver(t *testing.T) {
	b := new(View)
	for i := range 3 * history.KeptEnded {
		id := protocol.JobID(noon.Add(time.Duration(i) * time.Millisecond).String())
		b.AddMessage(say("submitter", protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: id}})(noon))
		b.AddMessage(say(protocol.Coordinator, "", protocol.CallForBids{Round: uint64(i)})(noon))
		b.AddMessage(say(protocol.Coordinator, "submitter", protocol.Reject{Job: id})(noon))
	}
	if n, r := len(b.AllJobs(noon.Add(time.Minute))), len(b.RecentRounds()); n != history.KeptEnded || r > history.KeptRounds {
		t.Errorf("%d jobs and %d rounds are kept", n, r)
	}
}
