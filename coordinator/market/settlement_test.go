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

// A tariff is paid for the hours in which the job ran, and not for those before its awarded start,
// whatever the site reports.
func TestATariffIsPaidForTheRun(t *testing.T) {
	for _, c := range []struct {
		what   string
		report func(*protocol.UsageReport)
		want   protocol.Microdollars
	}{
		{"an hour of one GPU", func(*protocol.UsageReport) {}, 600_000},
		{"half an hour longer than planned", func(d *protocol.UsageReport) { d.Ended = d.Ended.Add(30 * time.Minute) }, 900_000},
		{"an hour, with a start of ten hours before the award", func(d *protocol.UsageReport) { d.Started = d.Started.Add(-10 * time.Hour) }, 600_000},
	} {
		s := newTestMarket(t, "oslo")
		s.send(protocol.Submitter, protocol.Submit{Job: s.job()})
		s.wait()
		o := s.option(0, time.Hour)
		o.Tariff = 600_000
		s.offer("oslo", bidsOf("train", o))
		a := lastSent[protocol.Award](s)
		s.send("agent/oslo", protocol.Accept{Job: a.Job, Epoch: a.Epoch})
		d := s.done(a)
		d.Started, d.Ended = a.Option.Start, a.Option.Finish
		c.report(&d)
		s.now = d.Ended
		s.send("agent/oslo", d)
		if x := lastSent[protocol.Settlement](s); x.Tariff != c.want || x.Paid != 12_000+c.want {
			t.Errorf("%s: %d paid, %d of it the tariff; want %d and the 12,000 of energy", c.what, x.Paid, x.Tariff, c.want)
		}
	}
}
