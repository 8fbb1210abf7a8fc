package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// jobLife are the message bodies that make up the history of a job. Code that distinguishes
// several of them derives the state of a job: it folds the stream.
var jobLife = strings.Fields("Award Defer Reject Accept Decline Cancel Launch Started Finished Interrupted Preempted UsageReport Settlement")

// folds lists the packages that may do so, with the reason. All others ask package history,
// so that a new job state is handled in one place.
var folds = []struct{ pkg, why string }{
	{"protocol", "checks who may send what"},
	{"history", "is the one fold, of which job status, timeline, query engine and reports are views"},
	{"coordinator/market", "decides, and recovers from its own events"},
	{"coordinator/snapshot", "compacts the events from which a market recovers"},
	{"explain/counterfactual", "compares what a market decides with what was decided; it keeps nothing"},
	{"verify", "judges the log of a coordinator, and must not share a fault with what answers questions about it"},
	{"bus/telemetry", "counts and traces in both binaries, and must not share a fault with what it watches"},
	{"lab/*", "measures and attacks the product, and must not share a fault with it"},
	{"agents", "acts on the messages it receives"},
	{"cluster-agent/*", "acts on the messages it receives"},
	{"scenarios", "sums the energy that executors report, apart from the bills that are made of it"},
	{"scenarios/sim", "acts on the messages it receives: a simulated cluster and submitter"},
	{"scenarios/sim/*", "acts on the messages it receives: a simulated cluster and submitter"},
	{"history/tenantview", "shows a tenant its own messages; it derives no state"},
	{"bus/bustest", "sends messages of any kind through a bus"},
}

// foldsTheLife returns an error for a package that distinguishes the bodies of jobLife
// without being listed in folds.
func foldsTheLife(p *pkg) (wrong []string) {
	if slices.ContainsFunc(folds, func(f struct{ pkg, why string }) bool { return matches([]string{f.pkg}, p.name) }) {
		return nil
	}
	met := make(map[string]bool)
	look := func(e ast.Expr) {
		if e == nil {
			return
		}
		name := protocolStruct(p.info.TypeOf(e))
		if !slices.Contains(jobLife, name) || met[name] {
			return
		}
		if met[name] = true; len(met) == 2 {
			wrong = append(wrong, fmt.Sprintf("%s: %s distinguishes protocol.%s from other messages of a job's life; ask history what became of the job", p.at(e), p.name, name))
		}
	}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr: // Type is nil in a type switch
				look(n.Type)
			case *ast.TypeSwitchStmt:
				for _, clause := range n.Body.List {
					for _, e := range clause.(*ast.CaseClause).List {
						look(e)
					}
				}
			}
			return true
		})
	}
	return wrong
}

// A body or a package that was renamed must be renamed here as well: otherwise the rule
// checks nothing.
func TestFoldRuleNamesExistingBodiesAndPackages(t *testing.T) {
	h, declared := theHouse(t), make(map[string]bool)
	for _, f := range h.pkgs["protocol"].files {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				declared[spec.Name.Name] = true
			}
			return true
		})
	}
	for _, name := range jobLife {
		if !declared[name] {
			t.Errorf("jobLife names protocol.%s, which does not exist", name)
		}
	}
	for _, f := range folds {
		found := false
		for name := range h.pkgs {
			found = found || matches([]string{f.pkg}, name)
		}
		if !found {
			t.Errorf("folds names %s, which does not exist", f.pkg)
		}
	}
}

func TestPlantedFoldsAreFound(t *testing.T) {
	const imp = "import \"github.com/gridbid/gridbid/protocol\"\n"
	for _, tc := range []struct{ name, pkg, code, want string }{
		{"a view folds by a switch", "coordinator/jobstatus", imp + `func f(m protocol.Message) int {
switch m.Body.(type) {
case protocol.CallForBids:
return 0
case protocol.Award, protocol.Settlement:
return 1
}
return 2
}`, `coordinator/jobstatus/planted.go:8: coordinator/jobstatus distinguishes protocol.Settlement from other messages of a job's life; ask history what became of the job`},
		{"a view folds by assertions", "explain/timeline", imp + `func f(m protocol.Message) bool {
_, a := m.Body.(protocol.Award)
_, b := m.Body.(protocol.UsageReport)
return a || b
}`, `explain/timeline/planted.go:6: explain/timeline distinguishes protocol.UsageReport from other messages of a job's life; ask history what became of the job`},
		{"one kind alone is looked for", "explain/timeline", imp + `func f(m protocol.Message) bool {
_, a := m.Body.(protocol.Award)
_, b := m.Body.(protocol.Award)
return a || b
}`, ``},
		{"one who may", "bus/telemetry", imp + `func f(m protocol.Message) bool {
_, a := m.Body.(protocol.Award)
_, b := m.Body.(protocol.UsageReport)
return a || b
}`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(planted(t, tc.pkg, tc.code, ""), "\n"); got != tc.want {
				t.Errorf("said of %s:\n got %s\nwant %s", tc.pkg, got, tc.want)
			}
		})
	}
}
