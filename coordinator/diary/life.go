package diary

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A life is when a job passed from one state to the next; zero: not yet. A
// federation does not tell its coordinator when a job starts, so a start is
// what was planned until something better is known; told keeps what was known
// when, so that an instant is shown as it was seen then.
type life struct {
	told                        []told
	id                          protocol.JobID
	gpu                         protocol.Milli
	site                        string
	deadline                    protocol.Time
	submitted, awarded, refused protocol.Time
	start, end                  protocol.Time
}

// A told is a start as it was known from an instant on.
type told struct{ from, start protocol.Time }

func (l *life) starts(now, start protocol.Time) {
	l.start = start
	l.told = append(l.told, told{now, start})
}

// known returns the start as it was known at an instant; 0: not at all.
func (l *life) known(t protocol.Time) (start protocol.Time) {
	for _, x := range l.told {
		if x.from <= t {
			start = x.start
		}
	}
	return start
}

func (d *Diary) live(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Submit:
		if d.jobs[b.Job.ID] == nil {
			l := &life{id: b.Job.ID, gpu: b.Job.GPU(), submitted: m.At, deadline: b.Job.Deadline}
			d.jobs[b.Job.ID] = l
			d.lives = append(d.lives, l)
		}
	case protocol.Award:
		if l := d.jobs[b.Job]; l != nil {
			l.site, l.awarded, l.end = m.To.Site(), m.At, 0
			l.starts(m.At, max(b.Option.Start, m.At))
		}
	case protocol.Decline:
		if l := d.jobs[b.Job]; l != nil && l.site == m.From.Site() {
			l.site, l.awarded = "", 0
			l.starts(m.At, 0)
		}
	case protocol.Refuse:
		if l := d.jobs[b.Job]; l != nil && b.Why.Code != protocol.Duplicate {
			l.refused = m.At
		}
	case protocol.Accept:
		if l := d.jobs[b.Job]; l != nil && l.site == m.From.Site() {
			l.starts(m.At, max(b.Start, m.At))
		}
	case protocol.Started:
		if l := d.jobs[b.Job]; l != nil {
			l.starts(m.At, m.At)
		}
	case protocol.Exited:
		if l := d.jobs[b.Job]; l != nil {
			l.end = m.At
		}
	case protocol.Done:
		if l := d.jobs[b.Job]; l != nil {
			l.site, l.end = m.From.Site(), b.Ended
			l.starts(m.At, b.Started)
		}
	}
}

// at returns the state of a job at an instant: "", "waiting", "planned",
// "running", "ended" or "refused".
func (l *life) at(t protocol.Time) string {
	switch {
	case l.submitted > t:
		return ""
	case l.refused != 0 && l.refused <= t:
		return "refused"
	case l.awarded == 0 || l.awarded > t:
		return "waiting"
	case l.known(t) == 0 || l.known(t) > t:
		return "planned"
	case l.end == 0 || l.end > t:
		return "running"
	}
	return "ended"
}

// held returns the thousandths of a GPU times milliseconds that the job held
// in [from, to), as far as the record goes.
func (l *life) held(from, to, last protocol.Time) int64 {
	if l.start == 0 || l.awarded == 0 {
		return 0
	}
	end := l.end
	if end == 0 {
		end = last
	}
	return int64(l.gpu) * max(0, int64(min(end, to)-max(l.start, from)))
}

// busy returns the GPUs that a site held, as the mean of each step.
func (d *Diary) busy(site string, from, to protocol.Time, step time.Duration) []float64 {
	width := protocol.Time(step.Milliseconds())
	sums := make([]int64, (to-from+width-1)/width)
	for _, l := range d.lives {
		if l.site != site || l.start == 0 {
			continue
		}
		for i := max(0, int((l.start-from)/width)); i < len(sums); i++ {
			at := from + protocol.Time(i)*width
			if l.end != 0 && at >= l.end {
				break
			}
			sums[i] += l.held(at, at+width, d.last)
		}
	}
	var mean []float64
	for _, v := range sums {
		mean = append(mean, float64(v)/float64(width)/1000)
	}
	return mean
}
