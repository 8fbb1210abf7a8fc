package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mayMakeBodies lists packages under bus that may create message bodies, with the reason.
var mayMakeBodies = map[string]string{
	"bus/bustest": "the test that every bus passes needs something to send",
}

func TestPackagesThatMayMakeBodiesExist(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(mayMakeBodies)) {
		if theHouse(t).pkgs[name] == nil {
			t.Errorf("%s may make bodies, and does not exist; remove it from mayMakeBodies", name)
		}
	}
}

// editsBodies returns where a package under bus creates or changes message bodies, without
// its tests. A bus that edits bids influences decisions: the same round would have another
// outcome over another bus, and the record would contain bids that were not received.
func editsBodies(p *pkg) (wrong []string) {
	if !matches([]string{"bus", "bus/*"}, p.name) || mayMakeBodies[p.name] != "" {
		return nil
	}
	complain := func(n ast.Node, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s: %s carries messages and ", p.at(n), p.name)+fmt.Sprintf(format, args...)+"; only parties may write messages")
	}
	assigned := func(e ast.Expr) {
		e = ast.Unparen(e)
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if name := protocolStruct(p.info.TypeOf(x.X)); name != "" && name+"."+x.Sel.Name != "Message.Seq" {
				complain(e, "sets %s.%s", name, x.Sel.Name)
			}
		case *ast.IndexExpr:
			if name := protocolStruct(p.info.TypeOf(e)); name != "" && name != "Message" {
				complain(e, "sets one %s", name)
			}
		case *ast.StarExpr:
			if name := protocolStruct(p.info.TypeOf(e)); name != "" && name != "Message" {
				complain(e, "sets one %s", name)
			}
		}
	}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if name := protocolStruct(p.info.TypeOf(n)); name != "" && (name != "Message" || len(n.Elts) > 0) {
					complain(n, "makes one %s", name)
				}
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					assigned(e)
				}
			case *ast.IncDecStmt:
				assigned(n.X)
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					assigned(n.Key)
					assigned(n.Value)
				}
			case *ast.UnaryExpr: // a field whose address is taken can be changed through it
				if field, ok := ast.Unparen(n.X).(*ast.SelectorExpr); ok && n.Op == token.AND {
					assigned(field)
				}
			}
			return true
		})
	}
	return wrong
}

// protocolStruct returns the name of the struct of package protocol that t is or points to
// (a message, a body or a part of one), or "".
func protocolStruct(t types.Type) string {
	if t == nil {
		return ""
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != module+"protocol" {
		return ""
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return ""
	}
	return named.Obj().Name()
}

func TestPlantedMessageEditsAreFound(t *testing.T) {
	const thin = `import "github.com/gridbid/gridbid/protocol"
func f(m protocol.Message, o protocol.Bids) protocol.Message {
	o.Jobs[0].Options = o.Jobs[0].Options[:1]
	m.Body = o
	return m
}`
	for _, tc := range []struct{ name, pkg, code, want string }{
		{"an offer with fewer options", "bus/natsbus", thin, "sets JobBids.Options\nsets Message.Body"},
		{"the same where it may be done", "agents", thin, ""},
		{"an option in place of another", "bus/membus", `import "github.com/gridbid/gridbid/protocol"
func f(os []protocol.BidOption, p *protocol.Award) { os[0] = os[1]; p.Epoch++; *p = *p; for _, p.Option = range os {} }`,
			"sets one BidOption\nsets Award.Epoch\nsets one Award\nsets Award.Option"},
		{"a body of its own", "bus", `import "github.com/gridbid/gridbid/protocol"
func f() any { return []any{protocol.Reject{Job: "a"}, protocol.Message{From: "a"}, []protocol.JobBids{{Job: "a"}}} }`,
			"makes one Reject\nmakes one Message\nmakes one JobBids"},
		{"a field by its address", "bus", `import "github.com/gridbid/gridbid/protocol"
func f(m *protocol.Message) any { return &m.Body }`, "sets Message.Body"},
		{"what carrying takes", "bus/wal", `import "github.com/gridbid/gridbid/protocol"
func f(ms []protocol.Message) (protocol.Message, []protocol.JobID) {
	ms[0].Seq = 7
	ms[0] = ms[1]
	return protocol.Message{}, []protocol.JobID{"a"}
}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, c := range planted(t, tc.pkg, tc.code, "") {
				_, what, _ := strings.Cut(c, " carries messages and ")
				what, _, _ = strings.Cut(what, ";")
				got = append(got, what)
			}
			if strings.Join(got, "\n") != tc.want {
				t.Errorf("found in %s:\n%s\nwant\n%s", tc.pkg, strings.Join(got, "\n"), tc.want)
			}
		})
	}
}
