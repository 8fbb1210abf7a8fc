package yamlschema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds that protect against hostile files.
const (
	maxPageBytes = 1 << 20
	maxDepth     = 16 // of nested maps and lists
)

// A Page is a YAML document that follows the schema of its kind, with the line of each
// key.
type Page struct {
	kind  *SchemaKind
	file  string
	root  *yaml.Node
	doc   any            // as the schema validator reads it
	lines map[string]int // by the path of a key or an item: "sites/0/name"
}

// A pageFault is an error at a line of a page.
type pageFault struct {
	reader string
	file   string
	line   int
	at     string
	what   string
}

func (f pageFault) Error() string {
	if f.at == "" {
		return fmt.Sprintf("%s: %s:%d: %s", f.reader, f.file, f.line, f.what)
	}
	return fmt.Sprintf("%s: %s:%d: %s: %s", f.reader, f.file, f.line, f.at, f.what)
}

// DecodeInto decodes the page into a pointer to a struct with yaml tags.
func (p *Page) DecodeInto(into any) error {
	if err := p.root.Decode(into); err != nil {
		return fmt.Errorf("%s: %s: %w", p.kind.Reader, p.file, err)
	}
	return nil
}

// FaultAt returns an error at a path of keys and indexes, for conditions that a schema
// cannot express.
func (p *Page) FaultAt(path []string, format string, args ...any) error {
	return p.locateFault(path, format, args...)
}

// LineOf returns the line of a path of keys and indexes: that of the deepest element of the
// path that exists.
func (p *Page) LineOf(path []string) int {
	for n := len(path); n > 0; n-- {
		if line, ok := p.lines[strings.Join(path[:n], "/")]; ok {
			return line
		}
	}
	return max(p.lines[""], 1)
}

// locateFault returns a fault at a path.
func (p *Page) locateFault(path []string, format string, args ...any) pageFault {
	return pageFault{reader: p.kind.Reader, file: p.file, line: p.LineOf(path), at: strings.Join(path, "/"), what: fmt.Sprintf(format, args...)}
}

// ParsePage parses a page and validates it. Each fault is an error of its own, with
// its line, in the order of lines.
func (k *SchemaKind) ParsePage(file string, text []byte) (*Page, error) {
	if len(text) > maxPageBytes {
		return nil, fmt.Errorf("%s: %s: over %d bytes: this is no %s", k.Reader, file, maxPageBytes, k.FileKind)
	}
	p := &Page{kind: k, file: file, lines: make(map[string]int)}
	var top, more yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	err := in.Decode(&top)
	if err == nil {
		switch err = in.Decode(&more); {
		case err == nil:
			return nil, pageFault{k.Reader, file, more.Line, "", "a second document: write one " + k.FileKind + " in a file"}
		case errors.Is(err, io.EOF):
			err = nil
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s: %s: correct the YAML", k.Reader, file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if top.Kind != yaml.DocumentNode || len(top.Content) != 1 {
		return nil, fmt.Errorf("%s: %s: empty: want a %s (see %s)", k.Reader, file, k.FileKind, k.Docs)
	}
	p.root = top.Content[0]
	doc, err := p.plainValue(p.root, nil)
	if err != nil {
		return nil, err
	}
	p.doc = doc
	return p, p.checkSchema()
}

// plainValue converts a node to plain values for the validator and records the lines
// of keys and items. Aliases are refused: they could expand to any size.
func (p *Page) plainValue(n *yaml.Node, path []string) (any, error) {
	here := strings.Join(path, "/")
	if _, ok := p.lines[here]; !ok {
		p.lines[here] = n.Line
	}
	if len(path) > maxDepth {
		return nil, p.locateFault(path, "nested deeper than %d: this is no %s", maxDepth, p.kind.FileKind)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return p.plainMapping(n, path)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for i, c := range n.Content {
			v, err := p.plainValue(c, append(path[:len(path):len(path)], strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.ScalarNode:
		return p.plainScalar(n, path)
	}
	return nil, p.locateFault(path, "an alias: write the value out")
}

// plainMapping converts a mapping. Duplicate and merge keys are refused.
func (p *Page) plainMapping(n *yaml.Node, path []string) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := append(path[:len(path):len(path)], key.Value)
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, pageFault{p.kind.Reader, p.file, key.Line, strings.Join(path, "/"), "a key that is no word: write keys out"}
		}
		if _, dup := out[key.Value]; dup {
			return nil, pageFault{p.kind.Reader, p.file, key.Line, strings.Join(at, "/"), "appears twice: remove one"}
		}
		p.lines[strings.Join(at, "/")] = key.Line
		v, err := p.plainValue(n.Content[i+1], at)
		if err != nil {
			return nil, err
		}
		out[key.Value] = v
	}
	return out, nil
}

// plainScalar converts a scalar. Timestamps stay text, which callers parse themselves.
func (p *Page) plainScalar(n *yaml.Node, path []string) (any, error) {
	if n.Tag == "!!timestamp" || n.Tag == "!!str" {
		return n.Value, nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, p.locateFault(path, "%q: %s: correct it", n.Value, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, p.locateFault(path, "is %s: want a finite number", n.Value)
		}
	case nil, bool, int, int64, uint64:
	default:
		return nil, p.locateFault(path, "is %q of kind %s: want a word, a number, true or false", n.Value, n.Tag)
	}
	return v, nil
}
