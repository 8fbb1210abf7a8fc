package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// banned lists standard packages that a pure package must not import unless its line in the
// plan names them, with what to do instead.
var banned = []struct{ pkg, hint string }{
	{"os", "take what you need as an argument"}, {"os/*", "take what you need as an argument"},
	{"io/ioutil", "take what you need as an argument"}, {"io/fs", "take what you need as an argument"},
	{"path/filepath", "paths mean something else on another system"}, {"embed", "take the text as an argument"},
	{"net", "send a message"}, {"net/*", "send a message"}, {"syscall", "send a message"},
	{"log", "say it in a message"}, {"log/*", "say it in a message"}, {"flag", "take a Config"}, {"testing", "tests stand in test files"},
	{"sync", "a machine has one thread"}, {"sync/*", "a machine has one thread"}, {"context", "nothing here waits"},
	{"runtime", "the outcome must not depend on the machine"}, {"runtime/*", "the outcome must not depend on the machine"},
	{"unsafe", "the outcome must not depend on the machine"}, {"hash/maphash", "its seed differs in each run; use hash/fnv"},
	{"crypto/rand", "derive a source from the seed and the job's name"},
}

// bannedInPure returns what to do instead of an import, if it is banned.
func bannedInPure(other string) (hint string, yes bool) {
	for _, b := range banned {
		if matches([]string{b.pkg}, other) {
			return b.hint, true
		}
	}
	return "", false
}

// impure lists functions and variables of allowed packages that make results depend on more
// than the arguments, with what to do instead.
var impure = map[string]string{
	"time.Now": "take now as an argument", "time.Since": "subtract from now", "time.Until": "subtract now",
	"time.Sleep": "say Due", "time.After": "say Due", "time.AfterFunc": "say Due", "time.Tick": "say Due",
	"time.NewTimer": "say Due", "time.NewTicker": "say Due",
	"time.Local": "use time.UTC", "time.LoadLocation": "use time.UTC", "(time.Time).Local": "use time.UTC",
	"fmt.Print": "return it", "fmt.Println": "return it", "fmt.Printf": "return it",
	"fmt.Scan": "take it as an argument", "fmt.Scanln": "take it as an argument", "fmt.Scanf": "take it as an argument",
	"(reflect.Value).MapRange": "sort the keys", "(reflect.Value).MapKeys": "sort them",
}

// sourced lists what may be used of math/rand: everything that works on an explicit source.
var sourced = map[string]bool{
	"New": true, "NewSource": true, "NewPCG": true, "NewChaCha8": true, "NewZipf": true,
	"Rand": true, "Source": true, "Source64": true, "PCG": true, "ChaCha8": true, "Zipf": true,
}

// isPure returns the violations of purity in p.
func isPure(p *pkg) (wrong []string) {
	complain := func(n ast.Node, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s: %s is pure and ", p.at(n), p.name)+fmt.Sprintf(format, args...))
	}
	for _, f := range p.files {
		sorted := make(map[ast.Expr]bool) // calls whose results are sorted or put into a map
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				complain(n, "starts a goroutine; a machine has one thread")
			case *ast.SelectStmt:
				complain(n, "waits on channels; a machine has one thread")
			case *ast.RangeStmt:
				if isMap(p.info.TypeOf(n.X)) {
					complain(n, "ranges over a map; range over slices.Sorted(maps.Keys(m))")
				}
			case *ast.CallExpr:
				if forgetsOrder(p.info, n) {
					for _, arg := range n.Args {
						sorted[arg] = true
					}
				}
				if name := called(p.info, n); leaksOrder[name] && !sorted[n] {
					complain(n, "uses %s in the order of a map; hand it to slices.Sorted", name)
				}
			case *ast.Ident:
				if name, hint := impureUse(p.info.Uses[n]); hint != "" {
					complain(n, "uses %s; %s", name, hint)
				}
			case *ast.BinaryExpr, *ast.AssignStmt:
				if fuses(p.info, n) {
					complain(n, "adds to a product of floats, which some processors round once and others twice; write float64(x*y)")
				}
			}
			return true
		})
	}
	return wrong
}

// isMap reports whether values of t are maps, also by a named type or a type parameter.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		t = p.Constraint()
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for i := range u.NumEmbeddeds() {
			if union, ok := u.EmbeddedType(i).(*types.Union); ok {
				for j := range union.Len() {
					if isMap(union.Term(j).Type()) {
						return true
					}
				}
			}
		}
	}
	return false
}

// leaksOrder lists functions whose result has the random order of a map.
var leaksOrder = map[string]bool{"maps.Keys": true, "maps.Values": true, "maps.All": true}

// forgetsOrder reports whether the result of a call is independent of the order of its
// arguments.
func forgetsOrder(info *types.Info, call *ast.CallExpr) bool {
	switch called(info, call) {
	case "slices.Sorted", "slices.SortedFunc", "maps.Collect", "maps.Insert":
		return true
	}
	return false
}

// called returns the full name of the called function, or "".
func called(info *types.Info, call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) { // with type arguments
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if f, ok := info.Uses[sel.Sel].(*types.Func); ok {
			return f.FullName()
		}
	}
	return ""
}

// impureUse returns the full name of an object and, if it is impure, what to do instead.
func impureUse(obj types.Object) (name, hint string) {
	switch obj := obj.(type) {
	case *types.Builtin:
		if obj.Name() == "print" || obj.Name() == "println" {
			return obj.Name(), "return it"
		}
		return "", ""
	case *types.Func:
		name = obj.FullName()
	case *types.Var:
		if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
			name = obj.Pkg().Path() + "." + obj.Name()
		}
	}
	if of, global, ok := strings.Cut(name, "math/rand"); ok && of == "" {
		if global = strings.TrimPrefix(strings.TrimPrefix(global, "/v2"), "."); !sourced[global] {
			return name, "derive a source from the seed and the job's name"
		}
	}
	return name, impure[name]
}

// fuses reports whether n adds to or subtracts from a product of floats that is not rounded
// explicitly. The Go specification (Floating-point operators) lets an implementation fuse
// both operations without intermediate rounding, so results differ between processors.
func fuses(info *types.Info, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return (n.Op == token.ADD || n.Op == token.SUB) && (isProduct(info, n.X) || isProduct(info, n.Y))
	case *ast.AssignStmt:
		return (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && isProduct(info, n.Rhs[0])
	}
	return false
}

// isProduct reports whether an expression is a product of floats that is not a constant.
func isProduct(info *types.Info, e ast.Expr) bool {
	e = ast.Unparen(e)
	if u, ok := e.(*ast.UnaryExpr); ok && (u.Op == token.SUB || u.Op == token.ADD) {
		e = ast.Unparen(u.X)
	}
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.MUL || info.Types[b].Value != nil {
		return false
	}
	t, ok := info.TypeOf(b).Underlying().(*types.Basic)
	return ok && t.Info()&types.IsFloat != 0
}
