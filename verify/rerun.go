package verify

import (
	"encoding/json"
	"slices"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// rerun steps a market of its own over the inputs of the log, in their order, and compares what it
// says with what the log says. A coordinator's market is deterministic, so the first difference is a
// lie, or the work of another release. What follows it rests on it, and is not judged.
func (a *auditor) rerun() {
	switch {
	case len(a.entries) == 0:
		return
	case a.first > 0:
		a.note("the record begins at entry %d: rounds are not run again, because they rest on what came before", a.first)
		return
	}
	x := &rerun{auditor: a}
	for i := 0; i < len(a.entries) && !x.ended; {
		i = x.step(i)
	}
}

// A rerun is a market that hears what the coordinator's heard.
type rerun struct {
	*auditor
	market    *market.Market
	events    []protocol.Message // of all incarnations, from which the next is restored
	clearings []siteClearing     // of this step
	ended     bool
}

type siteClearing struct {
	site string
	read protocol.SiteClearing
}

// step takes one input and compares what follows it in the log; i is the place of the input. It
// returns the place of the next input.
func (x *rerun) step(i int) int {
	e := x.entries[i]
	if e.m != nil {
		if b, ok := e.m.Body.(protocol.LogBegin); ok {
			x.begin(e, b)
			return i + 1
		}
	}
	next := i + 1
	for next < len(x.entries) && x.entries[next].From == protocol.Coordinator {
		next++
	}
	if x.market == nil || e.From == protocol.Coordinator {
		x.stop(e, Replay, "it follows no input")
		return next
	}
	x.clearings = x.clearings[:0]
	var said []protocol.Message
	if e.isTick() {
		said = x.market.Tick(e.At)
	} else {
		said = x.market.Step(e.At, *e.m)
	}
	x.events = append(x.events, x.market.Events()...)
	for _, c := range x.clearings {
		said = append(said, x.market.NewMessage(e.At, protocol.AgentParty(c.site), c.read))
		x.Rounds = max(x.Rounds, int(c.read.Round))
	}
	x.compare(e, said, x.entries[i+1:next])
	return next
}

// begin begins an incarnation: with the events of those before, as the coordinator does.
func (x *rerun) begin(e logEntry, b protocol.LogBegin) {
	var settings market.Config
	if err := json.Unmarshal([]byte(b.Rules), &settings); err != nil {
		x.ended = true
		x.note("the settings of incarnation %d, entry %d, cannot be read: the rounds from there on are not run again: %v", b.Incarnation, e.index, err)
		return
	}
	x.market = market.New(settings, observer{auction.New(auction.Config{}), x})
	for _, m := range x.events {
		x.market.Restore(m)
	}
	x.market.BeginIncarnation(uint32(b.Incarnation))
}

// stop ends the comparison with a finding.
func (x *rerun) stop(e logEntry, c Check, format string, args ...any) {
	x.ended = true
	x.add(c, e.index, format, args...)
	x.note("what follows entry %d rests on it, and is not run again", e.index)
}

// compare compares what the market says in a step with what the log has.
func (x *rerun) compare(input logEntry, said []protocol.Message, logged []logEntry) {
	for i := range max(len(said), len(logged)) {
		switch {
		case i < len(said) && i < len(logged) && logged[i].m == nil:
			said[i].Seq = logged[i].Seq
			if !logged[i].isOf(&said[i]) {
				x.stop(logged[i], checkOf(said[i]), "the record lacks what the log has, and it is not what the market says: %s", describe(said[i]))
				return
			}
		case i >= len(said) && logged[i].m == nil:
			x.stop(logged[i], Replay, "the record lacks what the log has, and the market says nothing")
			return
		case i >= len(logged):
			x.stop(input, checkOf(said[i]), "after it the market says %s, and the log has nothing", describe(said[i]))
			return
		case i >= len(said):
			x.stop(logged[i], checkOf(*logged[i].m), "%s is in the log, and the market does not say it", describe(*logged[i].m))
			return
		case !sameButNumber(said[i], *logged[i].m):
			x.stop(logged[i], differenceOf(said[i], *logged[i].m), "the log has %s, and the market says %s", describe(*logged[i].m), describe(said[i]))
			return
		}
	}
}

// sameButNumber reports whether two messages say the same: receipts and heads take numbers too.
func sameButNumber(x, y protocol.Message) bool {
	x.Seq, y.Seq = 1, 1
	a, err := proof.DigestOf(x)
	b, err2 := proof.DigestOf(y)
	return err == nil && err2 == nil && a == b
}

// describe names a message.
func describe(m protocol.Message) string {
	text := m.KindName()
	if id, ok := m.OneJob(); ok {
		text += " of job " + string(id)
	}
	if m.To != "" {
		text += " to " + string(m.To)
	}
	return text
}

// differenceOf returns the check that fails when the log has y where the market says x.
func differenceOf(x, y protocol.Message) Check {
	switch want := x.Body.(type) {
	case protocol.Award:
		if got, ok := y.Body.(protocol.Award); ok && want.Proof != got.Proof {
			got.Proof = want.Proof
			if y.Body = got; sameButNumber(x, y) {
				return Bound
			}
		}
	case protocol.Settlement:
		got, ok := y.Body.(protocol.Settlement)
		switch {
		case ok && got.Payer != want.Payer:
			return Payer
		case ok && got.Paid != want.Paid:
			return Payment
		}
	case protocol.ServiceSettlement:
		got, ok := y.Body.(protocol.ServiceSettlement)
		switch {
		case ok && got.Payer != want.Payer:
			return Payer
		case ok && got.Paid != want.Paid:
			return Payment
		}
	case protocol.SiteClearing:
		got, ok := y.Body.(protocol.SiteClearing)
		switch {
		case ok && got.Trust != want.Trust:
			return Trusted
		case ok && !slices.EqualFunc(got.Capacity, want.Capacity, sameCapacity):
			return Capacity
		case ok:
			return Prices
		}
	}
	if c := checkOf(y); c != Clearing {
		return c
	}
	return checkOf(x)
}

// checkOf returns the check to which what the market says belongs.
func checkOf(m protocol.Message) Check {
	switch m.Body.(type) {
	case protocol.CallForBids, protocol.SitePrices, protocol.Award, protocol.Defer, protocol.Reject, protocol.SiteClearing:
		return Clearing
	case protocol.Preempt:
		return Preemption
	case protocol.Settlement, protocol.ServiceSettlement:
		return Settled
	case protocol.Policy:
		return PolicyCheck
	}
	return Replay
}

// An observer is the auction, with what it reads noted.
type observer struct {
	*auction.Auction
	x *rerun
}

// Clear implements auction.ClearingRule.
func (o observer) Clear(r auction.Round) auction.Outcome {
	sites := slices.Clone(r.Sites)
	out := o.Auction.Clear(r)
	prices := o.ShadowPrices()
	for _, s := range sites {
		c := siteClearing{s.Name, protocol.SiteClearing{Round: r.Number, Trust: s.Trust, Capacity: s.Capacity}}
		for _, p := range prices {
			if p.Site == s.Name {
				c.read.ShadowPrices = append(c.read.ShadowPrices, p)
			}
		}
		o.x.clearings = append(o.x.clearings, c)
	}
	return out
}
