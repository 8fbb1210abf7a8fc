package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A pkg is a package of this module, parsed and type-checked.
type pkg struct {
	name  string // import path without the module
	fset  *token.FileSet
	files []*ast.File // of the package, without tests
	tests []*ast.File
	info  *types.Info // of files
}

// main reports whether p is a main package.
func (p *pkg) main() bool { return len(p.files) > 0 && p.files[0].Name.Name == "main" }

// at returns the position of n, such as "agents/offer.go:12".
func (p *pkg) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// imports returns the packages of this module that p imports directly, without its tests.
func (p *pkg) imports() []string {
	set := make(map[string]bool)
	for _, f := range p.files {
		for _, i := range f.Imports {
			if ours, ok := strings.CutPrefix(path(i), module); ok {
				set[ours] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// path returns the import path of an import.
func path(i *ast.ImportSpec) string { return strings.Trim(i.Path.Value, "`\"") }

// A house is all packages of the module, with an importer for everything else.
type house struct {
	fset    *token.FileSet
	pkgs    map[string]*pkg
	outside types.Importer
}

// root is the repository's folder, as seen from this package.
const root = "../.."

// read loads all packages once for all tests.
var read = sync.OnceValues(func() (*house, error) {
	h := &house{fset: token.NewFileSet(), pkgs: make(map[string]*pkg)}
	exports, err := listed()
	if err != nil {
		return nil, err
	}
	h.outside = importer.ForCompiler(h.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("arch: go list reported no compiled form of %s", path)
		}
		return os.Open(exports[path])
	})
	sources, err := sources()
	if err != nil {
		return nil, err
	}
	for _, dir := range slices.Sorted(maps.Keys(sources)) {
		if h.pkgs[dir], err = h.pkg(dir, sources[dir]); err != nil {
			return nil, err
		}
	}
	return h, nil
})

// theHouse returns all packages, or ends the test.
func theHouse(t *testing.T) *house {
	t.Helper()
	h, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// listed returns the file with the export data of each package of the module and its
// dependencies.
func listed() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export", module+"...")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("arch: go list: %w\n%s", err, complaint.String())
	}
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return exports, nil
		case err != nil:
			return nil, fmt.Errorf("arch: go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
	}
}

// sources returns the module's Go files by folder and name. It walks the tree itself instead
// of asking go list, so that go test records which files the test read, and does not
// answer from its cache when a package was added or removed.
func sources() (map[string]map[string]string, error) {
	all := make(map[string]map[string]string)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "shared"):
			return fs.SkipDir
		case d.IsDir() && file != root && exists(filepath.Join(file, "go.mod")):
			return fs.SkipDir // a nested module
		case d.IsDir() || filepath.Ext(file) != ".go":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		if all[dir] == nil {
			all[dir] = make(map[string]string)
		}
		all[dir][d.Name()] = string(text)
		return nil
	})
	return all, err
}

// pkg parses and type-checks a package from the text of its files.
func (h *house) pkg(name string, files map[string]string) (*pkg, error) {
	p := &pkg{name: name, fset: h.fset, info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object),
	}}
	for _, base := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(h.fset, name+"/"+base, files[base], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("arch: %w", err)
		}
		if strings.HasSuffix(base, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	// Type errors are ignored: the compiler reports them. Imports that cannot be resolved
	// become empty packages, so that planted imports need not exist.
	conf := types.Config{Importer: standIn{h.outside}, Error: func(error) {}}
	_, _ = conf.Check(module+name, h.fset, p.files, p.info)
	return p, nil
}

// A standIn is an importer that returns an empty package for one that does not exist.
type standIn struct{ types.Importer }

// Import implements types.Importer.
func (s standIn) Import(path string) (*types.Package, error) {
	if p, err := s.Importer.Import(path); err == nil {
		return p, nil
	}
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// matches reports whether name matches an entry of a list; "*" at the end of an entry stands
// for any suffix.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == name || open && strings.HasPrefix(name, prefix)
	})
}

// exists reports whether a file exists.
func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
