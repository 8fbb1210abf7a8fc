package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// frontDays are days of an auction whose savings fall slowly and then fast as it waits less.
func frontDays() (out []FrontDay) {
	prices := []WaitPrice{{Free: true}, {USD: 0.001}, {USD: 0.005}, {USD: 0.02}}
	for i, both := range []float64{-0.60, -0.58, -0.56, -0.30} {
		for day, name := range []string{"monday", "tuesday"} {
			d := FrontDay{Scenario: name, Seed: 1, Curve: FrontAuction, Price: prices[i], Both: both, Cost: both - 0.02*float64(day), Carbon: both / 2, WaitMin: []float64{150, 110, 60, 20}[i], MedianMin: 10, Late: float64(i)}
			out = append(out, d)
			d.Curve, d.WaitMin, d.Cost = FrontClairvoyant, d.WaitMin/2, d.Cost-0.1
			out = append(out, d)
		}
	}
	return out
}

func TestTheKneeIsFarthestAboveTheChord(t *testing.T) {
	points := FrontPoints(frontDays())
	if len(points) != 8 || !points[0].Price.Free || points[1].Price.USD != 0.001 || points[0].Days != 2 || points[4].Curve != FrontClairvoyant {
		t.Fatalf("points are %+v", points)
	}
	for i, p := range points {
		if p.Knee != (i == 2) {
			t.Errorf("point %d, waiting at %s, is the knee: %v", i, p.Price, p.Knee)
		}
	}
	if c := points[0].Cost; math.Abs(c.Mean+0.61) > 1e-9 || math.Abs(c.Low+0.62) > 1e-9 {
		t.Errorf("the cost of both days is %+v", c)
	}
	straight := frontDays()[:0]
	for i, wait := range []float64{10, 20, 30} {
		straight = append(straight, FrontDay{Curve: FrontAuction, Price: WaitPrice{USD: float64(i)}, WaitMin: wait, Both: -wait / 100})
	}
	for _, p := range append(FrontPoints(straight), FrontPoints(frontDays()[:2])...) {
		if p.Knee {
			t.Errorf("a straight line, or a single point, has a knee: %+v", p)
		}
	}
}

// A day on which home-fifo earned has waits and no savings in per cent.
func TestADayWithoutARatioHasNoSavings(t *testing.T) {
	var f FrontDay
	f.fillChanges(-3, 8, BenchRow{BusyCostUSD: -1, BusyKg: 10, KappaUSD: 190})
	if !f.NoRatio || math.Abs(f.Carbon+0.2) > 1e-9 {
		t.Fatalf("%+v", f)
	}
	all := frontDays()
	all[0].NoRatio = true
	p := FrontPoints(all)[0]
	if p.Days != 2 || p.Cost.N != 1 || p.WaitMin.N != 2 {
		t.Errorf("the point is %+v", p)
	}
	var b bytes.Buffer
	if err := writeFrontCSV(&b, all); err != nil || !strings.Contains(b.String(), "monday,1,auction,0,true,,,,150.0000,") {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

func TestAFrontIsReplayedDrawnAndCached(t *testing.T) {
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{MaxJobs: 60})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	p := FrontPlan{
		BenchPlan: BenchPlan{
			Days: []BenchDay{{Scenario: s}}, Steps: 40, SearchSteps: 200, Dir: t.TempDir(),
			Progress: func(format string, args ...any) { log.WriteString(format) },
		},
		Prices: []float64{0.005, 2},
	}
	days, err := RunFront(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(days) != 6 {
		t.Fatalf("%d days; want both curves at three prices", len(days))
	}
	free, dear := days[0], days[4]
	if free.Curve != FrontAuction || !free.Price.Free || dear.Price.USD != 2 || dear.WaitMin >= free.WaitMin {
		t.Errorf("free waiting: %+v; at $2: %+v", free, dear)
	}
	for i := 0; i < len(days); i += 2 {
		online, best := days[i], days[i+1]
		if best.OverBound > online.OverBound || best.OverBound < -1e-4 {
			t.Errorf("waiting at %s: the auction is %v above the bound, the search %v", online.Price, online.OverBound, best.OverBound)
		}
	}
	if err := WriteFront(p.Dir, days); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"front-mean.svg", "front-median.svg"} {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(text))
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) || !bytes.Contains(text, []byte("clairvoyant, carbon")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "front.json"))
	var back struct {
		Schema int
		Points []FrontPoint
		Days   []FrontDay
	}
	if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || back.Schema != 1 || len(back.Points) != 6 || back.Days[0] != free {
		t.Errorf("the JSON is %+v: %v", back, err)
	}
	log.Reset()
	again, err := RunFront(t.Context(), p)
	if err != nil || len(again) != len(days) || again[5] != days[5] || strings.Contains(log.String(), "searching") {
		t.Errorf("from the cache: %v, %+v; was %+v", err, again[5], days[5])
	}
}

// Only the price of waiting of standard jobs changes, and with it the hash.
func TestAWaitPriceChangesNothingElse(t *testing.T) {
	s := spec.Scenario{Hash: "h", Weights: spec.Weights{WaitNow: 2, WaitStandard: 3, WaitFlexible: 4, WaitLimit: 5, Late: 6}}
	x := scenarioAtWaitPrice(s, WaitPrice{USD: 0.005})
	want := s.Weights
	want.WaitStandard = protocol.Microdollars(5000)
	if x.Weights != want || x.Hash == s.Hash {
		t.Errorf("weights are %+v; want %+v", x.Weights, want)
	}
	free := scenarioAtWaitPrice(s, WaitPrice{Free: true})
	if free.Weights.WaitStandard != 0 || free.Weights.WaitLimit != 0 || free.Weights.WaitNow != 2 || free.Hash == scenarioAtWaitPrice(s, WaitPrice{}).Hash {
		t.Errorf("free waiting has %+v", free.Weights)
	}
}
