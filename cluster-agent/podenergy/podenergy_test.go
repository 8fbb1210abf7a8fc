package podenergy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

const noon = protocol.Time(1_767_355_200_000) // 2026-01-02T12:00:00Z

// Whatever is added, no millijoule is lost or made, each hour gets its part, and
// what is written is read.
func TestNothingIsLostBetweenHours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var y EnergyTally
		at, sum := noon.Add(time.Duration(rapid.IntRange(0, 59).Draw(t, "minute"))*time.Minute), protocol.Millijoules(0)
		begun := at
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			to := at.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "minutes")) * time.Minute)
			energy := protocol.Millijoules(rapid.IntRange(0, 1_000_000_000).Draw(t, "energy"))
			y.AddEnergy(at, to, energy)
			at, sum = to, sum+energy
		}
		y.Until, y.Final = at, rapid.Bool().Draw(t, "final")
		y.Counters = map[string]protocol.Millijoules{"GPU-1": sum}
		for range rapid.IntRange(0, 3).Draw(t, "looks") {
			y.Samples.AddSample(protocol.Milli(rapid.IntRange(-5, 1005).Draw(t, "busy")), protocol.MiB(rapid.IntRange(0, 80_000).Draw(t, "memory")), rapid.IntRange(0, 110).Draw(t, "hot"))
		}
		if y.TotalEnergy() != sum {
			t.Fatalf("%v sums to %d, want %d", y.Hours, y.TotalEnergy(), sum)
		}
		for _, s := range y.Hours {
			if s.Hour < begun.Floor(time.Hour) || s.Hour > at || s.Energy < 0 {
				t.Fatalf("%v: hours from %v to %v", y.Hours, begun, at)
			}
		}
		got, err := ParseEnergyTally(y.EncodeAnnotation())
		if err != nil || !reflect.DeepEqual(got, y) && len(y.Hours) > 0 {
			t.Fatalf("ParseEnergyTally(%s) = %+v, %v; want %+v", y.EncodeAnnotation(), got, err, y)
		}
	})
}

func TestLooksTellTheMeanAndTheMost(t *testing.T) {
	var a, b UtilizationSamples
	a.AddSample(900, 4000, 60)
	a.AddSample(700, 9000, 71)
	b.AddSample(200, 100, 50)
	a.MergeSamples(b)
	if got, want := a.MeanUtilization(), (protocol.Utilization{GPU: 600, GPUMemory: 9000, Temperature: 71}); got != want {
		t.Errorf("Use = %+v; want %+v", got, want)
	}
	if (UtilizationSamples{}).MeanUtilization() != (protocol.Utilization{}) {
		t.Error("without a look something is told")
	}
	for _, bad := range []string{`{"v":1,"looks":{"n":1,"busy_milli":1001}}`, `{"v":1,"looks":{"n":-1}}`, `{"v":1,"looks":{"hottest_c":900}}`} {
		if y, err := ParseEnergyTally(bad); err == nil {
			t.Errorf("ParseEnergyTally(%s) = %+v", bad, y)
		}
	}
}

func TestAnHourGetsItsPart(t *testing.T) {
	var y EnergyTally
	y.AddEnergy(noon.Add(30*time.Minute), noon.Add(150*time.Minute), 1200)
	want := []protocol.HourlyEnergy{{Hour: noon, Energy: 300}, {Hour: noon.Add(time.Hour), Energy: 600}, {Hour: noon.Add(2 * time.Hour), Energy: 300}}
	if !reflect.DeepEqual(y.Hours, want) {
		t.Errorf("Add(two hours from half past) = %v, want %v", y.Hours, want)
	}
	y.AddEnergy(noon, noon.Add(time.Minute), -5)
	y.MarkMissing("the first reason")
	y.MarkMissing("another")
	if y.TotalEnergy() != 1200 || y.Missing != "the first reason" {
		t.Errorf("%+v", y)
	}
}

func TestWhatCannotBeIsNotRead(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{}`, `{"v":2}`, `{"v":1,"until_ms":-1}`, `{"v":1,"until_ms":7200000,"hours":[[0,-1]]}`,
		`{"v":1,"until_ms":7200000,"hours":[[1,1]]}`, `{"v":1,"until_ms":7200000,"hours":[[3600000,1],[3600000,1]]}`,
		`{"v":1,"until_ms":7200000,"hours":[[0,9007199254740993]]}`, `{"v":1,"until_ms":1,"hours":[[3600000,5]]}`, strings.Repeat(" ", maxTextBytes+1),
	} {
		if y, err := ParseEnergyTally(text); err == nil {
			t.Errorf("ParseEnergyTally(%.60s) = %+v", text, y)
		}
	}
	for _, text := range []string{``, `{"cap_mw":-1}`, `{"cap_mw":1e9}`, `{"idle_mw":99000000}`} {
		if p, err := ParsePowerPlan(text); err == nil {
			t.Errorf("ParsePowerPlan(%s) = %+v", text, p)
		}
	}
	p := PowerPlan{Cap: 300_000, Idle: 70_000}
	if got, err := ParsePowerPlan(p.EncodeAnnotation()); got != p || err != nil {
		t.Errorf("ParsePowerPlan(%s) = %+v, %v", p.EncodeAnnotation(), got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(EnergyTally{Hours: []protocol.HourlyEnergy{{Hour: noon, Energy: 5}}, Until: noon, Counters: map[string]protocol.Millijoules{"GPU-1": 7}}.EncodeAnnotation())
	f.Fuzz(func(t *testing.T, text string) {
		y, err := ParseEnergyTally(text)
		if err != nil {
			return
		}
		if again, err := ParseEnergyTally(y.EncodeAnnotation()); err != nil || again.TotalEnergy() != y.TotalEnergy() || again.Until != y.Until {
			t.Errorf("ParseEnergyTally(%q) = %+v, which is written %s and read %+v, %v", text, y, y.EncodeAnnotation(), again, err)
		}
		for _, s := range y.Hours {
			if s.Energy < 0 || s.Energy > maxEnergy {
				t.Errorf("%q: %v", text, s)
			}
		}
		_, _ = ParsePowerPlan(text)
	})
}
