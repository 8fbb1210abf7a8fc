package power_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// Every promise of the package comment, for every model that is built in.
func TestModelsKeepThePromises(t *testing.T) {
	table := power.DefaultTable()
	for _, model := range table.ModelNames() {
		g, ok := table.LookupModel(model)
		if !ok || g.Model != model || g.Source == "" {
			t.Fatalf("LookupModel(%q) = %+v, %v; want the model with its source", model, g, ok)
		}
		if _, err := table.WithGPU(g); err != nil {
			t.Errorf("a model that is built in is refused: %v", err)
		}
		holds(t, g)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func holds(t fataler, g power.GPU) {
	t.Helper()
	all := g.CapChoices()
	if want := (power.Choice{Speed: g.Speed, Draw: g.Load}); all[0] != want {
		t.Fatalf("%s: CapChoices()[0] = %+v; want %+v, no cap first", g.Model, all[0], want)
	}
	for i, c := range all[1:] {
		before := all[i]
		within := slices.ContainsFunc(g.Caps, func(m power.Cap) bool { return m.Limit == c.Cap })
		slowSaves := int64(c.Draw)*int64(before.Speed) < int64(before.Draw)*int64(c.Speed)
		switch {
		case !within:
			t.Fatalf("%s: choice %+v is no measured cap", g.Model, c)
		case c.Draw > c.Cap || c.Draw > before.Draw || c.Draw < g.Idle:
			t.Fatalf("%s: choice %+v draws more than its cap or than %+v, or less than idle", g.Model, c, before)
		case c.Speed > before.Speed || c.Speed < 1:
			t.Fatalf("%s: choice %+v is faster than %+v", g.Model, c, before)
		case !slowSaves:
			t.Fatalf("%s: choice %+v saves nothing against %+v", g.Model, c, before)
		case c.RunTime(time.Hour) < before.RunTime(time.Hour):
			t.Fatalf("%s: %+v ends before %+v", g.Model, c, before)
		}
	}
}

func TestAnyModelThatIsTakenKeepsThePromises(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		mw := func(lo, hi int64, name string) protocol.Milliwatts {
			return protocol.Milliwatts(rapid.Int64Range(lo, hi).Draw(t, name))
		}
		g := power.GPU{Model: "X", Limit: mw(50_000, 1_000_000, "limit"), Speed: protocol.Milli(rapid.Int64Range(10, 9000).Draw(t, "speed"))}
		g.Load = mw(int64(g.Limit)/2, int64(g.Limit), "load")
		g.Idle = mw(0, int64(g.Limit)/10, "idle")
		c := power.Cap{Limit: g.Limit, Speed: 1000, Energy: 1000}
		for range rapid.IntRange(0, 4).Draw(t, "caps") {
			c.Limit = c.Limit * protocol.Milliwatts(rapid.Int64Range(85, 99).Draw(t, "down")) / 100
			c.Speed = c.Speed * protocol.Milli(rapid.Int64Range(80, 100).Draw(t, "slower")) / 100
			c.Energy = c.Energy * protocol.Milli(rapid.Int64Range(80, 101).Draw(t, "thriftier")) / 100
			g.Caps = append(g.Caps, c)
		}
		table, err := power.Table{}.WithGPU(g)
		if err != nil {
			return
		}
		taken++
		got, _ := table.LookupModel("X")
		holds(t, got)
		along(t, got)
	})
	if taken == 0 {
		t.Error("no model was taken: the test tests nothing")
	}
}

// along walks the limits of g and looks for a step in the wrong direction.
func along(t fataler, g power.GPU) {
	t.Helper()
	lowest := g.Limit
	if n := len(g.Caps); n > 0 {
		lowest = g.Caps[n-1].Limit
	}
	if _, ok := g.ChoiceAt(lowest - 1); ok {
		t.Fatalf("%s: ChoiceAt(%d) is true below the measured range", g.Model, lowest-1)
	}
	if _, ok := g.ChoiceAt(g.Limit + 1); ok {
		t.Fatalf("%s: At is true above the maker's limit", g.Model)
	}
	var before power.Choice
	for i := range protocol.Milliwatts(51) {
		limit := lowest + (g.Limit-lowest)*i/50
		c, ok := g.ChoiceAt(limit)
		if !ok || c.Speed < before.Speed || c.Draw > limit || c.Draw > g.Load {
			t.Fatalf("%s: ChoiceAt(%d) = %+v, %v after %+v; want no slower, and no more than the limit", g.Model, limit, c, ok, before)
		}
		before = c
	}
}

func TestMeasuredLimitsAreWhatAtSays(t *testing.T) {
	g, _ := power.DefaultTable().LookupModel("V100")
	for _, c := range g.CapChoices()[1:] {
		if got, ok := g.ChoiceAt(c.Cap); !ok || got != c {
			t.Errorf("ChoiceAt(%d) = %+v, %v; want %+v", c.Cap, got, ok, c)
		}
	}
	if got, ok := g.ChoiceAt(g.Limit); !ok || got != g.CapChoices()[0] {
		t.Errorf("ChoiceAt(the limit) = %+v, %v; want no cap", got, ok)
	}
	got, _ := g.ChoiceAt(162_500) // half way from 150 to 175 W: 920 and 825
	if want := (power.Choice{Cap: 162_500, Speed: 920, Draw: 121_440}); got != want {
		t.Errorf("ChoiceAt(162.5 W) = %+v; want %+v", got, want)
	}
}

func TestDrawsAreRoundedUpButNotPastTheCap(t *testing.T) {
	for limit, want := range map[protocol.Milliwatts]protocol.Milliwatts{95_000: 90_003, 90_002: 90_002} {
		g := power.GPU{Model: "X", Load: 100_003, Limit: 150_000, Speed: 1000, Caps: []power.Cap{{Limit: limit, Speed: 900, Energy: 1000}}}
		table, err := power.Table{}.WithGPU(g)
		if err != nil {
			t.Fatal(err)
		}
		g, _ = table.LookupModel("X")
		if got, _ := g.ChoiceAt(limit); got.Draw != want {
			t.Errorf("a cap of %d mW: draws %d; want %d of 90002.7", limit, got.Draw, want)
		}
	}
}

func TestCapsThatSaveNothingAreNotOffered(t *testing.T) {
	for model, want := range map[string][]protocol.Milliwatts{
		"V100": {0, 200_000, 175_000, 150_000, 125_000}, // 100 W is slower and takes more
		"A40":  {0, 250_000, 225_000, 200_000, 175_000}, // 150 W likewise
		"T4":   {0},
		"A10":  {0, 120_000, 105_000}, // 90 W cannot be set
	} {
		g, _ := power.DefaultTable().LookupModel(model)
		var got []protocol.Milliwatts
		for _, c := range g.CapChoices() {
			got = append(got, c.Cap)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: caps = %d; want %d", model, got, want)
		}
	}
}

func TestRunsAreRoundedUpToSeconds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		ref   time.Duration
		speed protocol.Milli
		want  time.Duration
	}{
		{"the reference clock changes nothing", time.Hour, 1000, time.Hour},
		{"twice the speed is half the time", time.Hour, 2000, 30 * time.Minute},
		{"a third of a second counts as one", 10 * time.Second, 3000, 4 * time.Second},
		{"a job without GPUs runs at the reference clock", time.Minute, 0, time.Minute},
		{"nothing takes no time", 0, 1000, 0},
		{"less than nothing takes no time", -time.Hour, 1000, 0},
		{"the longest job at the lowest speed", protocol.MaxRun, 10, 100 * protocol.MaxRun},
	} {
		if got := (power.Choice{Speed: tc.speed}).RunTime(tc.ref); got != tc.want {
			t.Errorf("%s: Run(%v) at %d = %v; want %v", tc.name, tc.ref, tc.speed, got, tc.want)
		}
	}
}

func TestAJobAddsItsPartAboveIdle(t *testing.T) {
	g := power.GPU{Idle: 50_000, Load: 300_000}
	c := power.Choice{Speed: 1000, Draw: 250_000}
	h := power.Host{Awake: 400_000, Core: 4_000}
	for _, tc := range []struct {
		name       string
		gpu, cores protocol.Milli
		want       protocol.Milliwatts
	}{
		{"one device and no core", 1000, 0, 200_000},
		{"half a device", 500, 0, 100_000},
		{"eight devices and 96 cores", 8000, 96_000, 1_984_000},
		{"half a milliwatt rounds up", 0, 125, 500},
		{"nothing adds nothing", 0, 0, 0},
	} {
		if got := power.JobPower(g, c, h, tc.gpu, tc.cores); got != tc.want {
			t.Errorf("%s: Job = %d mW; want %d", tc.name, got, tc.want)
		}
	}
	if got, want := power.JobPower(power.GPU{}, power.Choice{}, h, 0, 2000), protocol.Milliwatts(8_000); got != want {
		t.Errorf("a job without GPUs: Job = %d mW; want %d", got, want)
	}
	if got, want := h.IdlePower(g, 8), protocol.Milliwatts(800_000); got != want {
		t.Errorf("Idle(8 GPUs) = %d mW; want %d", got, want)
	}
}

// Idle servers of Acme's Seren cluster draw 1421 W (first percentile).
func TestAnIdleServerDrawsWhatAcmeMeasured(t *testing.T) {
	a100, _ := power.DefaultTable().LookupModel("A100")
	if got := power.DefaultHost(8).IdlePower(a100, 8); got < 1_350_000 || got > 1_500_000 {
		t.Errorf("Idle of 8 A100 = %d mW; want about 1421 W", got)
	}
}

func TestTablesAreReplacedNotChanged(t *testing.T) {
	was := power.DefaultTable()
	g, _ := was.LookupModel("A40")
	g.Caps[0].Speed = 1
	g.Caps = nil
	g.Speed = 1234
	now, err := was.WithGPU(g)
	if err != nil {
		t.Fatal(err)
	}
	if old, _ := was.LookupModel("A40"); old.Speed != 1000 || old.Caps[0].Speed != 989 {
		t.Errorf("the old table says %+v of an A40; want what it said before", old)
	}
	if got, _ := now.LookupModel("A40"); got.Speed != 1234 || got.Caps != nil {
		t.Errorf("the new table says %+v of an A40; want the new figures", got)
	}
	if _, ok := was.LookupModel("MI999X"); ok {
		t.Error("Lookup of an unknown model is true")
	}
	g.Model = "MI999X"
	now, err = now.WithGPU(g)
	if err != nil || len(now.ModelNames()) != len(was.ModelNames())+1 || !slices.IsSorted(now.ModelNames()) {
		t.Errorf("WithGPU(a new model): %v, %v; want one more, in order", now.ModelNames(), err)
	}
}

func TestWrongFiguresAreRefusedByName(t *testing.T) {
	good := func() power.GPU {
		g, _ := power.DefaultTable().LookupModel("V100")
		return g
	}
	for _, tc := range []struct {
		name, want string
		spoil      func(*power.GPU)
	}{
		{"no name", "model", func(g *power.GPU) { g.Model = "" }},
		{"a long name", "model", func(g *power.GPU) { g.Model = strings.Repeat("x", 65) }},
		{"no limit", "limit", func(g *power.GPU) { g.Limit = 0 }},
		{"a limit of 6 kW", "limit", func(g *power.GPU) { g.Limit = 6_000_000 }},
		{"idle under nothing", "idle", func(g *power.GPU) { g.Idle = -1 }},
		{"idle as high as load", "idle", func(g *power.GPU) { g.Idle = g.Load }},
		{"load over the limit", "load", func(g *power.GPU) { g.Load = g.Limit + 1 }},
		{"no speed", "speed", func(g *power.GPU) { g.Speed = 0 }},
		{"absurd speed", "speed", func(g *power.GPU) { g.Speed = 1 << 40 }},
		{"too many caps", "caps: ", func(g *power.GPU) { g.Caps = make([]power.Cap, 33) }},
		{"a cap at the limit", "caps[0].limit", func(g *power.GPU) { g.Caps[0].Limit = g.Limit }},
		{"a cap under idle", "caps[4].limit", func(g *power.GPU) { g.Caps[4].Limit = g.Idle }},
		{"caps out of order", "caps[1].limit", func(g *power.GPU) { g.Caps[1].Limit = g.Caps[0].Limit }},
		{"a cap that speeds up", "caps[0].speed", func(g *power.GPU) { g.Caps[0].Speed = 1001 }},
		{"faster under the lower cap", "caps[1].speed", func(g *power.GPU) { g.Caps[1].Speed = 970 }},
		{"energy for nothing", "caps[2].energy", func(g *power.GPU) { g.Caps[2].Energy = 0 }},
		{"absurd energy", "caps[2].energy", func(g *power.GPU) { g.Caps[2].Energy = 1 << 50 }},
		{"more draw than the cap allows", "caps[3].energy", func(g *power.GPU) { g.Caps[3].Energy = 1000 }},
		{"less draw than idle", "caps[4].energy", func(g *power.GPU) { g.Caps[4].Energy = 100 }},
		{"more draw than without the cap", "caps[0].energy", func(g *power.GPU) { g.Caps[0].Energy = 1100 }},
	} {
		g := good()
		tc.spoil(&g)
		_, err := power.DefaultTable().WithGPU(g)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: With = %v; want an error that names %s", tc.name, err, tc.want)
		}
	}
}
