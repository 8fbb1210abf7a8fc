package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// summers may add up the terms of the objective: protocol, where the sum is defined, and the
// bound, which must not share code with what it judges.
var summers = []string{"protocol", "lab/bound"}

// mostCauses is how many causes of cost a sum elsewhere may contain: energy and carbon make a
// bill, with a third cause it is a copy of the objective.
const mostCauses = 2

// sumsObjective returns where p adds up terms of the objective without being one of summers.
func sumsObjective(p *pkg) (wrong []string) {
	if slices.Contains(summers, p.name) {
		return nil
	}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			sum, ok := n.(*ast.BinaryExpr)
			if !ok || sum.Op != token.ADD {
				return true
			}
			if causes := causesIn(p.info, sum); len(causes) > mostCauses {
				wrong = append(wrong, fmt.Sprintf("%s: %s adds up %s of an option; protocol.Weights.PriceOption(...).Total() is the one sum of the objective",
					p.at(sum), p.name, strings.Join(causes, ", ")))
			}
			return false // a part of this sum is not another
		})
	}
	return wrong
}

// causesIn returns the names of the causes of cost that an expression reads from types of
// package protocol.
func causesIn(info *types.Info, sum ast.Expr) (causes []string) {
	ast.Inspect(sum, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		obj := info.Uses[sel.Sel]
		if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != module+"protocol" {
			return true
		}
		cause := obj.Name()
		switch cause {
		case "CarbonCost":
			cause = "Carbon"
		case "Money", "NodeIdleShare", "Transfer", "FragmentationDelta", "Delay", "Late", "Carbon":
		default:
			return true
		}
		if !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
		return true
	})
	return causes
}

func TestPlantedSecondSumIsFound(t *testing.T) {
	for _, tc := range []struct{ name, pkg, code, want string }{
		{"the auction's own", "coordinator/auction", `func f(w protocol.Weights, o protocol.BidOption) protocol.Microdollars {
			delay, late := w.DelayAndLateCost(protocol.Job{}, o.Start, o.Finish)
			return scale(o.Money) + scale(w.CarbonCost(o.Carbon)) + o.NodeIdleShare + o.Transfer + delay + late }
			func scale(m protocol.Microdollars) protocol.Microdollars { return m }`, "adds up Money, Carbon, NodeIdleShare, Transfer"},
		{"of terms", "coordinator/auction", `func f(t protocol.CostBreakdown) protocol.Microdollars { return t.Money + t.Carbon + (t.Delay + t.Late) }`, "adds up Money, Carbon, Delay, Late"},
		{"a bill", "coordinator/auction", `func f(w protocol.Weights, b protocol.Usage) protocol.Microdollars { return b.Money + w.CarbonCost(b.Carbon) }`, ""},
		{"the one function", "coordinator/auction", `func f(w protocol.Weights, j *protocol.Job, o *protocol.BidOption) protocol.Microdollars {
			return w.PriceOption(j, o, protocol.PricingBasis{}).Total() + protocol.GPUHoursCost(j.TotalGPUMilli(), 1, 1) }`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := planted(t, tc.pkg, `import "`+module+"protocol\"\n"+tc.code, "")
			if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)) {
				t.Errorf("complains %q; want %q", got, tc.want)
			}
		})
	}
}
