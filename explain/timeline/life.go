package timeline

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A life is what became of a job: a term for each of its awards.
type life struct {
	id                           protocol.JobID
	gpu                          protocol.Milli
	deadline, submitted, refused protocol.Time // refused: zero is not yet
	terms                        []*term       // as awarded
	next                         *life         // submitted under its id since it is over, and not heard of yet
}

// over reports whether nothing more comes of a job.
func (l *life) over() bool { return l.refused != 0 || l.last().done && !l.last().left }

// A term is a job's time with one site. A federation does not tell its
// coordinator when a job starts, so a start is what was planned until something
// better is known; told keeps what was known when, so that an instant is shown as
// it was seen then. Instants are zero until they come.
type term struct {
	site    string
	epoch   uint64
	awarded protocol.Time
	lost    protocol.Time // given back, or taken away
	told    []told
	start   protocol.Time
	end     protocol.Time
	taken   bool // its site accepted it
	lapsed  bool // its site did not answer in time
	done    bool // its bill was counted
	bill    protocol.Bill
	late    bool // it ended its job, after the deadline
	left    bool // it ended in a pause, and the rest is to be sold
}

// A told is a start as it was known from an instant on.
type told struct{ from, start protocol.Time }

func (x *term) starts(now, start protocol.Time) {
	x.start = start
	x.told = append(x.told, told{now, start})
}

// known returns the start as it was known at an instant; 0: not at all.
func (x *term) known(t protocol.Time) (start protocol.Time) {
	for _, k := range x.told {
		if k.from <= t {
			start = k.start
		}
	}
	return start
}

// last returns the newest term; the zero term if there is none.
func (l *life) last() *term {
	if n := len(l.terms); n > 0 {
		return l.terms[n-1]
	}
	return new(term)
}

// of returns the term that a site was awarded in an epoch; nil if there is none.
// What a site says is said again until it is answered, so it may be of one that is
// over.
func (l *life) of(from protocol.Party, epoch uint64) *term {
	for _, x := range l.terms {
		if x.epoch == epoch && x.site == from.Site() {
			return x
		}
	}
	return nil
}

func (d *Diary) live(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Submit:
		l := &life{id: b.Job.ID, gpu: b.Job.GPU(), submitted: m.At, deadline: b.Job.Deadline}
		switch was := d.jobs[b.Job.ID]; {
		case was == nil:
			d.begin(l)
		case was.over():
			was.next = l
		}
	case protocol.Call:
		for _, j := range b.Jobs {
			d.again(j.ID)
		}
	case protocol.Award:
		d.again(b.Job) // off the books, where no calls are
		if l := d.jobs[b.Job]; l != nil && l.of(m.To, b.Epoch) == nil {
			x := &term{site: m.To.Site(), epoch: b.Epoch, awarded: m.At}
			x.starts(m.At, max(b.Option.Start, m.At))
			l.terms = append(l.terms, x)
		}
	case protocol.Hold:
		d.again(b.Job)
		if l := d.jobs[b.Job]; l != nil {
			l.last().lapse(m.At)
		}
	case protocol.Decline:
		if x := d.term(m.From, b.Job, b.Epoch); x != nil && x.lost == 0 {
			x.lost = m.At
		}
	case protocol.Gone:
		for _, l := range d.lives {
			if x := l.last(); m.From == protocol.Desk && x.site == b.Site && !x.done {
				x.lapsed = false // it is not taken back from there
				if x.lost == 0 {
					x.lost = m.At
				}
			}
		}
	case protocol.Refuse:
		if b.Why.Code != protocol.Duplicate {
			d.again(b.Job)
			if l := d.jobs[b.Job]; l != nil {
				l.refused = m.At
				if x := l.last(); b.Why.Code == protocol.BadTerms && x.done { // nobody believed its bill
					d.spend(m.At, x.bill, -1, x.late)
				}
			}
		}
	case protocol.Accept:
		if x := d.term(m.From, b.Job, b.Epoch); x != nil && !x.done {
			if x.lapsed && x == d.jobs[b.Job].last() {
				x.lost = 0 // late, but nobody else has it
			}
			x.taken, x.lapsed = true, false
			x.starts(m.At, max(b.Start, m.At))
		}
	case protocol.Started:
		if x := d.at(m.From, b.Job); x != nil {
			x.starts(m.At, m.At)
		}
	case protocol.Exited:
		if x := d.at(m.From, b.Job); x != nil {
			x.end = m.At
		}
	case protocol.Done:
		d.over(m, b)
	}
}

func (d *Diary) begin(l *life) {
	d.jobs[l.id] = l
	d.lives = append(d.lives, l)
}

// again begins the job that was submitted under the id of one that is over, once it
// is heard of: what only repeats that one is not.
func (d *Diary) again(id protocol.JobID) {
	if l := d.jobs[id]; l != nil && l.next != nil && l.over() {
		d.begin(l.next)
	}
}

// lapse takes an award back that its site did not answer: the job is on sale again.
func (x *term) lapse(at protocol.Time) {
	if !x.taken && !x.done && x.lost == 0 {
		x.lost, x.lapsed = at, true
	}
}

// term returns a job's term with the site that speaks, by epoch; nil if there is
// none.
func (d *Diary) term(from protocol.Party, id protocol.JobID, epoch uint64) *term {
	if l := d.jobs[id]; l != nil {
		return l.of(from, epoch)
	}
	return nil
}

// at returns a job's newest term, if it is with the site of the hands that speak.
func (d *Diary) at(hands protocol.Party, id protocol.JobID) *term {
	if l := d.jobs[id]; l != nil && l.last().site == hands.Site() && len(l.terms) > 0 {
		return l.last()
	}
	return nil
}

// over ends a term, and counts what it took: once, however often it is said.
func (d *Diary) over(m protocol.Message, b protocol.Done) {
	x := d.term(m.From, b.Job, b.Epoch)
	if x == nil || x.done || x.lost != 0 {
		return
	}
	x.done, x.left, x.end = true, b.Left > 0, b.Ended
	x.starts(m.At, b.Started)
	x.bill, x.late = protocol.Bill{Energy: b.Energy, Carbon: b.Carbon, Money: b.Money}, b.Left == 0 && b.Ended > d.jobs[b.Job].deadline
	d.spend(m.At, x.bill, 1, x.late)
}

// at returns the state of a job at an instant: "", "waiting", "planned",
// "running", "ended" or "refused", and the site that it is with.
func (l *life) at(t protocol.Time) (state, site string) {
	switch {
	case l.submitted > t:
		return "", ""
	case l.refused != 0 && l.refused <= t:
		return "refused", ""
	}
	var x *term
	for _, one := range l.terms {
		if one.awarded <= t {
			x = one
		}
	}
	switch {
	case x == nil, x.lost != 0 && x.lost <= t:
		return "waiting", ""
	case x.known(t) == 0 || x.known(t) > t:
		return "planned", x.site
	case x.end == 0 || x.end > t:
		return "running", x.site
	case x.left:
		return "waiting", ""
	}
	return "ended", x.site
}

// held returns the thousandths of a GPU times milliseconds that a term held in
// [from, to), as far as the record goes.
func (x *term) held(gpu protocol.Milli, from, to, last protocol.Time) int64 {
	end := x.end
	if end == 0 {
		end = last
	}
	return int64(gpu) * max(0, int64(min(end, to)-max(x.start, from)))
}

// busy returns the GPUs that a site held, as the mean of each step.
func (d *Diary) busy(site string, from, to protocol.Time, step time.Duration) []float64 {
	width := protocol.Time(step.Milliseconds())
	sums := make([]int64, (to-from+width-1)/width)
	for _, l := range d.lives {
		for _, x := range l.terms {
			if x.site != site || x.start == 0 || x.lost != 0 {
				continue
			}
			for i := max(0, int((x.start-from)/width)); i < len(sums); i++ {
				at := from + protocol.Time(i)*width
				if x.end != 0 && at >= x.end {
					break
				}
				sums[i] += x.held(l.gpu, at, at+width, d.last)
			}
		}
	}
	var mean []float64
	for _, v := range sums {
		mean = append(mean, float64(v)/float64(width)/1000)
	}
	return mean
}
