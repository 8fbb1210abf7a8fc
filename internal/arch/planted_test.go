package arch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// header begins every planted file, so that the planted code begins in line 3.
const header = "// Package planted breaks a rule.\npackage planted\n"

// planted returns the violations found in a package that replaces one of the module, or is
// added to it. Its files are planted.go and, if test is not empty, planted_test.go.
func planted(t *testing.T, name, code, test string) (about []string) {
	t.Helper()
	h := theHouse(t)
	files := map[string]string{"planted.go": header + code}
	if test != "" {
		files["planted_test.go"] = header + test
	}
	p, err := h.pkg(name, files)
	if err != nil {
		t.Fatal(err)
	}
	pkgs := maps.Clone(h.pkgs)
	pkgs[name] = p
	for _, complaint := range append(keepsPlan(plan, pkgs), brokenRules(p)...) {
		if strings.HasPrefix(complaint, name+"/planted") { // others may be at fault too
			about = append(about, complaint)
		}
	}
	return about
}

func TestPlantedImportsAreFound(t *testing.T) {
	for _, tc := range []struct {
		name, pkg, code, test string
		want                  string // "" is nothing to complain of
	}{
		{"a package without a line", "coordinator/tariff", ``, ``,
			`coordinator/tariff/planted.go:2: package coordinator/tariff has no line in the plan of internal/arch; add one with what it may import, whether it is pure, and what it is for`},
		{"what the line does not allow", "agents/power", `import _ "github.com/gridbid/gridbid/bus"`, ``,
			`agents/power/planted.go:3: agents/power may not import bus: its line in the plan allows protocol`},
		{"anything of ours, where the line allows nothing", "agents/fgd", `import _ "github.com/gridbid/gridbid/protocol"`, ``,
			`agents/fgd/planted.go:3: agents/fgd may not import protocol: its line in the plan allows nothing of ours`},
		{"a library that the line does not name", "bus/wal", `import _ "github.com/klauspost/compress/s2"`, ``,
			`bus/wal/planted.go:3: bus/wal may not import github.com/klauspost/compress/s2: its line in the plan names no such package`},
		{"C", "agents/power", `import "C"`, ``,
			`agents/power/planted.go:3: agents/power may not import C: its line in the plan names no such package`},

		{"the coordinator imports a site", "coordinator/auction", `import _ "github.com/gridbid/gridbid/agents"`, ``,
			`coordinator/auction/planted.go:3: coordinator/auction may not import agents: its line in the plan allows protocol
coordinator/auction/planted.go:3: coordinator/auction may not import agents: the coordinator and a site share protocol only`},
		{"a site imports the coordinator, in a test", "agents", ``, `import _ "github.com/gridbid/gridbid/coordinator/market"`,
			`agents/planted_test.go:3: agents may not import coordinator/market: a site and the coordinator share protocol only`},
		{"a body looks into the coordinator's mind, in a test", "agents/capacity", ``, `import _ "github.com/gridbid/gridbid/coordinator/auction"`,
			`agents/capacity/planted_test.go:3: agents/capacity may not import coordinator/auction: a site and the coordinator share protocol only`},
		{"a library imports both sides", "scenarios/sim", "import (\n_ \"github.com/gridbid/gridbid/history\"\n_ \"github.com/gridbid/gridbid/agents/capacity\"\n)", ``,
			`scenarios/sim/planted.go:4: scenarios/sim may not import history: its line in the plan allows protocol agents/capacity agents/forecast agents/power
scenarios/sim/planted.go:2: scenarios/sim imports both history and agents/capacity; only mains and scenarios may`},
		{"scenarios imports both sides", "scenarios", "import (\n_ \"github.com/gridbid/gridbid/agents\"\n_ \"github.com/gridbid/gridbid/coordinator/market\"\n)", ``, ``},

		{"a model is asked outside of its door", "coordinator/market", `import _ "github.com/tmc/langchaingo/llms"`, ``,
			`coordinator/market/planted.go:3: coordinator/market may not import github.com/tmc/langchaingo/llms: only llm may, because one client bounds and checks all requests to models`},
		{"NATS is used outside of its door", "scenarios/sim/loop", `import _ "github.com/nats-io/nats.go"`, ``,
			`scenarios/sim/loop/planted.go:3: scenarios/sim/loop may not import github.com/nats-io/nats.go: only bus/natsbus and bus/eventlog and lab/natsfloor and protocol/proof may, because a party sends and receives through a bus.Conn`},
		{"NATS is used outside of its door, in a test", "bus/membus", ``, `import _ "github.com/nats-io/nats-server/v2/server"`,
			`bus/membus/planted_test.go:3: bus/membus may not import github.com/nats-io/nats-server/v2/server: only bus/natsbus and bus/eventlog and lab/natsfloor and protocol/proof may, because a party sends and receives through a bus.Conn`},
		{"NATS is used in its door", "bus/natsbus", `import _ "github.com/nats-io/nats.go"`, ``, ``},
		{"the wire is written outside of its door", "bus/wal", `import _ "github.com/vmihailenco/msgpack/v5"`, ``,
			`bus/wal/planted.go:3: bus/wal may not import github.com/vmihailenco/msgpack/v5: only protocol may, because the wire format is defined in one place`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(planted(t, tc.pkg, tc.code, tc.test), "\n"); got != tc.want {
				t.Errorf("found in %s:\n got %s\nwant %s", tc.pkg, got, tc.want)
			}
		})
	}
}

func TestPlantedImpurityIsFound(t *testing.T) {
	for _, tc := range []struct {
		name, imports, code string
		want                string // after "is pure and "; "" is nothing to complain of
	}{
		{"the clock", `import "time"`, `var _ = time.Now()`, `uses time.Now; take now as an argument`},
		{"the clock under another name", `import clock "time"`, `var now = clock.Now`, `uses time.Now; take now as an argument`},
		{"the clock by a difference", `import "time"`, `func f(t time.Time) any { return time.Since(t) }`, `uses time.Since; subtract from now`},
		{"a sleep", `import "time"`, `func f() { time.Sleep(1) }`, `uses time.Sleep; say Due`},
		{"a timer", `import "time"`, `var _ = time.AfterFunc`, `uses time.AfterFunc; say Due`},
		{"the machine's zone", `import "time"`, `func f(t time.Time) any { return t.Local() }`, `uses (time.Time).Local; use time.UTC`},
		{"a time that is given", `import "time"`, `func f(t, u time.Time) any { return t.Sub(u) }`, ``},

		{"the global random source", `import "math/rand/v2"`, `var _ = rand.IntN(6)`, `uses math/rand/v2.IntN; derive a source from the seed and the job's name`},
		{"the old global random source", `import "math/rand"`, `var _ = rand.Shuffle`, `uses math/rand.Shuffle; derive a source from the seed and the job's name`},
		{"a source of its own", `import "math/rand/v2"`, `var _ = rand.New(rand.NewPCG(1, 2)).IntN(6)`, ``},
		{"random bytes", `import _ "crypto/rand"`, ``, `may not import crypto/rand: derive a source from the seed and the job's name`},
		{"a seed that differs in each run", `import _ "hash/maphash"`, ``, `may not import hash/maphash: its seed differs in each run; use hash/fnv`},

		{"a goroutine", ``, `func f() { go f() }`, `starts a goroutine; a machine has one thread`},
		{"a wait on channels", ``, `func f() { select {} }`, `waits on channels; a machine has one thread`},
		{"a lock", `import _ "sync"`, ``, `may not import sync: a machine has one thread`},
		{"a context", `import _ "context"`, ``, `may not import context: nothing here waits`},

		{"a file", `import _ "os"`, ``, `may not import os: take what you need as an argument`},
		{"a file in the binary", `import _ "embed"`, ``, `may not import embed: take the text as an argument`},
		{"a connection", `import _ "net/http"`, ``, `may not import net/http: send a message`},
		{"a log", `import _ "log/slog"`, ``, `may not import log/slog: say it in a message`},
		{"a print", `import "fmt"`, `func f() { fmt.Println() }`, `uses fmt.Println; return it`},
		{"a print without fmt", ``, `func f() { println() }`, `uses println; return it`},
		{"a formatted string", `import "fmt"`, `var _ = fmt.Sprint(1)`, ``},

		{"the order of a map", ``, `func f(m map[int]int) { for range m {} }`, `ranges over a map; range over slices.Sorted(maps.Keys(m))`},
		{"of a map with a name", ``, `type set map[int]bool; func f(s set) { for range s {} }`, `ranges over a map; range over slices.Sorted(maps.Keys(m))`},
		{"of a map with another package's name", `import "net/url"`, `func f(v url.Values) { for range v {} }`,
			"may not import net/url: send a message\nranges over a map; range over slices.Sorted(maps.Keys(m))"},
		{"of a map in a field", ``, `func f(s struct{ m map[int]int }) { for range s.m {} }`, `ranges over a map; range over slices.Sorted(maps.Keys(m))`},
		{"of a map by a type parameter", ``, `func f[M ~map[int]int](m M) { for range m {} }`, `ranges over a map; range over slices.Sorted(maps.Keys(m))`},
		{"of a map's keys", `import "maps"`, `func f(m map[int]int) { for range maps.Keys(m) {} }`, `uses maps.Keys in the order of a map; hand it to slices.Sorted`},
		{"of a map's values, collected", `import ("maps"; "slices")`, `func f(m map[int]int) any { return slices.Collect(maps.Values(m)) }`,
			`uses maps.Values in the order of a map; hand it to slices.Sorted`},
		{"of a map, by reflection", `import "reflect"`, `func f(v reflect.Value) any { return v.MapKeys() }`, `uses (reflect.Value).MapKeys; sort them`},
		{"sorted keys", `import ("maps"; "slices")`, `func f(m map[int]int) { for range slices.Sorted(maps.Keys(m)) {} }`, ``},

		{"a sum that may be rounded once", ``, `func f(x, y, z float64) float64 { return z + x*y }`, fused},
		{"a difference that may", ``, `func f(x, y, z float64) float64 { return -(x * y) - z }`, fused},
		{"a running sum that may", ``, `func f(x, y, z float64) float64 { z += x * y; return z }`, fused},
		{"a product that is rounded", ``, `func f(x, y, z float64) float64 { return float64(x*y) + z }`, ``},
		{"integers", ``, `func f(x, y, z int) int { return x*y + z }`, ``},
		{"constants", ``, `const a = 1.5; func f(x float64) float64 { return x + a*a }`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, c := range planted(t, "agents/fgd", tc.imports+"\n"+tc.code, "") {
				line, what, _ := strings.Cut(c, ": agents/fgd is pure and ")
				if want := "agents/fgd/planted.go:4"; line != want && !strings.HasPrefix(what, "may not import") {
					t.Errorf("complains of %s; want %s", line, want)
				}
				got = append(got, what)
			}
			if !slices.Equal(got, strings.FieldsFunc(tc.want, func(c rune) bool { return c == '\n' })) {
				t.Errorf("found in a pure package:\n got %q\nwant %q", got, tc.want)
			}
		})
	}
}

const fused = `adds to a product of floats, which some processors round once and others twice; write float64(x*y)`

func TestPlantedImpurityIsFreeInAShell(t *testing.T) {
	code := "import (\"os\"; \"time\")\nfunc f(m map[int]int) { go f(nil); for range m {}; _, _ = time.Now(), os.Args }"
	if got := planted(t, "scenarios/report", code, ""); got != nil {
		t.Errorf("found in a shell: %q", got)
	}
}

func TestPlantedLengthAndMissingDocsAreFound(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\n", n) }
	for _, tc := range []struct{ name, code, want string }{
		{"a file of 501 lines", lines(499), "coordinator/accounts/planted.go has 501 lines; split it below 500"},
		{"a file of 500 lines", lines(498), ""},
		{"a function of 101 lines", "func f() {" + lines(100) + "}", "coordinator/accounts/planted.go:3: func f has 101 lines; split it below 100"},
		{"a function of 100 lines", "func f() {" + lines(99) + "}", ""},
		{"a function", "func Sell() {}", silent("Sell")},
		{"a method", "// A Lot is sold.\ntype Lot int\nfunc (*Lot) Sell() {}", strings.Replace(silent("Sell"), ":3", ":5", 1)},
		{"a type", "type Lot struct{}", silent("Lot")},
		{"a type in a group", "// All that is sold.\ntype (\nLot struct{}\n)", ""},
		{"two types in a group", "// All that is sold.\ntype (\n// A Lot is sold.\nLot struct{}\nBid struct{}\n)", strings.Replace(silent("Bid"), ":3", ":7", 1)},
		{"a variable", "var Lot int", silent("Lot")},
		{"a constant", "const Lot = 1", silent("Lot")},
		{"a group of constants", "// Lots.\nconst (\nOne = 1\nTwo = 2\n)", ""},
		{"nothing exported", "type lot struct{}\nfunc (lot) Sell() {}", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(planted(t, "coordinator/accounts", tc.code, ""), "\n"); got != tc.want {
				t.Errorf("found:\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func silent(name string) string {
	return "coordinator/accounts/planted.go:3: coordinator/accounts." + name + " is exported and has no doc comment"
}

func TestPlantedPackageWithoutDocIsFound(t *testing.T) {
	p, err := theHouse(t).pkg("agents", map[string]string{"planted.go": "package agents\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := isReadable(p), []string{"agents/planted.go:1: package agents has no doc comment"}; !slices.Equal(got, want) {
		t.Errorf("found %q; want %q", got, want)
	}
}

func TestPlantedLineWithoutPackageIsFound(t *testing.T) {
	got := keepsPlan(append(slices.Clone(plan), line{pkg: "coordinator/tariff"}), theHouse(t).pkgs)
	if want := "the plan has a line for coordinator/tariff, which does not exist; remove the line"; !slices.Contains(got, want) {
		t.Errorf("found %q; want %q", got, want)
	}
}
