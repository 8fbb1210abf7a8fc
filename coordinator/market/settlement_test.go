package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Sites estimate the length of a job that states none. The bid covers the whole run, and a site
// that keeps to it keeps its trust.
func TestJobOfUnknownLengthIsSettledAgainstItsBid(t *testing.T) {
	for pay, want := range map[accounts.Payment]protocol.Microdollars{accounts.Settled: 12_000, accounts.FirstPrice: 10_000} {
		s := newTestMarket(t, "oslo")
		s.market.cfg.Pay.Pay = pay
		j := s.job()
		j.Run = 0
		s.send(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		s.offer("oslo", bidsOf("train", s.option(0, time.Hour)))
		a := lastSent[protocol.Award](s)
		s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		d := s.done(a)
		s.now = d.Ended
		s.send("agent/oslo", d)
		x, o := lastSent[protocol.Settlement](s), a.Option
		if x.Paid != want || x.BidFor != (protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish}) {
			t.Errorf("%s: settled %+v; want %d paid, for %+v", pay, x, want, o)
		}
		if f := s.market.trust.TrustFactor("oslo"); f != accounts.HonestFactor {
			t.Errorf("%s: the site is trusted by %d; want %d", pay, f, accounts.HonestFactor)
		}
	}
}
