package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Limits that keep files and functions readable.
const (
	mostLines = 500 // lines of a file
	longest   = 100 // lines of a function, tests aside
)

// isReadable returns what is too long in p, and which exported names lack documentation.
func isReadable(p *pkg) (wrong []string) {
	for _, f := range append(p.tests, p.files...) {
		if n := p.fset.File(f.Pos()).LineCount(); n > mostLines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines; split it below %d", p.fset.Position(f.Pos()).Filename, n, mostLines))
		}
	}
	if len(p.files) > 0 && !slices.ContainsFunc(p.files, func(f *ast.File) bool { return f.Doc != nil }) {
		wrong = append(wrong, fmt.Sprintf("%s: package %s has no doc comment", p.at(p.files[0]), p.name))
	}
	for _, f := range p.files {
		for _, d := range f.Decls {
			wrong = append(wrong, tooLong(p, d)...)
			if !p.main() {
				wrong = append(wrong, undocumented(p, d)...)
			}
		}
	}
	return wrong
}

// tooLong returns an error for a function with too many lines.
func tooLong(p *pkg, d ast.Decl) []string {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return nil
	}
	n := p.fset.Position(f.End()).Line - p.fset.Position(f.Pos()).Line + 1
	if n <= longest {
		return nil
	}
	return []string{fmt.Sprintf("%s: func %s has %d lines; split it below %d", p.at(f), f.Name.Name, n, longest)}
}

// undocumented returns the exported names of d without a doc comment. In a group of
// constants or variables the group's comment is enough.
func undocumented(p *pkg, d ast.Decl) (wrong []string) {
	complain := func(id *ast.Ident) {
		if id.IsExported() {
			wrong = append(wrong, fmt.Sprintf("%s: %s.%s is exported and has no doc comment", p.at(id), p.name, id.Name))
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && ofExported(d) {
			complain(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Doc == nil && s.Comment == nil && (d.Doc == nil || len(d.Specs) > 1 && !isUnit(s)) {
					complain(s.Name)
				}
			case *ast.ValueSpec:
				if d.Tok != token.IMPORT && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					for _, id := range s.Names {
						complain(id)
					}
				}
			}
		}
	}
	return wrong
}

// isUnit reports whether s defines an integer type, such as a unit in a group of units.
func isUnit(s *ast.TypeSpec) bool {
	id, ok := s.Type.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, "int")
}

// ofExported reports whether f needs a doc comment: it is a function, or a method of an
// exported type that does not merely implement an interface of the standard library.
func ofExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	switch f.Name.Name {
	case "Error", "Len", "Less", "Swap", "Push", "Pop":
		return false // documented by the interfaces
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}
