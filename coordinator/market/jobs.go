package market

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// submitted takes in a job. The same job again is no news; another job with the
// same id is counted and not taken, and who submitted it is told.
func (k *Market) submitted(now protocol.Time, m protocol.Message, s protocol.Submit) []protocol.Message {
	j := s.Job
	if foreign(m.From, j) {
		k.counts["submit-of-stranger"]++
		return nil
	}
	k.expire(now)
	if l, ok := k.lots[j.ID]; ok {
		return k.repeated(now, m, l, s)
	}
	if site := m.From.Site(); site != "" && !k.affords(now, site, j.Size()+len(s.Task)) {
		return nil
	}
	l := k.enter(max(now, j.Arrival), m.From, s)
	k.note(m)
	why := protocol.Reason{Code: protocol.Malformed, Note: j.Check()}
	switch {
	case why.Note != "":
	case j.Arrival < now.Add(-k.cfg.Remember):
		why.Note = fmt.Sprintf("arrival: over %v ago, so that nobody remembers whether it was run; submit it as arriving now", k.cfg.Remember)
	case j.Arrival > now.Add(protocol.MaxRun):
		why.Note = "arrival: over 720h from now"
	default:
		k.agenda.add(l)
		return []protocol.Message{k.say(now, m.From, protocol.Confirm{Job: j.ID, Code: protocol.Taken})}
	}
	return k.refuse(now, l, why)
}

// repeated answers who submits an id that is known. A queue asks by that how its job
// stands, which it is told even if the job has been changed since.
func (k *Market) repeated(now protocol.Time, m protocol.Message, l *lot, s protocol.Submit) (said []protocol.Message) {
	if l.same(s) {
		k.counts["submitted-twice"]++
	} else {
		k.counts["duplicate-id"]++
		why := protocol.Reason{Code: protocol.Duplicate, Note: "another job of this id was submitted before; give this one an id of its own"}
		said = append(said, k.say(now, m.From, protocol.Refuse{Job: l.job.ID, Why: why}))
		if m.From.Site() == "" {
			return said
		}
	}
	answer := protocol.Confirm{Job: l.job.ID, Code: protocol.Taken}
	if l.state == ended {
		answer.Code = protocol.Closed
	}
	if l.queued() && l.standing.Job != "" { // first: that it is closed says not how it ended
		said = append(said, k.say(now, m.From, l.standing))
	}
	return append(said, k.say(now, m.From, answer))
}

// enter puts a job on the books. It is not called before it arrives, should its
// submitter's clock be fast.
func (k *Market) enter(at protocol.Time, from protocol.Party, s protocol.Submit) *lot {
	due := at
	if !k.cfg.atOnce {
		due = at.Floor(k.cfg.Gather).Add(k.cfg.Gather)
	}
	l := &lot{job: s.Job, whole: s.Job, task: s.Task, from: from, due: due}
	k.lots[s.Job.ID] = l
	return l
}

func (k *Market) refuse(now protocol.Time, l *lot, why protocol.Reason) []protocol.Message {
	k.end(now, l)
	k.stands(l, protocol.Standing{State: protocol.Closed, Why: why})
	return []protocol.Message{k.say(now, l.from, protocol.Refuse{Job: l.job.ID, Why: why})}
}

// same reports whether s submits the lot again.
func (l *lot) same(s protocol.Submit) bool {
	if l.mark != 0 {
		return l.mark == s.Mark()
	}
	return reflect.DeepEqual(l.whole, s.Job) && l.task == s.Task
}

// Whole is how many ended jobs are kept whole; of older ones only the id is.
const Whole = 10_000

// end closes a lot, and forgets those that ended long ago.
func (k *Market) end(now protocol.Time, l *lot) {
	l.state = ended
	k.gone = append(k.gone, gone{now, l.job.ID})
	if i := len(k.gone) - 1 - Whole; i >= 0 {
		if l := k.lots[k.gone[i].id]; l.mark == 0 {
			*l = lot{job: protocol.Job{ID: l.job.ID}, state: ended, epoch: l.epoch, mark: protocol.Submit{Job: l.whole, Task: l.task}.Mark()}
		}
	}
	k.expire(now)
}

// expire forgets the lots that ended long ago: a job that old is not taken again, so
// nothing runs twice for that. Its id may be: sites remember the epochs of it, so those
// of the next job of that name are higher.
func (k *Market) expire(now protocol.Time) {
	if len(k.gone) > 0 && k.gone[0].at > now { // by the clock of a coordinator that was ahead: see anew
		for i := range k.gone {
			k.gone[i].at = min(k.gone[i].at, now)
		}
	}
	for len(k.gone) > 0 && k.gone[0].at < now.Add(-k.cfg.Remember) {
		k.epochs = max(k.epochs, k.lots[k.gone[0].id].epoch)
		delete(k.lots, k.gone[0].id)
		k.gone = k.gone[1:]
	}
}

// hello takes in what a site is. A site that says it again, after a restart,
// replaces what it said before.
func (k *Market) hello(now protocol.Time, m protocol.Message, h protocol.Hello) []protocol.Message {
	if h.Site == "" || m.From != protocol.Agent(h.Site) {
		k.counts["hello-of-stranger"]++
		return nil
	}
	if s := k.sites[h.Site]; s == nil || !slices.Equal(s.hello.Pools, h.Pools) {
		if !k.affords(now, h.Site, greeting(h)) {
			return nil
		}
		k.note(m)
		k.greet(h)
	}
	k.stir(now)
	return append([]protocol.Message{k.say(now, m.From, protocol.Confirm{Code: protocol.Taken})}, k.back(now, h.Site)...)
}

func (k *Market) greet(h protocol.Hello) {
	s := k.sites[h.Site]
	if s == nil {
		s = &site{}
		k.sites[h.Site] = s
	}
	s.hello = h
}

// accepted takes in that a site keeps a job. It stands after the lease too, as
// long as the job has not been sold again; the site waits to be told so before it
// starts it. So a site that is told nothing has started nothing.
func (k *Market) accepted(now protocol.Time, m protocol.Message, a protocol.Accept) []protocol.Message {
	answer := protocol.Confirm{Job: a.Job, Epoch: a.Epoch, Code: protocol.Void}
	var told []protocol.Message
	switch l := k.awardedTo(m.From, a.Job, a.Epoch); {
	case l == nil || l.state == ended:
		k.counts["accept-of-nothing"]++
	case l.state == accepted:
		k.counts["accept-of-nothing"]++
		answer.Code = protocol.Stands
	default:
		l.kept()
		l.state, l.vain = accepted, 0
		k.note(m)
		answer.Code = protocol.Stands
		told = k.stand(now, l, l.placed(a.Start))
	}
	return append([]protocol.Message{k.say(now, m.From, answer)}, told...)
}

// declined puts the job into the next round: a bid is a price, not a place.
func (k *Market) declined(now protocol.Time, m protocol.Message, d protocol.Decline) []protocol.Message {
	said := []protocol.Message{k.say(now, m.From, protocol.Confirm{Job: d.Job, Epoch: d.Epoch, Code: protocol.Void})}
	l := k.awardedTo(m.From, d.Job, d.Epoch)
	switch {
	case k.stopped(m.From, d.Job, d.Epoch):
		k.note(m)
		return said
	case l == nil || l.state == ended:
		k.counts["decline-of-nothing"]++
		return said
	case l.state == called: // its lease had ended, and it is on sale already
		k.note(m)
		l.site = ""
		return said
	}
	k.note(m)
	k.stir(now)
	k.counts["declined"]++
	if l.stop {
		return append(said, k.refuse(now, l, cancelled)...)
	}
	k.rejected(now, l)
	return append(said, k.stand(now, l, protocol.Standing{State: protocol.Waiting, Site: m.From.Site(), Why: d.Why})...)
}

func (k *Market) again(now protocol.Time, l *lot) {
	l.state, l.site, l.due = waiting, "", now.Add(k.cfg.Gather)
	k.agenda.add(l)
}

func (k *Market) awardedTo(from protocol.Party, id protocol.JobID, epoch uint64) *lot {
	l := k.lots[id]
	if l == nil || l.site == "" || from != protocol.Agent(l.site) || epoch != l.epoch {
		return nil
	}
	return l
}

// soon is how far ahead a clock may be for its word to be waited for.
const soon = 24 * time.Hour

// unpayable ends a job whose report cannot be true. It has run, so it is not sold
// again; the report is answered, or it would be said for ever; nothing is paid.
func (k *Market) unpayable(now protocol.Time, m protocol.Message, l *lot, closed protocol.Confirm) []protocol.Message {
	k.counts[string(protocol.BadTerms)]++
	k.note(m)
	k.stir(now)
	why := protocol.Reason{Code: protocol.BadTerms, Note: fmt.Sprintf("what %s reports of its run cannot be; nothing is paid", l.site)}
	return append(k.refuse(now, l, why), k.say(now, m.From, closed))
}

// done settles a job: what was measured is held against what was bid.
//
// A report of a job that is not the site's, or no longer, is answered too: the
// site would say it again for ever. One that is the site's by an award whose
// Accept was not heard counts as that as well.
func (k *Market) done(now protocol.Time, m protocol.Message, d protocol.Done) []protocol.Message {
	closed := protocol.Confirm{Job: d.Job, Epoch: d.Epoch, Code: protocol.Closed}
	l := k.awardedTo(m.From, d.Job, d.Epoch)
	if l == nil || l.state != accepted {
		if k.stopped(m.From, d.Job, d.Epoch) {
			k.note(m)
		}
		k.counts["done-of-nothing"]++
		return []protocol.Message{k.say(now, m.From, closed)}
	}
	if d.Ended > now && d.Ended < now.Add(soon) { // its clock is ahead: it says so again when that has come
		k.counts[string(protocol.BadTerms)]++
		return nil
	}
	if !m.Proper() || d.Ended > now || d.Left < 0 || d.Left > l.job.Run || d.Left > 0 && l.pause == 0 {
		return k.unpayable(now, m, l, closed)
	}
	k.note(m)
	k.stir(now)
	bid := l.bid(d.Left)
	measured := protocol.Bill{IT: d.IT, Energy: d.Energy, Carbon: d.Carbon, Money: d.Money, Finish: d.Ended}
	paid := accounts.Settle(bid, measured, k.cfg.Pay)
	if !k.ledger.Move(accounts.Tenant(l.job.Tenant), accounts.Site(l.site), paid) {
		k.counts["over-account-limit"]++
		paid = 0
	}
	k.trust.Observe(l.site, bid, measured)
	said := []protocol.Message{k.say(now, "", protocol.Settled{
		Job: d.Job, Site: l.site, Payer: l.job.Tenant, Paid: paid,
		BidFor: bid, Counted: measured, Late: d.Left == 0 && d.Ended > l.job.Deadline, Estimated: d.Estimated, Part: d.Left > 0,
	})}
	if d.Left == 0 {
		k.end(now, l)
		return append(said, k.stand(now, l, l.closed(d))...)
	}
	site := l.site
	if k.rest(now, l, d.Left); l.stop {
		return append(said, k.refuse(now, l, cancelled)...)
	}
	return append(said, k.stand(now, l, protocol.Standing{State: protocol.Waiting, Site: site})...)
}

// bid returns what was bid for the part of a run that leaves so much of it.
func (l *lot) bid(left time.Duration) protocol.Bill {
	part := 1.0
	if left > 0 { // a job that does not say how long it runs is not paused
		part -= float64(left) / float64(l.job.Run)
	}
	return protocol.Bill{
		Energy: protocol.Millijoules(float64(l.option.Energy) * part), Carbon: protocol.Milligrams(float64(l.option.Carbon) * part),
		Money: protocol.Microdollars(float64(l.option.Money) * part), Finish: l.option.Finish,
	}
}

// rest puts what is left of a paused job on sale. Its checkpoint lies at the site
// that ran it, which need not move it.
func (k *Market) rest(now protocol.Time, l *lot, left time.Duration) {
	l.job, l.spurns = l.whole.Rest(l.site, left), nil
	k.again(now, l)
}
