package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A forger is a run's messages, open to be falsified.
type forger []protocol.Message

// nth returns where the n-th message with a body of one kind stands, from 0.
func nth[B protocol.Body](f forger, n int) int {
	for i, m := range f {
		if _, ok := m.Body.(B); ok {
			if n--; n < 0 {
				return i
			}
		}
	}
	return -1
}

// change rewrites the third message of a kind.
func change[B protocol.Body](f forger, spoil func(*B)) forger {
	i := nth[B](f, 2)
	b := f[i].Body.(B)
	spoil(&b)
	f[i].Body = b
	return f
}

// again repeats the third message of a kind, changed.
func again[B protocol.Body](f forger, spoil func(*B)) forger {
	i := nth[B](f, 2)
	m := f[i]
	b := m.Body.(B)
	spoil(&b)
	m.Body = b
	return slices.Insert(f, i+1, m)
}

func without[B protocol.Body](f forger) forger {
	i := nth[B](f, 2)
	return slices.Delete(f, i, i+1)
}

// The record of a run that adds up, falsified in one place: the check finds it.
func TestTheCheckFindsEveryPlantedFault(t *testing.T) {
	s := small(12)
	for i := range s.Jobs {
		s.Jobs[i].Regions = []string{s.Jobs[i].Home}
	}
	for i := range s.Jobs[:6] { // two at once at each site
		s.Jobs[i].Arrival = s.Start.Add(time.Duration(i/3) * time.Minute)
		s.Jobs[i].GPUs, s.Jobs[i].Share = 2, 1000
	}
	said, _ := told(t, s, "home-fifo", new(membus.Bus))
	check := func(f forger) (codes []string) {
		seq := make(map[protocol.Party]uint64)
		book := history.New(history.Config{})
		for _, m := range f {
			seq[m.From]++
			m.Seq = seq[m.From]
			book.AddMessage(m)
		}
		for _, p := range book.CheckInvariants(NodesOf(s)) {
			codes = append(codes, p.Code)
		}
		return codes
	}
	if codes := check(slices.Clone(said)); codes != nil {
		t.Fatalf("the true record does not add up: %v", codes)
	}
	for name, c := range map[string]struct {
		code  string
		forge func(forger) forger
	}{
		"a job measured a millijoule too high": {"energy-of-job", func(f forger) forger {
			return change(f, func(b *protocol.Finished) { b.Draw = slices.Clone(b.Draw); b.Draw[0].Energy++ })
		}},
		"an hour metered a millijoule too low": {"meter", func(f forger) forger { return change(f, func(b *protocol.SiteUsage) { b.Total-- }) }},
		"idle energy that nobody drew":         {"meter", func(f forger) forger { return change(f, func(b *protocol.SiteUsage) { b.Idle.IT++ }) }},
		"an hour that nobody metered":          {"meter", without[protocol.SiteUsage]},
		"a milligram lost on the way":          {"settled-other-bill", func(f forger) forger { return change(f, func(b *protocol.UsageReport) { b.Carbon-- }) }},
		"a microdollar lost on the way":        {"settled-other-bill", func(f forger) forger { return change(f, func(b *protocol.Settlement) { b.Counted.Money++ }) }},
		"a bid that was not awarded":           {"settled-other-bid", func(f forger) forger { return change(f, func(b *protocol.Settlement) { b.BidFor.Energy++ }) }},
		"a bill to another tenant":             {"settled-elsewhere", func(f forger) forger { return change(f, func(b *protocol.Settlement) { b.Payer = "shop" }) }},
		"late, and said to be in time":         {"settled-lateness", func(f forger) forger { return change(f, func(b *protocol.Settlement) { b.Late = !b.Late }) }},
		"an end told twice":                    {"done-twice", func(f forger) forger { return again(f, func(*protocol.UsageReport) {}) }},
		"an exit told twice":                   {"exited-twice", func(f forger) forger { return again(f, func(*protocol.Finished) {}) }},
		"settled twice":                        {"settled-twice", func(f forger) forger { return again(f, func(*protocol.Settlement) {}) }},
		"sold twice":                           {"awarded-twice", func(f forger) forger { return again(f, func(b *protocol.Award) { b.Epoch++ }) }},
		"run twice":                            {"launched-twice", func(f forger) forger { return again(f, func(b *protocol.Launch) { b.Epoch++ }) }},
		"run without an award":                 {"launched-without-award", without[protocol.Award]},
		"run without an accept":                {"launched-without-accept", without[protocol.Accept]},
		"ended without a launch":               {"exited-without-launch", without[protocol.Launch]},
		"run on a machine that is not there":   {"no-such-node", func(f forger) forger { return change(f, func(b *protocol.Launch) { b.Node = "moon-1" }) }},
		"run on fewer GPUs":                    {"devices", func(f forger) forger { return change(f, func(b *protocol.Launch) { b.Devices = b.Devices[1:] }) }},
		"run on the same GPU twice":            {"devices", func(f forger) forger { return change(f, func(b *protocol.Launch) { b.Devices = []int{1, 1} }) }},
		"run on a GPU beyond the node":         {"devices", func(f forger) forger { return change(f, func(b *protocol.Launch) { b.Devices = []int{3, 4} }) }},
		"run on another model":                 {"model", func(f forger) forger { return change(f, func(b *protocol.Launch) { b.Model = "H100" }) }},
		"refused after it was sold": {"refused-and-placed", func(f forger) forger {
			id, i := f[nth[protocol.Award](f, 2)].Body.(protocol.Award).Job, nth[protocol.Award](f, 2)
			m := f[i]
			m.To, m.Body = protocol.Submitter, protocol.Reject{Job: id, Why: protocol.Reason{Code: protocol.NoBids}}
			return slices.Insert(f, i+1, m)
		}},
		"refused without a reason": {"refused-without-reason", func(f forger) forger {
			i := nth[protocol.Award](f, 2)
			id := f[i].Body.(protocol.Award).Job
			f = slices.DeleteFunc(f[:i:i], func(protocol.Message) bool { return false })
			return append(f, protocol.Message{At: said[i].At, From: protocol.Coordinator, To: protocol.Submitter, Body: protocol.Reject{Job: id}})
		}},
		"run before it arrived": {"before-arrival", func(f forger) forger {
			return change(f, func(b *protocol.Submit) { b.Job.Arrival += 3_600_000 })
		}},
		"run where its data may not be": {"region", func(f forger) forger {
			return change(f, func(b *protocol.Submit) { b.Job.Regions = []string{"moon"} })
		}},
		"two jobs on the GPUs of one": {"gpu-given-twice", func(f forger) forger {
			// The second job of a site starts while its first runs.
			first := f[nth[protocol.Launch](f, 0)]
			for i, m := range f {
				l, ok := m.Body.(protocol.Launch)
				if a := first.Body.(protocol.Launch); ok && m.From == first.From && l.Job.ID != a.Job.ID {
					l.Node, l.Devices, l.Model = a.Node, a.Devices, a.Model
					f[i].Body = l
					return f
				}
			}
			return f
		}},
		"more processors than a node has": {"cpu-given-twice", func(f forger) forger {
			return change(f, func(b *protocol.Submit) { b.Job.CPU = 64_001 })
		}},
		"more memory than a node has": {"memory-given-twice", func(f forger) forger {
			return change(f, func(b *protocol.Submit) { b.Job.Memory = 513 << 10 })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if codes := check(c.forge(slices.Clone(said))); !slices.Contains(codes, c.code) {
				t.Errorf("found %v, want %s", codes, c.code)
			}
		})
	}
}
