package accounts

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

const kWh = protocol.Millijoules(3_600_000_000)

func energy(e protocol.Millijoules) protocol.Usage { return protocol.Usage{Energy: e} }

// after returns the factor of a site that bid 1 kWh a time and measured as given.
func after(measured ...protocol.Millijoules) protocol.Milli {
	var trust Trust
	for _, m := range measured {
		trust.ObserveJob("oslo", energy(kWh), energy(m))
	}
	return trust.TrustFactor("oslo")
}

func times(n int, e protocol.Millijoules) (all []protocol.Millijoules) {
	for range n {
		all = append(all, e)
	}
	return all
}

func TestFactor(t *testing.T) {
	for _, tc := range []struct {
		name     string
		measured []protocol.Millijoules
		lo, hi   protocol.Milli
	}{
		{"a site without jobs is honest", nil, 1000, 1000},
		{"a site that keeps its word is honest", times(10, kWh), 1000, 1000},
		{"a site that takes less than it said gains nothing", times(10, kWh/2), 1000, 1000},
		{"one bad job is not yet a liar", times(1, kWh*13/10), 1060, 1060},
		{"thirty jobs a third over the bid are nearly priced in full", times(30, kWh*13/10), 1250, 1300},
		{"what is forgotten does not count", append(times(TrustWindow, 2*kWh), times(TrustWindow, kWh)...), 1000, 1000},
		{"no factor passes the largest", times(TrustWindow, 1e9*kWh), MaxTrustFactor, MaxTrustFactor},
		{"energy below zero counts as none", times(5, -kWh), 1000, 1000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := after(tc.measured...); got < tc.lo || got > tc.hi {
				t.Errorf("factor after %d jobs = %d; want %d..%d", len(tc.measured), got, tc.lo, tc.hi)
			}
		})
	}
}

func TestABidOfNoEnergyForAJobThatTakesSomeIsUntrue(t *testing.T) {
	var trust Trust
	trust.ObserveJob("oslo", energy(0), energy(kWh))
	if got := trust.TrustFactor("oslo"); got != MaxTrustFactor {
		t.Errorf("factor = %d; want %d", got, MaxTrustFactor)
	}
	trust.ObserveJob("lyon", energy(0), energy(0))
	if got := trust.TrustFactor("lyon"); got != HonestFactor {
		t.Errorf("factor of a site that bid and took nothing = %d; want %d", got, HonestFactor)
	}
}

func TestAnHonestNoisySiteIsNotPricedOutAndALiarIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var trust Trust
	for range 500 {
		noise := 1 + 0.1*rng.NormFloat64()
		size := math.Exp(rng.NormFloat64())
		bid := protocol.Millijoules(size * float64(kWh))
		trust.ObserveJob("honest", energy(bid), energy(protocol.Millijoules(noise*float64(bid))))
		trust.ObserveJob("liar", energy(bid*7/10), energy(protocol.Millijoules(noise*float64(bid))))
	}
	if got := trust.TrustFactor("honest"); got > 1050 {
		t.Errorf("factor of an honest site with 10 %% noise = %d; want at most 1050", got)
	}
	if got := trust.TrustFactor("liar"); got < 1350 {
		t.Errorf("factor of a site that bids 70 %% of the truth = %d; want at least 1350", got)
	}
}

func TestSmallHonestJobsDoNotCoverALargeLie(t *testing.T) {
	var trust Trust
	for range 20 {
		trust.ObserveJob("oslo", energy(kWh/100), energy(kWh/100))
		trust.ObserveJob("oslo", energy(100*kWh), energy(200*kWh))
	}
	if got := trust.TrustFactor("oslo"); got < 1800 {
		t.Errorf("factor = %d; want at least 1800", got)
	}
}

func TestTrustRestsOnASitesOwnLastJobsAlone(t *testing.T) {
	type job struct{ bid, measured protocol.Millijoules }
	amount := rapid.SampledFrom([]protocol.Millijoules{0, 1, kWh, 2 * kWh, -kWh, math.MaxInt64})
	jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job {
		return job{amount.Draw(t, "bid"), amount.Draw(t, "measured")}
	}), TrustWindow, TrustWindow)
	rapid.Check(t, func(t *rapid.T) {
		var fresh, old Trust
		for range rapid.IntRange(0, 100).Draw(t, "forgotten") {
			old.ObserveJob("oslo", energy(kWh), energy(9*kWh))
		}
		for _, j := range jobs.Draw(t, "jobs") {
			fresh.ObserveJob("oslo", energy(j.bid), energy(j.measured))
			old.ObserveJob("oslo", energy(j.bid), energy(j.measured))
			old.ObserveJob("lyon", energy(kWh), energy(9*kWh))
		}
		// The ring starts elsewhere, so a sum may differ in its last bit.
		a, b := fresh.TrustFactor("oslo"), old.TrustFactor("oslo")
		if a-b > 1 || b-a > 1 {
			t.Fatalf("factor is %d without a past and %d with one that is forgotten", a, b)
		}
		if a < HonestFactor || a > MaxTrustFactor {
			t.Fatalf("factor %d is outside %d..%d", a, HonestFactor, MaxTrustFactor)
		}
	})
}

// Energy can be honest and carbon not; a forecast that is off is no lie.
func TestALieAboutCarbonCostsTrustAndAForecastDoesNot(t *testing.T) {
	bill := func(energy protocol.Millijoules, carbon protocol.Milligrams) protocol.Usage {
		return protocol.Usage{Energy: energy, Carbon: carbon}
	}
	var trust Trust
	for i := range 40 {
		trust.ObserveJob("liar", bill(1e9, 1_000), bill(1e9, 3_000))
		off := protocol.Milligrams(700 + 600*(i%2)) // 30 % either way
		trust.ObserveJob("guesser", bill(1e9, 1_000), bill(1e9, off))
		trust.ObserveJob("free", bill(1e9, 0), bill(1e9, 0))
	}
	if f := trust.TrustFactor("liar"); f < 1800 {
		t.Errorf("a third of the carbon gives %d", f)
	}
	for _, site := range []string{"guesser", "free"} {
		if f := trust.TrustFactor(site); f != HonestFactor {
			t.Errorf("%s has %d; want %d", site, f, HonestFactor)
		}
	}
}

func TestAMissedStartCountsAsAJobOfTwiceTheBid(t *testing.T) {
	var trust Trust
	trust.ObserveMissedStart("oslo")
	if f := trust.TrustFactor("oslo"); f != 1200 {
		t.Errorf("after one missed start the factor is %d; want 1200", f)
	}
	for range 20 {
		trust.ObserveMissedStart("oslo")
	}
	if f := trust.TrustFactor("oslo"); f < 1800 || f > 2000 {
		t.Errorf("after 21 missed starts the factor is %d; want 1800..2000", f)
	}
	for range TrustWindow {
		trust.ObserveJob("oslo", energy(kWh), energy(kWh))
	}
	if f := trust.TrustFactor("oslo"); f != HonestFactor {
		t.Errorf("after %d honest jobs the factor is %d; want %d", TrustWindow, f, HonestFactor)
	}
	var mixed, honest Trust
	for range 30 {
		mixed.ObserveJob("oslo", energy(kWh), energy(kWh))
		honest.ObserveJob("oslo", energy(kWh), energy(kWh))
		mixed.ObserveJob("lyon", energy(kWh), energy(2*kWh))
		honest.ObserveJob("lyon", energy(kWh), energy(2*kWh))
	}
	mixed.ObserveMissedStart("oslo")
	mixed.ObserveMissedStart("lyon")
	if a, b := mixed.TrustFactor("oslo"), honest.TrustFactor("oslo"); a <= b {
		t.Errorf("a missed start among honest jobs leaves the factor at %d", a)
	}
	if a, b := mixed.TrustFactor("lyon"), honest.TrustFactor("lyon"); a < b {
		t.Errorf("a missed start lowers the factor of a site that takes twice its bids from %d to %d", b, a)
	}
}
