package market

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// How long a job in parts waits is bounded (decision 0333). If all its parts found options, but none that
// go together, it is called again at once, and sites are asked for starts from the first instant on at which
// some sites that suffice are open to all parts. If that fails too, because others took the room in the same
// round, its parts are called alone, again and again: nobody else is awarded anything in between, so each of
// these calls passes the end of a run or of a reservation, until they go together. Then they are reserved.
// So the job waits at most for what ran or was reserved at its sites when it was first called alone.

// A jointWait is how a job in parts waits for starts that go together.
type jointWait struct {
	startWith protocol.Time // that sites are asked for in the next call; 0: any
	opening   protocol.Time // the least start from which parts could go together, by the bids of the last call; 0: none
	apart     int           // calls in a row whose options did not go together
	notBefore protocol.Time // no wait of this kind begins before
}

// A job in parts is called alone at most mostCallsAlone times in a row, and if they find nothing, not again for
// restFromAlone, so that others go on beside a job whose parts can never go together: each may fit a site that
// does not hold both.
const (
	mostCallsAlone = 32
	restFromAlone  = time.Hour
)

// noteOpenings notes for each job in parts of a round from when its parts could go together, by their bids.
func (k *Market) noteOpenings(r *round, in auction.Round) {
	bids := make(map[*lot][]auction.Lot)
	var wholes []*lot // in the order of their parts
	for i, l := range r.lots {
		if w := l.whole; w != nil {
			if bids[w] == nil {
				wholes = append(wholes, w)
			}
			bids[w] = append(bids[w], in.Lots[i])
		}
	}
	for _, w := range wholes {
		w.joint.opening = jointOpening(bids[w], w.job.MaxSites, w.joint.startWith)
	}
}

// jointOpening returns the first start of an option, after a given one, at which every part has an option that
// starts by then at one of at most so many sites; 0 if there is none. Those with a site for each part come first.
func jointOpening(lots []auction.Lot, maxSites int, after protocol.Time) protocol.Time {
	var starts []protocol.Time
	var names []string
	var sites [][]protocol.Time // as named: the first start of each part; 0: none
	for i, l := range lots {
		for _, b := range l.Bids {
			k := slices.Index(names, b.Site)
			if k < 0 {
				k, names, sites = len(names), append(names, b.Site), append(sites, make([]protocol.Time, len(lots)))
			}
			for _, o := range b.Options {
				if first := sites[k][i]; first == 0 || o.Start < first {
					sites[k][i] = o.Start
				}
				starts = append(starts, o.Start)
			}
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for _, t := range starts {
		if t > after && len(lots) <= maxSites && fitOneEach(sites, len(lots), t) {
			return t
		}
	}
	for _, t := range starts {
		if t > after && sitesNeeded(sites, len(lots), t) <= maxSites {
			return t
		}
	}
	return 0
}

// fitOneEach reports whether so many parts have a start by t at a site of their own each. No bid says whether a site
// holds several of them.
func fitOneEach(sites [][]protocol.Time, parts int, t protocol.Time) bool {
	placed := make([]bool, 1<<parts) // by set of parts
	placed[0] = true
	for _, first := range sites {
		for set := len(placed) - 1; set >= 0; set-- { // from the largest: each site takes one part
			for p, at := range first {
				if placed[set] && set&(1<<p) == 0 && at != 0 && at <= t {
					placed[set|1<<p] = true
				}
			}
		}
	}
	return placed[len(placed)-1]
}

// sitesNeeded returns how many sites it takes at least for each of so many parts to have a start by t.
func sitesNeeded(sites [][]protocol.Time, parts int, t protocol.Time) int {
	const never = protocol.MaxParts + 1
	need := make([]int, 1<<parts) // by set of parts
	for set := 1; set < len(need); set++ {
		need[set] = never
		for _, first := range sites {
			rest := set
			for p, at := range first {
				if at != 0 && at <= t {
					rest &^= 1 << p
				}
			}
			if rest != set {
				need[set] = min(need[set], need[rest]+1)
			}
		}
	}
	return need[len(need)-1]
}

// foundApart notes that the options of a job's parts did not go together, and plans its next call. It reports
// whether that is at once.
func (k *Market) foundApart(now protocol.Time, w *lot) bool {
	j := &w.joint
	if now < j.notBefore {
		return false
	}
	switch j.apart++; {
	case j.apart > mostCallsAlone+1:
		j.notBefore = now.Add(restFromAlone)
		return false
	case j.opening == 0:
		return false
	case j.apart == 2: // from here on alone, and at first from any start on
		j.startWith = 0
		k.alone = w
	default:
		j.startWith = j.opening
	}
	return true
}

// endJointWait has a job in parts called like any other.
func (k *Market) endJointWait(w *lot) {
	w.joint = jointWait{notBefore: w.joint.notBefore}
	if k.alone == w {
		k.alone = nil
	}
}

// partsToCallAlone returns the parts of the job that is called alone, if there is one.
func (k *Market) partsToCallAlone() (parts []*lot) {
	if k.alone == nil {
		return nil
	}
	for _, p := range k.alone.parts {
		switch {
		case p.state == waiting && p.due != 0:
			parts = append(parts, p)
		case p.state != ended: // it is cancelled, or being stopped
			parts, k.alone = nil, nil
			return nil
		}
	}
	if len(parts) == 0 {
		k.alone = nil
	}
	return parts
}

// isHeldBack reports whether a lot that is due waits until the job that is called alone has been.
func (k *Market) isHeldBack(l *lot) bool {
	return k.alone != nil && l.whole != k.alone && (l.state == waiting || l.state == awarded)
}

// asCalled returns the job of a lot as it is called.
func (l *lot) asCalled() protocol.Job {
	j := l.job
	j.MostPods = l.mostPods
	if l.whole != nil {
		j.StartWith = l.whole.joint.startWith
	}
	return j
}

// jointStartNote says in the awards of parts that start later for how long they wait at most.
func jointStartNote(awards []*auction.Decision, now protocol.Time, slack time.Duration) string {
	last := now
	for _, d := range awards {
		last = max(last, d.Option.Start)
	}
	if last == now {
		return ""
	}
	return fmt.Sprintf("all parts start together at %s, when what runs or is reserved before them ends, and at most %s later if that takes longer", format.FormatInstant(last), format.FormatDuration(slack))
}

// missedStarts says which parts of a job that all sites accepted did not run at the start deadline.
func (l *lot) missedStarts() string {
	var missed []*lot
	for _, p := range l.parts {
		if p.state == accepted && p.started != p.epoch {
			missed = append(missed, p)
		}
	}
	return namesOf(missed, false) + " did not run at the start deadline, which counts against the trust factor of " + namesOf(missed, true)
}

// silentParts returns the parts of a job whose sites have not answered their awards, if others have accepted theirs
// and hold room. Of an award that its predecessor sent, a market does not know what was answered.
func (l *lot) silentParts() (silent []*lot) {
	held := false
	for _, p := range l.parts {
		held = held || p.state == awarded && p.prepared // a part that has ended holds nothing
		if p.state == awarded && !p.prepared && p.asked {
			silent = append(silent, p)
		}
	}
	if !held {
		return nil
	}
	return silent
}

// silenceNote says which sites did not answer.
func silenceNote(silent []*lot) string {
	return namesOf(silent, true) + " did not accept " + namesOf(silent, false) + " in time, which counts against the trust factor"
}

// namesOf lists the ids of parts, or their sites.
func namesOf(parts []*lot, sites bool) string {
	var names []string
	for _, p := range parts {
		name := format.CleanText(string(p.job.ID))
		if sites {
			name = p.site
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return format.JoinWithAnd(names)
}
