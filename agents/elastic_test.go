package agents

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// elastic is a job of 8 hours on one pod of 2 GPUs, which runs on up to 8.
func elastic() protocol.Job {
	return protocol.Job{ID: "e", Arrival: noon, Run: 8 * time.Hour, Deadline: noon.Add(30 * time.Hour), Urgency: protocol.UrgencyFlexible, Speed: []protocol.SpeedPoint{
		{Pods: 1, Speed: 1000}, {Pods: 2, Speed: 1800}, {Pods: 3, Speed: 2500}, {Pods: 4, Speed: 3100}, {Pods: 8, Speed: 5000}}}.WithPods(
		[]protocol.Component{{Role: "worker", Pods: 1, GPUs: 2, Share: 1000, CPU: 4000}})
}

// sizesOf returns on which numbers of pods some options are.
func sizesOf(m protocol.JobBids) (sizes []int) {
	for _, o := range m.Options {
		sizes = append(sizes, o.Pods)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func TestAnElasticJobIsOfferedOnAFewNumbersOfPods(t *testing.T) {
	s := newSite(t, DefaultStrategy(), 8, 8)
	o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{elastic()}, Weights: weights})
	if got := sizesOf(o.Jobs[0]); !slices.Equal(got, []int{1, 2, 3, 8}) {
		t.Fatalf("offered on %v pods; want 1, 2, 3 and 8", got)
	}
	for i, x := range o.Jobs[0].Options {
		pods := 0
		for _, p := range o.Spreads[i].Places {
			pods += p.Pods
		}
		at := elastic()
		at = at.AtPods(x.Pods)
		if o.Spreads[i].Option != i || pods != x.Pods || at.InvalidPlaces(o.Spreads[i].Places) != "" {
			t.Errorf("option %d of %d pods has the places %+v", i, x.Pods, o.Spreads[i])
		}
	}
	// Each takes the time that the curve says, and energy by pods and hours.
	one, three := o.Jobs[0].Options[0], o.Jobs[0].Options[slices.IndexFunc(o.Jobs[0].Options, func(x protocol.BidOption) bool { return x.Pods == 3 })]
	ratio := float64(one.Finish.Sub(one.Start)-one.Wake) / float64(three.Finish.Sub(three.Start)-three.Wake)
	if ratio < 2.49 || ratio > 2.51 {
		t.Errorf("on 3 pods it is %.3f times as fast as on one; its curve says 2.5", ratio)
	}

	// A job of 4 GPUs is here: 12 are free, for 6 pods, which are offered in place of a point of the curve.
	s = newSite(t, DefaultStrategy(), 8, 8)
	s.award(protocol.Job{ID: "other", GPUs: 4, Share: 1000, CPU: 1000, Arrival: noon, Run: time.Hour, Deadline: noon.Add(9 * time.Hour)}, 1, false)
	if got := sizesOf(s.call(elastic())[0]); !slices.Equal(got, []int{1, 2, 6, 8}) {
		t.Errorf("with 12 GPUs free it is offered on %v pods; want 1, 2, 6 and 8", got)
	}
	// A site that does not deliver as offered runs it as it is.
	s = newSite(t, MarginalCost{}, 8, 8)
	if got := sizesOf(s.call(elastic())[0]); !slices.Equal(got, []int{1}) {
		t.Errorf("without models and caps offered on %v pods; want 1", got)
	}
}

// What is awarded on some pods is launched on as many, also after an award of another number that the market
// forgot.
func TestAnElasticJobIsLaunchedOnThePodsOfItsAward(t *testing.T) {
	s := newSite(t, DefaultStrategy(), 8, 8)
	m := s.call(elastic())[0]
	option := func(pods int) protocol.BidOption {
		return m.Options[slices.IndexFunc(m.Options, func(x protocol.BidOption) bool { return x.Pods == pods && x.Start <= s.now.Add(time.Minute) })]
	}
	award := protocol.Award{Job: "e", Epoch: 1, Option: option(3), Lease: s.now.Add(10 * time.Second)}
	// Its Accept is not confirmed, and the market awards it anew on 2.
	s.agent.Step(s.now, s.market.NewMessage(s.now, "agent/oslo", award))
	award.Epoch, award.Option = 2, option(2)
	for _, b := range bodies(s.give(award)) {
		if l, ok := b.(protocol.Launch); ok {
			if l.Job.PodCount() != 2 || l.Job.GPUs != 4 || l.Epoch != 2 || l.Job.InvalidPlaces(l.Places) != "" || l.Run > award.Option.Finish.Sub(award.Option.Start) {
				t.Errorf("launched %+v", l)
			}
			return
		}
	}
	t.Error("it was not launched")
}

// A gang that may start with fewer pods is not offered on so few that it would run for longer than any job may.
func TestAGangIsNotOfferedOnTooFewPods(t *testing.T) {
	for run, want := range map[time.Duration]int{100 * time.Hour: 2, 200 * time.Hour: 0} {
		j := protocol.Job{ID: "g", MinPods: 1, Arrival: noon, Run: run, Deadline: noon.Add(48 * time.Hour), Urgency: protocol.UrgencyFlexible}.WithPods(
			[]protocol.Component{{Role: "worker", Pods: 8, GPUs: 2, Share: 1000, CPU: 4000}})
		s := newSite(t, DefaultStrategy(), 4)
		o := s.offer(protocol.CallForBids{Jobs: []protocol.Job{j}, Weights: weights})
		pods := 0
		if len(o.Jobs[0].Options) > 0 {
			for _, p := range o.Spreads[0].Places {
				pods += p.Pods
			}
		}
		if pods != want {
			t.Errorf("a gang of 8 pods for %v is offered on %d pods; want %d, %+v", run, pods, want, o.Jobs[0].Why)
		}
	}
}
