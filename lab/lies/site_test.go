package lies_test

import (
	"math/rand/v2"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

const siteGPUs = 4 // of each site

// A run is a job that a site runs.
type run struct {
	award       protocol.Award
	gpus        protocol.Milli
	from, until protocol.Time
	measured    protocol.Usage

	// Of a part of a job:
	part, stands, lazy, said bool // it never starts if it is lazy; said: that it runs
}

// A site bids, accepts, runs and reports honestly.
type site struct {
	name string
	rand *rand.Rand
	jobs map[protocol.JobID]protocol.Job
	runs map[protocol.JobID]run
}

func (s *site) free(at protocol.Time) protocol.Milli {
	left := protocol.Milli(siteGPUs * 1000)
	for _, r := range s.runs {
		if at < r.until && at >= r.from {
			left -= r.gpus
		}
	}
	return max(left, 0)
}

// bids answers a call: an option for now where there is room, one for later, and which runs it would
// stop.
func (s *site) bids(now protocol.Time, c protocol.CallForBids) protocol.Bids {
	o := protocol.Bids{Round: c.Round, Capacity: []protocol.CapacityProfile{{Model: "V100", From: now.Floor(time.Hour), Slot: time.Hour, Total: siteGPUs * 1000}}}
	for h := range 6 {
		o.Capacity[0].Free = append(o.Capacity[0].Free, s.free(max(now, now.Floor(time.Hour).Add(time.Duration(h)*time.Hour))))
	}
	for _, j := range c.Jobs {
		s.jobs[j.ID] = j
		m := protocol.JobBids{Job: j.ID}
		if s.free(now) >= j.TotalGPUMilli() && j.StartWith <= now {
			m.Options = append(m.Options, s.option(now, j))
		}
		m.Options = append(m.Options, s.option(max(now.Add(time.Duration(1+s.rand.IntN(3))*time.Hour), j.StartWith), j))
		o.Jobs = append(o.Jobs, m)
	}
	for _, p := range c.Preemptable {
		for _, id := range p.Runs {
			if r, ok := s.runs[id]; ok && s.free(now)+r.gpus >= s.jobs[p.Job].TotalGPUMilli() && s.free(now) < s.jobs[p.Job].TotalGPUMilli() {
				o.Preemptions = append(o.Preemptions, protocol.PreemptionSet{Job: p.Job, Runs: []protocol.JobID{id}})
				break
			}
		}
	}
	return o
}

func (s *site) option(start protocol.Time, j protocol.Job) protocol.BidOption {
	n := int64(j.TotalGPUMilli())
	return protocol.BidOption{Start: start, Finish: start.Add(j.Run), Model: "V100", Energy: protocol.Millijoules(1_000_000 * n),
		Carbon: protocol.Milligrams(n * (20 + s.rand.Int64N(60))), Money: protocol.Microdollars(n * (10 + s.rand.Int64N(90))), Tariff: protocol.Microdollars(s.rand.Int64N(3) * 100_000)}
}

// hear returns the site's answers to a message of the coordinator.
func (s *site) hear(now protocol.Time, m protocol.Message) []protocol.Body {
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		if s.rand.IntN(20) == 0 {
			return nil // it misses a round
		}
		return []protocol.Body{s.bids(now, b)}
	case protocol.Award:
		j := s.jobs[b.Job]
		if from := max(now, b.Option.Start); s.free(from) >= j.TotalGPUMilli() && s.rand.IntN(12) > 0 {
			off := 900 + s.rand.Int64N(400)
			use := func(n int64) int64 { return n / 1000 * off }
			s.runs[b.Job] = run{award: b, gpus: j.TotalGPUMilli(), from: from, until: from.Add(j.Run), part: j.PartOf != "", lazy: j.PartOf != "" && s.rand.IntN(6) == 0, measured: protocol.Usage{
				IT: protocol.Millijoules(use(int64(b.Option.Energy))), Energy: protocol.Millijoules(use(int64(b.Option.Energy))),
				Carbon: protocol.Milligrams(use(int64(b.Option.Carbon))), Money: protocol.Microdollars(use(int64(b.Option.Money)))}}
			return []protocol.Body{protocol.Accept{Job: b.Job, Epoch: b.Epoch, Start: from}}
		}
		return []protocol.Body{protocol.Decline{Job: b.Job, Epoch: b.Epoch, Why: protocol.Reason{Code: protocol.CapacityTaken}}}
	case protocol.Confirm:
		if r, ok := s.runs[b.Job]; ok && r.part && r.award.Epoch == b.Epoch {
			if r.stands = b.Code == protocol.AcceptConfirmed; !r.stands {
				delete(s.runs, b.Job)
			} else {
				s.runs[b.Job] = r
			}
		}
	case protocol.Preempt:
		r, ok := s.runs[b.Job]
		if !ok || r.award.Epoch != b.Epoch {
			return nil
		}
		delete(s.runs, b.Job)
		if now <= r.from || r.lazy { // it has not begun
			return []protocol.Body{protocol.Preempted{Job: b.Job, Epoch: b.Epoch, For: b.For, Why: b.Why}}
		}
		return []protocol.Body{protocol.Preempted{Job: b.Job, Epoch: b.Epoch, For: b.For, Why: b.Why, Started: r.from, Ended: now, Node: "n1", Devices: []int{0},
			IT: r.measured.IT / 2, Energy: r.measured.Energy / 2, Carbon: r.measured.Carbon / 2, Money: r.measured.Money / 2}}
	}
	return nil
}

// due returns when the run ends, or a part starts; 0: at no time that is known.
func (r run) due() protocol.Time {
	switch {
	case !r.part || r.said:
		return r.until
	case r.lazy || !r.stands:
		return 0
	}
	return r.from
}

// happened returns the report of a run that has ended, or of a part that has started, or nil.
func (s *site) happened(now protocol.Time) protocol.Body {
	for _, id := range sortedKeys(s.runs) {
		r := s.runs[id]
		if at := r.due(); at == 0 || at > now {
			continue
		}
		if r.part && !r.said {
			r.said = true
			s.runs[id] = r
			return protocol.Started{Job: id, Epoch: r.award.Epoch}
		}
		if r.until <= now {
			delete(s.runs, id)
			return protocol.UsageReport{Job: id, Epoch: r.award.Epoch, Started: r.from, Ended: r.until, Node: "n1", Devices: []int{0},
				IT: r.measured.IT, Energy: r.measured.Energy, Carbon: r.measured.Carbon, Money: r.measured.Money}
		}
	}
	return nil
}

// due returns when the next run ends or starts; 0: there is none.
func (s *site) due() (at protocol.Time) {
	for _, r := range s.runs {
		if t := r.due(); t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	return at
}
