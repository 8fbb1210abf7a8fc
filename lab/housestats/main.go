// Command housestats measures how a Go tree reads: how long its functions are, how
// many of them have names of one word, how much of the code is comment, and how many
// lines each top-level folder holds. Tests and generated files are left out.
//
//	go run ./lab/housestats . ../raft ../armada/internal/scheduler
//
// It reads files alone and runs no code, so that any checkout can be put beside ours.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

func main() {
	dirs := os.Args[1:]
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var all []treeStats
	for _, dir := range dirs {
		s, err := measureTree(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, "housestats:", err)
			os.Exit(1)
		}
		all = append(all, s)
	}
	printStats(os.Stdout, all)
}

// treeStats is what one tree measures. Lines are those of non-test Go files.
type treeStats struct {
	dir          string
	packages     map[string]bool
	lines        map[string]int // by top-level folder
	codeLines    int            // lines that hold code
	commentLines int            // lines that hold a comment and no code
	bodies       []int          // lines of each function, sorted
	names        []string       // of functions and methods
}

// measureTree reads the Go files under dir. Folders named testdata or vendor, hidden
// ones, and nested modules are left out.
func measureTree(dir string) (treeStats, error) {
	s := treeStats{dir: dir, packages: make(map[string]bool), lines: make(map[string]int)}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != dir && isLeftOut(file, d.Name()):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return s.addFile(filepath.ToSlash(rel), text)
	})
	slices.Sort(s.bodies)
	return s, err
}

func isLeftOut(path, name string) bool {
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") && name != "." && name != ".." {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func (s *treeStats) addFile(name string, text []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	room, _, nested := strings.Cut(name, "/")
	if !nested {
		room = "."
	}
	s.packages[filepath.Dir(name)] = true
	s.lines[room] += bytes.Count(text, []byte("\n"))
	code, comment := countLines(text)
	s.codeLines += code
	s.commentLines += comment
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name != "_" {
			s.names = append(s.names, fn.Name.Name)
			s.bodies = append(s.bodies, fset.Position(fn.End()).Line-fset.Position(fn.Pos()).Line+1)
		}
	}
	return nil
}

// countLines counts lines that hold code, and lines that hold comment alone.
func countLines(text []byte) (code, comment int) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var sc scanner.Scanner
	sc.Init(file, text, nil, scanner.ScanComments)
	held := make(map[int]bool) // line -> holds code
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(lit, "\n") + 1 {
			held[first+i] = held[first+i] || tok != token.COMMENT
		}
	}
	for _, isCode := range held {
		if isCode {
			code++
		} else {
			comment++
		}
	}
	return code, comment
}

// countWords counts the words of a name in camel case: serveHTTP has two.
func countWords(name string) int {
	n, runes := 0, []rune(strings.Trim(name, "_"))
	for i, r := range runes {
		switch {
		case i == 0, r == '_':
			n++
		case unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) && runes[i-1] != '_' || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			n++
		}
	}
	return n
}

func (s treeStats) oneWordShare() float64 {
	n := 0
	for _, name := range s.names {
		if countWords(name) == 1 {
			n++
		}
	}
	return 100 * float64(n) / float64(max(len(s.names), 1))
}

func (s treeStats) meanNameLength() float64 {
	n := 0
	for _, name := range s.names {
		n += len(name)
	}
	return float64(n) / float64(max(len(s.names), 1))
}

// bodyQuantile returns the lines of the function below which the share q of all lies.
func (s treeStats) bodyQuantile(q float64) int {
	if len(s.bodies) == 0 {
		return 0
	}
	return s.bodies[min(int(q*float64(len(s.bodies))), len(s.bodies)-1)]
}

func (s treeStats) totalLines() (n int) {
	for _, l := range s.lines {
		n += l
	}
	return n
}

func printStats(w io.Writer, all []treeStats) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(title string, value func(treeStats) string) {
		fmt.Fprint(t, title, "\t")
		for _, s := range all {
			fmt.Fprint(t, value(s), "\t")
		}
		fmt.Fprintln(t)
	}
	row("tree", func(s treeStats) string { return s.dir })
	row("packages", func(s treeStats) string { return fmt.Sprint(len(s.packages)) })
	row("lines, tests aside", func(s treeStats) string { return fmt.Sprint(s.totalLines()) })
	row("functions", func(s treeStats) string { return fmt.Sprint(len(s.names)) })
	row("function lines, 90th percentile", func(s treeStats) string { return fmt.Sprint(s.bodyQuantile(0.9)) })
	row("function lines, longest", func(s treeStats) string { return fmt.Sprint(s.bodyQuantile(1)) })
	row("names of one word, %", func(s treeStats) string { return fmt.Sprintf("%.0f", s.oneWordShare()) })
	row("mean length of a name", func(s treeStats) string { return fmt.Sprintf("%.1f", s.meanNameLength()) })
	row("comment lines, % of code and comment", func(s treeStats) string {
		return fmt.Sprintf("%.0f", 100*float64(s.commentLines)/float64(max(s.commentLines+s.codeLines, 1)))
	})
	t.Flush()
	if len(all) != 1 {
		return
	}
	fmt.Fprintln(w)
	for _, room := range slices.Sorted(maps.Keys(all[0].lines)) {
		fmt.Fprintf(t, "%s\t%d\t%.0f %%\t\n", room, all[0].lines[room], 100*float64(all[0].lines[room])/float64(all[0].totalLines()))
	}
	t.Flush()
}
