package arch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rules are what every package keeps by itself, whatever its line in the plan says: each
// returns the violations in one package, with their positions.
var rules = []func(*pkg) []string{isReadable, retiredWords, foldsTheLife, editsBodies, sumsObjective}

func TestPackagesFollowThePlanAndTheRules(t *testing.T) {
	pkgs := theHouse(t).pkgs
	for _, complaint := range keepsPlan(plan, pkgs) {
		t.Error(complaint)
	}
	for _, p := range inOrder(pkgs) {
		for _, complaint := range brokenRules(p) {
			t.Error(complaint)
		}
	}
}

// brokenRules returns the violations of all rules in p.
func brokenRules(p *pkg) (wrong []string) {
	for _, rule := range rules {
		wrong = append(wrong, rule(p)...)
	}
	return wrong
}

// keepsPlan returns the violations of a plan, each with its position and the rule.
func keepsPlan(plan []line, pkgs map[string]*pkg) (wrong []string) {
	for _, p := range inOrder(pkgs) {
		i := slices.IndexFunc(plan, func(l line) bool { return l.pkg == p.name })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%s: package %s has no line in the plan of internal/arch; add one with what it may import, whether it is pure, and what it is for",
				p.at(append(p.files, p.tests...)[0]), p.name))
			continue
		}
		for _, f := range p.files {
			for _, imp := range f.Imports {
				if bad := mayImport(plan[i], path(imp)); bad != "" {
					wrong = append(wrong, p.at(imp)+": "+bad)
				}
			}
		}
		for _, f := range append(p.tests, p.files...) {
			for _, imp := range f.Imports {
				if bad := keepsToItself(p.name, path(imp)); bad != "" {
					wrong = append(wrong, p.at(imp)+": "+bad)
				}
			}
		}
		if bad := importsBothSides(p); bad != "" {
			wrong = append(wrong, bad)
		}
		if plan[i].pure {
			wrong = append(wrong, isPure(p)...)
		}
	}
	for _, l := range plan {
		if pkgs[l.pkg] == nil {
			wrong = append(wrong, fmt.Sprintf("the plan has a line for %s, which does not exist; remove the line", l.pkg))
		}
	}
	return wrong
}

// inOrder returns packages sorted by name.
func inOrder(pkgs map[string]*pkg) (out []*pkg) {
	for _, p := range pkgs {
		out = append(out, p)
	}
	slices.SortFunc(out, func(x, y *pkg) int { return strings.Compare(x.name, y.name) })
	return out
}

// mayImport returns why the package of l may not import another, or "".
func mayImport(l line, other string) string {
	ours, ok := strings.CutPrefix(other, module)
	switch {
	case ok && !matches(strings.Fields(l.ours), ours):
		return fmt.Sprintf("%s may not import %s: its line in the plan allows %s", l.pkg, ours, orNothing(l.ours))
	case ok || matches(strings.Fields(l.others), other) || behindDoor(other):
		return ""
	case strings.Contains(other, ".") || other == "C":
		return fmt.Sprintf("%s may not import %s: its line in the plan names no such package", l.pkg, other)
	case l.pure:
		if hint, banned := bannedInPure(other); banned {
			return fmt.Sprintf("%s is pure and may not import %s: %s", l.pkg, other, hint)
		}
	}
	return ""
}

// orNothing returns a list of packages for a message.
func orNothing(list string) string {
	if list == "" {
		return "nothing of ours"
	}
	return list
}

// behindDoor reports whether an import belongs to a library of doors.
func behindDoor(other string) bool {
	for _, d := range doors {
		if strings.HasPrefix(other, d.library) {
			return true
		}
	}
	return false
}

// keepsToItself returns why no file of a package, tests included, may import another, or "":
// the library is reserved for other packages, or the package belongs to the other side.
func keepsToItself(name, other string) string {
	for _, d := range doors {
		if strings.HasPrefix(other, d.library) && !slices.ContainsFunc(strings.Fields(d.door), func(door string) bool { return name == door || strings.HasPrefix(name, door+"/") }) {
			return fmt.Sprintf("%s may not import %s: only %s may, because %s", name, other, strings.Join(strings.Fields(d.door), " and "), d.why)
		}
	}
	ours, ok := strings.CutPrefix(other, module)
	if !ok {
		return ""
	}
	for i, mine := range sides {
		theirs := sides[1-i]
		if matches(mine.pkgs, name) && matches(theirs.pkgs, ours) {
			return fmt.Sprintf("%s may not import %s: %s and %s share protocol only", name, ours, mine.name, theirs.name)
		}
	}
	return ""
}

// importsBothSides returns which packages of both sides a package imports, unless it may;
// or "".
func importsBothSides(p *pkg) string {
	if p.main() || p.name == "scenarios" || p.name == "lab/faults" {
		return ""
	}
	var seen [2]string
	for _, name := range p.imports() {
		for i, s := range sides {
			if seen[i] == "" && matches(s.pkgs, name) {
				seen[i] = name
			}
		}
	}
	if seen[0] == "" || seen[1] == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s imports both %s and %s; only mains and scenarios may", p.at(p.files[0]), p.name, seen[0], seen[1])
}
