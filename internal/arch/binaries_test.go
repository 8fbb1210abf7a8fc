package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// binaries lists packages that a binary must not link, directly or transitively: a site
// need not trust code of the market, nor the market code of sites, and binaries stay small.
var binaries = []struct {
	main string
	bars []string // packages, as matches reads them
	why  string
}{
	{"cmd/cluster-agent", []string{"coordinator/*", "history", "explain/*", "scenarios", "scenarios/*", "lab/*"},
		"a site's binary contains no code of the market, of its explanation, of simulations or of the laboratory"},
	{"cmd/coordinator", []string{"agents", "agents/*", "cluster-agent/*", "scenarios", "scenarios/*", "lab/*"},
		"a coordinator decides by the messages of sites, and contains no code of theirs"},
}

func TestBinariesLinkOnlyTheirSide(t *testing.T) {
	for _, complaint := range linksOnlyItsSide(theHouse(t).pkgs) {
		t.Error(complaint)
	}
}

// linksOnlyItsSide returns the barred packages that binaries link, each with the shortest
// chain of imports that leads to it.
func linksOnlyItsSide(pkgs map[string]*pkg) (wrong []string) {
	for _, b := range binaries {
		if pkgs[b.main] == nil || !pkgs[b.main].main() {
			wrong = append(wrong, fmt.Sprintf("%s is no main package; correct the list of binaries", b.main))
			continue
		}
		chains := importChains(pkgs, b.main)
		for _, name := range slices.Sorted(maps.Keys(chains)) {
			if matches(b.bars, name) {
				wrong = append(wrong, fmt.Sprintf("%s links %s: %s; %s", b.main, name, strings.Join(chains[name], " -> "), b.why))
			}
		}
	}
	return wrong
}

// importChains returns, for each package of this module that a main links, the shortest
// chain of imports from the main to it, without tests. Among chains of the same length the
// first by name is taken, so that messages are reproducible.
func importChains(pkgs map[string]*pkg, main string) map[string][]string {
	chains := map[string][]string{main: {main}}
	for queue := []string{main}; len(queue) > 0; queue = queue[1:] {
		p := pkgs[queue[0]]
		if p == nil {
			continue // a planted import of what does not exist
		}
		for _, next := range p.imports() {
			if chains[next] == nil {
				chains[next] = append(slices.Clone(chains[queue[0]]), next)
				queue = append(queue, next)
			}
		}
	}
	return chains
}

func TestPlantedLinksAreFound(t *testing.T) {
	for _, tc := range []struct {
		name, pkg, imports, test string
		want                     []string // beginnings of complaints
	}{
		{"a main that imports the other side", "cmd/cluster-agent", "coordinator/market", "",
			[]string{"cmd/cluster-agent links coordinator/accounts: cmd/cluster-agent -> coordinator/market -> coordinator/accounts;", "cmd/cluster-agent links coordinator/market: cmd/cluster-agent -> coordinator/market;"}},
		{"a library of the agent that wires its site in the laboratory", "cluster-agent/kubesite", "lab/clusters", "",
			[]string{"cmd/cluster-agent links lab/clusters: cmd/cluster-agent -> cluster-agent/kubesite -> lab/clusters;", "cmd/cluster-agent links scenarios: cmd/cluster-agent -> cluster-agent/kubesite -> lab/clusters -> scenarios;"}},
		{"three imports down", "bus/membus", "history", "",
			[]string{"cmd/cluster-agent links history: cmd/cluster-agent -> cluster-agent/runtime -> bus/membus -> history;"}},
		{"a coordinator that looks into an agent", "coordinator/snapshot", "agents/fgd", "",
			[]string{"cmd/coordinator links agents/fgd: cmd/coordinator -> coordinator/leader -> coordinator/snapshot -> agents/fgd;"}},
		{"a test of the agent's packages", "cluster-agent/kubesite", "", "scenarios", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := linksOnlyItsSide(withPlantedImport(t, tc.pkg, tc.imports, tc.test))
			for _, want := range tc.want {
				if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
					t.Errorf("complaints:\n%s\nwant one that begins with\n%s", strings.Join(got, "\n"), want)
				}
			}
			if tc.want == nil && got != nil {
				t.Errorf("complaints:\n%s\nwant none", strings.Join(got, "\n"))
			}
		})
	}
}

// withPlantedImport returns all packages, one of them with an additional file, and
// optionally a test file, that imports a package.
func withPlantedImport(t *testing.T, name, code, test string) map[string]*pkg {
	t.Helper()
	h := theHouse(t)
	planted := *h.pkgs[name]
	clause := "package " + planted.files[0].Name.Name + "\n"
	for _, x := range []struct {
		file, imports string
	}{{"planted.go", code}, {"planted_test.go", test}} {
		if x.imports == "" {
			continue
		}
		more, err := h.pkg(name, map[string]string{x.file: clause + fmt.Sprintf("import _ %q\n", module+x.imports)})
		if err != nil {
			t.Fatal(err)
		}
		planted.files = append(slices.Clone(planted.files), more.files...)
		planted.tests = append(slices.Clone(planted.tests), more.tests...)
	}
	pkgs := maps.Clone(h.pkgs)
	pkgs[name] = &planted
	return pkgs
}
