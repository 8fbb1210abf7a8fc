package accounts

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

const kWh = protocol.Millijoules(3_600_000_000)

func energy(e protocol.Millijoules) protocol.Bill { return protocol.Bill{Energy: e} }

// after returns the factor of a site that bid 1 kWh a time and measured as given.
func after(measured ...protocol.Millijoules) protocol.Milli {
	var trust Trust
	for _, m := range measured {
		trust.Observe("oslo", energy(kWh), energy(m))
	}
	return trust.Factor("oslo")
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
		{"what is forgotten does not count", append(times(Memory, 2*kWh), times(Memory, kWh)...), 1000, 1000},
		{"no factor passes the largest", times(Memory, 1e9*kWh), Untrue, Untrue},
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
	trust.Observe("oslo", energy(0), energy(kWh))
	if got := trust.Factor("oslo"); got != Untrue {
		t.Errorf("factor = %d; want %d", got, Untrue)
	}
	trust.Observe("lyon", energy(0), energy(0))
	if got := trust.Factor("lyon"); got != Honest {
		t.Errorf("factor of a site that bid and took nothing = %d; want %d", got, Honest)
	}
}

func TestAnHonestNoisySiteIsNotPricedOutAndALiarIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var trust Trust
	for range 500 {
		noise := 1 + 0.1*rng.NormFloat64()
		size := math.Exp(rng.NormFloat64())
		bid := protocol.Millijoules(size * float64(kWh))
		trust.Observe("honest", energy(bid), energy(protocol.Millijoules(noise*float64(bid))))
		trust.Observe("liar", energy(bid*7/10), energy(protocol.Millijoules(noise*float64(bid))))
	}
	if got := trust.Factor("honest"); got > 1050 {
		t.Errorf("factor of an honest site with 10 %% noise = %d; want at most 1050", got)
	}
	if got := trust.Factor("liar"); got < 1350 {
		t.Errorf("factor of a site that bids 70 %% of the truth = %d; want at least 1350", got)
	}
}

func TestSmallHonestJobsDoNotCoverALargeLie(t *testing.T) {
	var trust Trust
	for range 20 {
		trust.Observe("oslo", energy(kWh/100), energy(kWh/100))
		trust.Observe("oslo", energy(100*kWh), energy(200*kWh))
	}
	if got := trust.Factor("oslo"); got < 1800 {
		t.Errorf("factor = %d; want at least 1800", got)
	}
}

func TestTrustRestsOnASitesOwnLastJobsAlone(t *testing.T) {
	type job struct{ bid, measured protocol.Millijoules }
	amount := rapid.SampledFrom([]protocol.Millijoules{0, 1, kWh, 2 * kWh, -kWh, math.MaxInt64})
	jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job {
		return job{amount.Draw(t, "bid"), amount.Draw(t, "measured")}
	}), Memory, Memory)
	rapid.Check(t, func(t *rapid.T) {
		var fresh, old Trust
		for range rapid.IntRange(0, 100).Draw(t, "forgotten") {
			old.Observe("oslo", energy(kWh), energy(9*kWh))
		}
		for _, j := range jobs.Draw(t, "jobs") {
			fresh.Observe("oslo", energy(j.bid), energy(j.measured))
			old.Observe("oslo", energy(j.bid), energy(j.measured))
			old.Observe("lyon", energy(kWh), energy(9*kWh))
		}
		// The ring starts elsewhere, so a sum may differ in its last bit.
		a, b := fresh.Factor("oslo"), old.Factor("oslo")
		if a-b > 1 || b-a > 1 {
			t.Fatalf("factor is %d without a past and %d with one that is forgotten", a, b)
		}
		if a < Honest || a > Untrue {
			t.Fatalf("factor %d is outside %d..%d", a, Honest, Untrue)
		}
	})
}

// Energy can be honest and carbon not; a forecast that is off is no lie.
func TestALieAboutCarbonCostsTrustAndAForecastDoesNot(t *testing.T) {
	bill := func(energy protocol.Millijoules, carbon protocol.Milligrams) protocol.Bill {
		return protocol.Bill{Energy: energy, Carbon: carbon}
	}
	var trust Trust
	for i := range 40 {
		trust.Observe("liar", bill(1e9, 1_000), bill(1e9, 3_000))
		off := protocol.Milligrams(700 + 600*(i%2)) // 30 % either way
		trust.Observe("guesser", bill(1e9, 1_000), bill(1e9, off))
		trust.Observe("free", bill(1e9, 0), bill(1e9, 0))
	}
	if f := trust.Factor("liar"); f < 1800 {
		t.Errorf("a third of the carbon gives %d", f)
	}
	for _, site := range []string{"guesser", "free"} {
		if f := trust.Factor(site); f != Honest {
			t.Errorf("%s has %d; want %d", site, f, Honest)
		}
	}
}
