package jobstatus

import (
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Told takes in what the coordinator heard, and what it said to that. A submission
// that it did not take is of no job: one under the id of another, or of a stranger.
func (b *Board) Told(heard, said []protocol.Message) {
	for _, m := range heard {
		if s, ok := m.Body.(protocol.Submit); !ok || taken(m.From, s.Job.ID, said) {
			b.Add(m)
		}
	}
	for _, m := range said {
		b.Add(m)
	}
}

// taken reports whether somebody was told that his job is on the books. One that
// cannot be is on them as refused.
func taken(from protocol.Party, id protocol.JobID, said []protocol.Message) bool {
	return slices.ContainsFunc(said, func(m protocol.Message) bool {
		switch body := m.Body.(type) {
		case protocol.Confirm:
			return m.To == from && body.Job == id && body.Code == protocol.Taken
		case protocol.Refuse:
			return m.To == from && body.Job == id && body.Why.Code != protocol.Duplicate
		}
		return false
	})
}

// Add takes in what the coordinator heard or said, in order. Facts that it was
// restored from will do as well. What is said by who may not say it is no news.
func (b *Board) Add(m protocol.Message) {
	if !m.Proper() {
		return
	}
	if b.jobs == nil {
		b.jobs, b.sites = make(map[protocol.JobID]*Job), make(map[string]*Site)
	}
	if s := b.sites[m.From.Site()]; s != nil && m.From == protocol.Agent(s.Name) {
		s.Heard = max(s.Heard, m.At)
	}
	switch body := m.Body.(type) {
	case protocol.Submit:
		b.submit(m, body)
	case protocol.Hello:
		b.hello(m, body)
	case protocol.Call:
		b.call(m, body)
	case protocol.Offer:
		b.offer(m, body)
	case protocol.Hold:
		b.hold(m, body)
	case protocol.Award:
		b.award(m, body)
	case protocol.Drain:
		if s := b.sites[body.Site]; s != nil && !s.Gone && m.From == protocol.Desk { // the market knows none that is gone
			s.Drained = !body.Over
		}
	case protocol.Gone:
		if m.From == protocol.Desk {
			b.gone(m, body)
		}
	case protocol.Brought:
		for _, a := range body.Accounts {
			if s := b.sites[strings.TrimPrefix(a.Account, "site/")]; s != nil {
				s.Done += a.Jobs
			}
		}
	case protocol.Policy:
		if m.From == protocol.Coordinator && m.To == "" {
			b.policy = body
		}
	default:
		b.answer(m)
	}
}

// answer takes in what is said of a job after its award.
func (b *Board) answer(m protocol.Message) {
	switch body := m.Body.(type) {
	case protocol.Accept:
		j := b.late(m, body.Job, body.Epoch)
		if j == nil {
			j = b.awarded(m, body.Job, body.Epoch)
		}
		if j != nil && j.State == Awarded {
			j.to(Placed, m.At)
			j.Finish += body.Start - j.Start
			j.Start = body.Start
			b.sites[j.Site].Placed++
		}
	case protocol.Decline:
		if j := b.awarded(m, body.Job, body.Epoch); j != nil && !j.Over() {
			b.leave(j)
			j.to(Waiting, m.At)
			j.lapsed = nil
			j.Why, j.Note = string(body.Why.Code), body.Why.Note
		} else if j := b.jobs[body.Job]; j != nil && j.lapsed != nil && j.lapsed.isOf(m.From, body.Epoch) {
			j.lapsed = nil
		}
	case protocol.Cancel:
		// A site that is back from being gone is told to stop what it had: that is another run.
		if j := b.jobs[body.Job]; j != nil && j.State == Placed && (m.From == protocol.Desk || m.From == protocol.Coordinator && j.isOf(m.To, body.Epoch)) {
			j.State = Stopping // still placed
		}
	case protocol.Refuse:
		if j := b.jobs[body.Job]; j != nil && body.Why.Code != protocol.Duplicate && !j.Over() {
			b.leave(j)
			b.end(j, Refused, m.At)
			j.Why, j.Note = string(body.Why.Code), body.Why.Note
			if n := len(b.rounds); n > 0 {
				b.rounds[n-1].Refused++
			}
		}
	case protocol.Done:
		if j := b.awarded(m, body.Job, body.Epoch); j != nil && !j.Over() {
			j.Start, j.Finish, j.Failed = body.Started, body.Ended, body.Failed
		}
	case protocol.Settled:
		if j := b.jobs[body.Job]; j != nil && !j.Over() {
			b.leave(j)
			if j.State == Stopping {
				j.Why, j.Note = string(protocol.Cancelled), "its site was asked to stop it"
			}
			if body.Part { // it was paused: what is left of it is on sale
				j.to(Waiting, m.At)
				return
			}
			b.end(j, Done, m.At)
			j.bill(body.Counted)
			j.Finish, j.Late, j.Estimated = body.Counted.Finish, body.Late, body.Estimated
			if s := b.sites[body.Site]; s != nil {
				s.Done++
			}
		}
	}
}

func (j *Job) to(s State, at protocol.Time) { j.State, j.Changed = s, at }

func (j *Job) bill(x protocol.Bill) {
	j.Energy, j.Carbon, j.Money = x.Energy.KWh(), x.Carbon.Kilograms(), x.Money.Dollars()
}

// submit puts a job on the board. It may take the id of one that is over: the market
// forgets those.
func (b *Board) submit(m protocol.Message, s protocol.Submit) {
	j := s.Job
	if was := b.jobs[j.ID]; was != nil {
		if !was.Over() {
			return
		}
		b.ended = slices.DeleteFunc(b.ended, func(id protocol.JobID) bool { return id == j.ID })
	}
	b.jobs[j.ID] = &Job{
		ID: j.ID, Tenant: j.Tenant, State: Waiting, GPUs: j.GPUs, Arrived: j.Arrival, Deadline: j.Deadline, Changed: m.At, mark: s.Mark(),
	}
}

func (b *Board) hello(m protocol.Message, h protocol.Hello) {
	s := b.sites[h.Site]
	if s == nil {
		s = &Site{Name: h.Site}
		b.sites[h.Site] = s
	}
	s.Gone = false
	s.Pools, s.GPUs, s.Heard, s.answered = h.Pools, 0, m.At, true
	for _, p := range h.Pools {
		s.GPUs += p.GPUs
	}
}

func (b *Board) call(m protocol.Message, c protocol.Call) {
	for _, s := range b.Sites() {
		t := b.sites[s.Name]
		if !t.answered {
			t.Silent++
		}
		t.answered = false
	}
	for _, j := range c.Jobs {
		if k := b.jobs[j.ID]; k != nil {
			k.Rounds++
		}
	}
	if len(b.rounds) >= mostRounds {
		b.rounds = append(b.rounds[:0], b.rounds[mostRounds/10:]...)
	}
	b.rounds = append(b.rounds, Round{Round: c.Round, At: m.At, Jobs: len(c.Jobs)})
}

func (b *Board) offer(m protocol.Message, o protocol.Offer) {
	s := b.sites[m.From.Site()]
	if s == nil || m.From != protocol.Agent(s.Name) {
		return
	}
	s.answered, s.Silent, s.Free = true, 0, 0
	for _, r := range o.Room {
		if i := int(m.At.Sub(r.From) / max(r.Slot, time.Millisecond)); i >= 0 && i < len(r.Free) {
			s.Free += float64(r.Free[i]) / 1000
		}
	}
	if len(o.Grid.Price) > 0 {
		s.Price = o.Grid.Price[0].Dollars() * 1000
	}
	if len(o.Grid.Carbon) > 0 {
		s.Carbon = float64(o.Grid.Carbon[0]) / 1000
	}
	if len(o.Grid.PUE) > 0 {
		s.PUE = float64(o.Grid.PUE[0]) / 1000
	}
	if n := len(b.rounds); n > 0 && b.rounds[n-1].Round == o.Round {
		b.rounds[n-1].Offers++
	}
}

func (b *Board) hold(m protocol.Message, h protocol.Hold) {
	if n := len(b.rounds); n > 0 && b.rounds[n-1].Round == h.Round {
		b.rounds[n-1].Holds++
	}
	if j := b.jobs[h.Job]; j != nil && !j.Over() {
		if j.State == Awarded {
			was := *j
			j.lapsed = &was
		}
		j.to(Waiting, m.At)
		j.Until, j.Site, j.Start, j.Finish, j.Model = h.Until, h.Site, h.Start, 0, ""
		j.Why, j.Note = string(h.Why.Code), h.Why.Note
	}
}

func (b *Board) award(m protocol.Message, a protocol.Award) {
	if n := len(b.rounds); n > 0 && b.rounds[n-1].Round == a.Round {
		r := &b.rounds[n-1]
		r.Awards++
		r.Cost, r.Bound = a.Proof.Primal.Dollars(), a.Proof.Bound.Dollars()
	}
	j := b.jobs[a.Job]
	if j == nil || j.Over() {
		return
	}
	if b.sites[m.To.Site()] == nil {
		return
	}
	j.to(Awarded, m.At)
	j.lapsed = nil
	j.Site, j.Epoch, j.Model, j.Start, j.Finish, j.Until = m.To.Site(), a.Epoch, a.Option.Model, a.Option.Start, a.Option.Finish, 0
	j.Why, j.Note = string(a.Why.Code), a.Why.Note
	j.bill(protocol.Bill{Energy: a.Option.Energy, Carbon: a.Option.Carbon, Money: a.Option.Money})
}

// awarded returns the job that was last awarded to who speaks, under an epoch.
func (b *Board) awarded(m protocol.Message, id protocol.JobID, epoch uint64) *Job {
	if j := b.jobs[id]; j != nil && j.isOf(m.From, epoch) {
		return j
	}
	return nil
}

// isOf reports whether the job was last awarded to an agent, under an epoch.
func (j *Job) isOf(agent protocol.Party, epoch uint64) bool {
	return j.Site != "" && agent == protocol.Agent(j.Site) && j.Epoch == epoch
}

// late returns a job that waits again as it stood when its lease ended, if that was
// with who speaks, under an epoch; or nil. The market takes such an accept as long as
// it has not sold the job again.
func (b *Board) late(m protocol.Message, id protocol.JobID, epoch uint64) *Job {
	j := b.jobs[id]
	if j == nil || j.State != Waiting || j.lapsed == nil || !j.lapsed.isOf(m.From, epoch) {
		return nil
	}
	rounds := j.Rounds
	*j = *j.lapsed
	j.Rounds = rounds
	return j
}

// gone takes all jobs off a site.
func (b *Board) gone(m protocol.Message, g protocol.Gone) {
	s := b.sites[g.Site]
	if s == nil {
		return
	}
	s.Gone, s.Drained = true, false // should it come back, it is begun anew
	for _, j := range b.Jobs() {
		if j := b.jobs[j.ID]; j.Site == g.Site && (j.State == Awarded || j.State == Placed || j.State == Stopping) {
			b.leave(j)
			j.to(Waiting, m.At)
			j.Why, j.Note, j.Site = string(protocol.SiteGone), g.By, ""
		}
	}
}

// leave takes a job off its site.
func (b *Board) leave(j *Job) {
	if s := b.sites[j.Site]; s != nil && (j.State == Placed || j.State == Stopping) {
		s.Placed--
	}
}

// end closes a job, and forgets the one that has been over for longest.
func (b *Board) end(j *Job, s State, at protocol.Time) {
	j.to(s, at)
	j.lapsed = nil
	b.ended = append(b.ended, j.ID)
	if len(b.ended) > mostEnded {
		delete(b.jobs, b.ended[0])
		b.ended = b.ended[1:]
	}
}
