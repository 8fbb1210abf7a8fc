package auction

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// Rounds that share memory are decided as rounds that each get their own.
func TestRoundsShareMemoryWithoutTraces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared, fresh := New(Config{Steps: 30}), New(Config{Steps: 30})
		for i := range rapid.IntRange(2, 5).Draw(t, "rounds") {
			r := drawRound(t, 6)
			r.Number, r.Full = uint64(i+1), rapid.Bool().Draw(t, "full")
			later := time.Duration(i) * 20 * time.Minute
			r.Now, r.Next = r.Now.Add(later), r.Next.Add(later)
			if rapid.Bool().Draw(t, "hours") { // other slots, and fewer
				r.Planning = protocol.Planning{Slot: time.Hour, Horizon: 24 * time.Hour, MaxStartDelay: time.Hour, FirmLead: time.Hour}
			}
			r.TieTolerance = TieTolerance{MaxExtraThousandths: 100, MaxExtraTotal: 1e6, MaxLots: rapid.IntRange(0, 2).Draw(t, "ties"), Sites: []string{"bern"}}
			fresh.arena, fresh.order = arena{}, nil
			got, want := shared.Clear(r), fresh.Clear(r)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d is decided\n%+v\nin shared memory, and\n%+v\nin its own", i, got, want)
			}
			if shared.sortPlan(); !slices.Equal(shared.order, slices.Sorted(maps.Keys(shared.plan))) {
				t.Fatalf("after round %d the plan is in the order %v", i, shared.order)
			}
			if !reflect.DeepEqual(shared.ShadowPrices(), fresh.ShadowPrices()) {
				t.Fatalf("after round %d the prices are %+v in shared memory, and %+v in its own", i, shared.ShadowPrices(), fresh.ShadowPrices())
			}
		}
	})
}

// A round about one job, after others, takes little memory: most rounds are such.
func TestARoundAboutOneJobTakesLittleMemory(t *testing.T) {
	a, r := New(Config{}), crowd(1, 16, 4, 2)
	r.Full = false
	a.Clear(r)
	const rounds = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		a.Clear(r)
	}
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / rounds
	if perPool := bytes / 16; perPool > 2_000 {
		t.Errorf("it takes %d bytes for each of 16 pools; want far less than the arrays of a pool", perPool)
	}
}
