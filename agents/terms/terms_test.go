package terms

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"pgregory.net/rapid"
)

// tuesday is 2022-03-08, a Tuesday, 00:00 UTC.
var tuesday = protocol.FromStdTime(time.Date(2022, 3, 8, 0, 0, 0, 0, time.UTC))

func gpus(n float64) *float64 { return &n }

func TestATenantIsServedOrNot(t *testing.T) {
	for _, c := range []struct {
		terms  File
		tenant string
		gpus   int
		want   string
	}{
		{File{}, "a", 8, ""},
		{File{Serve: []string{"a", "b"}}, "b", 8, ""},
		{File{Serve: []string{"a", "b"}}, "c", 8, "does not serve c"},
		{File{Serve: []string{"a", "b"}}, "", 8, "does not serve jobs without a tenant"},
		{File{Exclude: []string{"c"}}, "c", 8, "does not serve c"},
		{File{Exclude: []string{"c"}}, "", 8, ""},
		{File{Own: []string{"c"}, Serve: []string{"a"}}, "c", 8, ""},
		{File{MostGPUs: gpus(4)}, "a", 4, ""},
		{File{MostGPUs: gpus(4)}, "a", 8, "lends at most 4 GPUs"},
		{File{MostGPUs: gpus(0.5)}, "a", 1, "lends at most 0.5 GPUs"},
		{File{MostGPUs: gpus(0)}, "a", 0, ""},
		{File{MostGPUs: gpus(4), Own: []string{"a"}}, "a", 8, ""},
	} {
		terms, err := c.terms.Terms()
		if err != nil {
			t.Fatal(err)
		}
		if got := terms.Refusal(&protocol.Job{Tenant: c.tenant, GPUs: c.gpus, Share: 1000}); got != c.want {
			t.Errorf("%+v, tenant %q, %d GPUs: %q; want %q", c.terms, c.tenant, c.gpus, got, c.want)
		}
	}
}

func TestATariffIsByModel(t *testing.T) {
	f := File{Own: []string{"us"}, Tariff: &FileTariff{GPUHour: gpus(0.5), Models: map[string]float64{"A100": 1.25, "T4": 0}}}
	terms, err := f.Terms()
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]protocol.Microdollars{"V100": 500_000, "A100": 1_250_000, "T4": 0, "": 500_000} {
		if got := terms.ChargeFor(&protocol.Job{Tenant: "guest"}, model).PerGPUHour(900, time.Hour); got != want {
			t.Errorf("a guest pays %d for a GPU-hour on %q; want %d", got, model, want)
		}
		if got := terms.ChargeFor(&protocol.Job{Tenant: "us"}, model).PerGPUHour(900, time.Hour); got != 0 {
			t.Errorf("its own tenant pays %d for a GPU-hour on %q; want nothing", got, model)
		}
	}
	var fault Fault
	if _, err := (File{Tariff: &FileTariff{Models: map[string]float64{"H10O": 1}}}).Terms(); !errors.As(err, &fault) || fault.Path[2] != "H10O" {
		t.Errorf("a price for a model that does not exist: %v; want a fault that names it", err)
	}
}

// With a margin a site charges a part of what the energy costs, and with a floor what a GPU-hour lacks of it; with both
// what is more. Two GPUs run for two hours.
func TestATariffHasAMarginAndAFloor(t *testing.T) {
	guest := &protocol.Job{Tenant: "guest", GPUs: 2, Share: 1000}
	for _, c := range []struct {
		tariff FileTariff
		energy protocol.Microdollars // of the four GPU-hours
		want   protocol.Microdollars
	}{
		{FileTariff{Margin: 0.15}, 400_000, 15_000},
		{FileTariff{Margin: 0.15, GPUHour: gpus(0.5)}, 400_000, 515_000},
		{FileTariff{Margin: 0.15}, -400_000, 0}, // of energy that is paid to be used there is no margin
		{FileTariff{Floor: gpus(0.25)}, 400_000, 150_000},
		{FileTariff{Floor: gpus(0.25)}, -400_000, 350_000}, // though power costs less than nothing
		{FileTariff{Floor: gpus(0.25)}, 2_000_000, 0},
		{FileTariff{Floor: gpus(0.25), GPUHour: gpus(0.2)}, 400_000, 200_000},
		{FileTariff{Floor: gpus(0.25), GPUHour: gpus(0.1), Margin: 0.5}, 400_000, 150_000},
		{FileTariff{Margin: 10}, 1e15, protocol.MaxTariff},
	} {
		terms, err := File{Own: []string{"us"}, Tariff: &c.tariff}.Terms()
		if err != nil {
			t.Fatal(err)
		}
		if got := terms.ChargeFor(guest, "V100").PerGPUHour(c.energy, 2*time.Hour); got != c.want {
			t.Errorf("%+v, energy of %d: %d for a GPU-hour; want %d", terms.Tariff, c.energy, got, c.want)
		}
		if got := terms.ChargeFor(&protocol.Job{Tenant: "us", GPUs: 2, Share: 1000}, "V100").PerGPUHour(c.energy, 2*time.Hour); got != 0 {
			t.Errorf("%+v: its own tenant pays %d", terms.Tariff, got)
		}
	}
}

func TestHoursOfTheWeek(t *testing.T) {
	nights := File{Hours: []FileHours{{From: "20:00", To: "06:00"}}}
	weekend := File{Hours: []FileHours{{Days: []string{"sat", "sun"}, From: "00:00", To: "24:00"}}}
	both := File{Hours: append(slices.Clone(nights.Hours), weekend.Hours...)}
	at := func(day, hour int) protocol.Time { return tuesday.Add(time.Duration(24*day+hour) * time.Hour) }
	for _, c := range []struct {
		what  string
		terms File
		at    protocol.Time
		run   time.Duration
		want  protocol.Time // 0: never
	}{
		{"in the night", nights, at(0, 22), 2 * time.Hour, at(0, 22)},
		{"after midnight", nights, at(0, 3), 3 * time.Hour, at(0, 3)},
		{"too long for the rest of the night", nights, at(0, 3), 4 * time.Hour, at(0, 20)},
		{"by day", nights, at(0, 12), time.Hour, at(0, 20)},
		{"longer than a night", nights, at(0, 12), 11 * time.Hour, 0},
		{"on a Tuesday", weekend, at(0, 12), 30 * time.Hour, at(4, 0)},
		{"longer than a weekend", weekend, at(0, 12), 49 * time.Hour, 0},
		{"a weekend between nights", both, at(0, 12), 58 * time.Hour, at(3, 20)}, // Friday 20:00 to Monday 06:00
		{"an hour longer", both, at(0, 12), 59 * time.Hour, 0},
		{"without hours", File{}, at(0, 12), 999 * time.Hour, at(0, 12)},
		{"round the clock", File{Hours: []FileHours{{From: "06:00", To: "06:00"}}}, at(0, 12), 999 * time.Hour, at(0, 12)},
	} {
		terms, err := c.terms.Terms()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := terms.OpenFor(c.at, c.run)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%s: %v %t; want %v", c.what, got, ok, c.want)
		}
	}
}

// What OpenFor says is the first start from which every minute of the run lies in some hours.
func TestOpenForIsTheFirstStartWithinHours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var terms Terms
		for range rapid.IntRange(1, 4).Draw(t, "hours") {
			from := time.Duration(rapid.IntRange(0, 167).Draw(t, "from")) * time.Hour
			terms.Hours = append(terms.Hours, Hours{from, from + time.Duration(rapid.IntRange(1, 24).Draw(t, "length"))*time.Hour})
		}
		open := func(at protocol.Time) bool {
			into := at.Sub(tuesday)%week + 24*time.Hour // since Monday 00:00
			for into < 0 {
				into += week
			}
			return slices.ContainsFunc(terms.Hours, func(h Hours) bool {
				return h.From <= into && into < h.To || h.From <= into+week && into+week < h.To || h.From <= into-week && into-week < h.To
			})
		}
		at := tuesday.Add(time.Duration(rapid.IntRange(-400, 400).Draw(t, "at")) * time.Hour)
		run := time.Duration(rapid.IntRange(1, 60).Draw(t, "run")) * time.Hour
		allOpen := func(start protocol.Time) bool {
			for d := time.Duration(0); d < run; d += time.Hour {
				if !open(start.Add(d)) {
					return false
				}
			}
			return true
		}
		want, found := protocol.Time(0), false
		for h := range 2 * 168 {
			if s := at.Add(time.Duration(h) * time.Hour); allOpen(s) {
				want, found = s, true
				break
			}
		}
		if got, ok := terms.OpenFor(at, run); ok != found || ok && got != want {
			t.Fatalf("%v: from %v for %v: %v %t; want %v %t", terms.Hours, at, run, got, ok, want, found)
		}
	})
}

func TestFaultsNameTheKey(t *testing.T) {
	for _, c := range []struct {
		file File
		path string
		word string
	}{
		{File{Serve: []string{"a"}, Exclude: []string{"b", "a"}}, "exclude.1", "a is in serve, too"},
		{File{Own: []string{"a"}, Exclude: []string{"a"}}, "exclude.0", "a is in own, too"},
		{File{Hours: []FileHours{{From: "20:00", To: "06:00"}, {From: "8pm", To: "06:00"}}}, "hours.1.from", "8pm"},
		{File{Hours: []FileHours{{From: "20:00", To: "25:00"}}}, "hours.0.to", "25:00"},
		{File{Hours: []FileHours{{Days: []string{"mon", "someday"}, From: "20:00", To: "06:00"}}}, "hours.0.days.1", "someday"},
	} {
		_, err := c.file.Terms()
		var f Fault
		if !errors.As(err, &f) || strings.Join(f.Path, ".") != c.path || !strings.Contains(f.Problem, c.word) {
			t.Errorf("%+v: %v; want a fault at %s about %q", c.file, err, c.path, c.word)
		}
	}
}
