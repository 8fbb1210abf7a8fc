package main

import (
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// siteLimits returns the limits on senders of a coordinator in its own process, with rates
// per second of the simulated clock.
func (f *upFlags) siteLimits() *natsbus.Limits {
	l := natsbus.DefaultSiteLimits()
	l.Rate *= f.speed
	l.Burst, l.Bytes = int(float64(l.Burst)*f.speed), int(float64(l.Bytes)*f.speed)
	return l
}

// marketRules returns the configuration of the market. Like a coordinator in its own process
// it calls at most 512 jobs in a round: more would not fit into the largest bids that it
// accepts.
func (f *upFlags) marketRules(w protocol.Weights) market.Config {
	return market.Config{Terms: w, Pay: accounts.PaymentRule{Margin: 100}, Most: 512, Advice: f.scaledAdvice(f.speed)}
}
