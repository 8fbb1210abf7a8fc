package market

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Sites estimate how long a job runs that does not say so. What was bid for it is
// bid for all of it, and a site that keeps its word is believed.
func TestAJobThatDoesNotSayHowLongItRunsIsHeldToWhatWasBid(t *testing.T) {
	for pay, want := range map[accounts.Payment]protocol.Microdollars{accounts.Settled: 12_000, accounts.FirstPrice: 10_000} {
		s := newStage(t, "oslo")
		s.market.cfg.Pay.Pay = pay
		j := s.job()
		j.Run = 0
		s.tell(protocol.Submitter, protocol.Submit{Job: j})
		s.wait()
		s.offer("oslo", menu("train", s.option(0, time.Hour)))
		a := the[protocol.Award](s)
		s.tell("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		d := s.done(a)
		s.now = d.Ended
		s.tell("agent/oslo", d)
		x, o := the[protocol.Settlement](s), a.Option
		if x.Paid != want || x.BidFor != (protocol.Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money, Finish: o.Finish}) {
			t.Errorf("%s: settled %+v; want %d paid, for %+v", pay, x, want, o)
		}
		if f := s.market.trust.TrustFactor("oslo"); f != accounts.HonestFactor {
			t.Errorf("%s: the site is trusted by %d; want %d", pay, f, accounts.HonestFactor)
		}
	}
}
