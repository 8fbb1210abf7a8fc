package grids

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
)

var data = flag.String("data", "../../../../shared/data", "folder of the recorded data")

// Over an autoregressive series of which the best predictor is known, what is learned is within 2 % of
// it one hour and two ahead; the usual rule is farther.
func TestAnAutoregressiveSeriesIsPredictedAsWellAsCanBe(t *testing.T) {
	const level, keeps, noise, hours = 300_000, 0.7, 20_000, 6000
	series := func(seed uint64) []protocol.Point {
		dice := rand.New(rand.NewPCG(seed, 7))
		v, out := 0.0, make([]protocol.Point, hours)
		for i := range out {
			v = keeps*v + noise*dice.NormFloat64()
			out[i] = protocol.Point{At: protocol.FromStdTime(time.Date(2021, 1, 1, i, 0, 0, 0, time.UTC)), Value: level + int64(math.Round(v))}
		}
		return out
	}
	// Without a bound on corrections: this is about what is learned, not about what is let through.
	lessonsOf := func(points []protocol.Point) (all []forecast.Lesson) {
		teacher := forecast.NewTeacher(protocol.GridCarbon, forecast.Market{}, points)
		for i := 24; i < hours; i++ {
			for _, l := range teacher.Lessons(points[i].At, 24+i%48, []int{1, 2}) {
				l.Most = math.MaxFloat32
				all = append(all, l)
			}
		}
		return all
	}
	var lessons lessonSet
	for seed := range uint64(7) {
		lessons.add(lessonsOf(series(seed)), level)
	}
	n, err := fitLessons(t.Context(), &lessons, 1, 6)
	if err != nil {
		t.Fatal(err)
	}
	points, acts := series(99), n.NewActivation()
	var usual, learnt, best [4]float64
	for _, l := range lessonsOf(points) {
		at := int(l.Hour.Sub(points[0].At) / time.Hour)
		lead := int(math.Round(24 * l.Inputs[0]))
		said := n.Forward(forecast.ClipInputs(n, l.Inputs), acts)[l.Output]
		usual[lead] += math.Abs(l.Off) * l.Unit
		learnt[lead] += math.Abs(l.Off-said) * l.Unit
		best[lead] += math.Abs(float64(points[at].Value-level) - math.Pow(keeps, float64(lead))*float64(points[at-lead].Value-level))
	}
	for _, lead := range []int{1, 2} {
		t.Logf("%d h ahead: error over the best predictor's: usual rule %+.1f %%, learned %+.1f %%", lead, 100*(usual[lead]/best[lead]-1), 100*(learnt[lead]/best[lead]-1))
		if learnt[lead] > 1.02*best[lead] || usual[lead] < 1.04*best[lead] {
			t.Errorf("%d h ahead: usual %.0f, learned %.0f, best %.0f; want learned within 2 %% of the best, and usual farther", lead, usual[lead], learnt[lead], best[lead])
		}
	}
}

// One seed gives one file, and another seed another one; the weights in the program are of this program's
// grids.
func TestOneSeedGivesOneFileOfForecasts(t *testing.T) {
	if _, err := os.Stat(filepath.Join(*data, "carbon", "carboncast")); err != nil {
		t.Skip("the recorded series are not here: ", err)
	}
	shipped, err := forecast.ShippedLearned()
	if err != nil {
		t.Fatal(err)
	}
	if got := shipped.File().Days; got != hashOfGrids() {
		t.Errorf("the weights in the program were trained on other grids, of hash %.12s: make learn-grid", got)
	}
	train := func(seed uint64) string {
		f, err := Train(t.Context(), Config{Data: *data, Seed: seed, Version: "test", epochs: 1, sparser: 40})
		if err != nil {
			t.Fatal(err)
		}
		return f.SHA256
	}
	if a, b, other := train(1), train(1), train(2); a != b || a == other {
		t.Errorf("seed 1 gave %s and %s, seed 2 %s", a, b, other)
	}
}

// No grid is trained or chosen on whose terms do not let weights of it be passed on, and no judged day.
func TestTrainingKeepsAwayFromWhatItMayNotUse(t *testing.T) {
	for _, g := range grids() {
		if g.role != reported && (g.folder == "carbon/em" || g.zone == "US-MIDA-PJM" && g.quantity == protocol.GridPrice) {
			t.Errorf("%s/%s is not to be trained on", g.folder, g.zone)
		}
	}
	c, err := newCalendar()
	if err != nil || len(c.judged) != 10 {
		t.Fatalf("%d judged days, %v", len(c.judged), err)
	}
	for hour := range 24 * 7 {
		at := time.Date(2022, 4, 10, hour, 0, 0, 0, time.UTC)
		if got := c.useOf(protocol.FromStdTime(at)); got != unused {
			t.Fatalf("%v is within three days of a judged day, and for use %d", at, got)
		}
	}
	if got := c.useOf(protocol.FromStdTime(time.Date(2022, 4, 9, 23, 0, 0, 0, time.UTC))); got == unused {
		t.Error("four days before a judged day are lost")
	}
}

// A verdict holds where enough unseen zones are better at enough leads and none is much worse.
func TestTheVerdictCountsUnseenZones(t *testing.T) {
	zone := func(seen bool, points ...float64) ZoneError {
		e := ZoneError{Kind: "carbon", Zone: "X", Seen: seen, Default: make([]float64, len(Leads)), Corrected: points}
		return e
	}
	good, bad := []float64{-1, -1, -1, -1, 0.1}, []float64{-1, -1, -1, 0.1, 0.1}
	for name, tc := range map[string]struct {
		errs []ZoneError
		want bool
	}{
		"three of four":   {[]ZoneError{zone(false, good...), zone(false, good...), zone(false, good...), zone(false, bad...)}, true},
		"two of four":     {[]ZoneError{zone(false, good...), zone(false, good...), zone(false, bad...), zone(false, bad...)}, false},
		"seen count not":  {[]ZoneError{zone(false, bad...), zone(true, good...), zone(true, good...), zone(true, good...)}, false},
		"one much worse":  {[]ZoneError{zone(false, good...), zone(false, -1, -1, -1, -1, 0.3)}, false},
		"a seen one does": {[]ZoneError{zone(false, good...), zone(true, -1, -1, -1, -1, 0.3)}, true},
	} {
		if got := Judge(tc.errs); len(got) != 1 || got[0].Holds != tc.want {
			t.Errorf("%s: %v; want %v", name, got, tc.want)
		}
	}
}
