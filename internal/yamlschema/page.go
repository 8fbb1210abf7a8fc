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

// Bounds of a page.
const (
	mostPage  = 1 << 20 // bytes
	mostDepth = 16
)

// A Page is a YAML document with its lines, which follows the schema of its Kind.
type Page struct {
	kind  *Kind
	file  string
	root  *yaml.Node
	doc   any            // for the schema
	lines map[string]int // by the path of a key or an item: "sites/0/name"
}

// A fault is an error at a line of a page.
type fault struct {
	by   string
	file string
	line int
	at   string
	what string
}

func (f fault) Error() string {
	if f.at == "" {
		return fmt.Sprintf("%s: %s:%d: %s", f.by, f.file, f.line, f.what)
	}
	return fmt.Sprintf("%s: %s:%d: %s: %s", f.by, f.file, f.line, f.at, f.what)
}

// Decode fills into, a pointer to a struct with yaml tags, from the page.
func (p *Page) Decode(into any) error {
	if err := p.root.Decode(into); err != nil {
		return fmt.Errorf("%s: %s: %w", p.kind.By, p.file, err)
	}
	return nil
}

// Fault says what is wrong at a path of keys and indexes, for what a schema
// cannot see.
func (p *Page) Fault(path []string, format string, args ...any) error {
	return p.fault(path, format, args...)
}

// fault says what is wrong at a path, with the line of the nearest thing there.
func (p *Page) fault(path []string, format string, args ...any) fault {
	f := fault{by: p.kind.By, file: p.file, line: 1, at: strings.Join(path, "/"), what: fmt.Sprintf(format, args...)}
	for n := len(path); n > 0; n-- {
		if line, ok := p.lines[strings.Join(path[:n], "/")]; ok {
			f.line = line
			break
		}
	}
	return f
}

// Read parses a page and holds it to the schema. Each thing that is wrong is an
// error of its own, with its line, in the order of their lines.
func (k *Kind) Read(file string, text []byte) (*Page, error) {
	if len(text) > mostPage {
		return nil, fmt.Errorf("%s: %s: over %d bytes: this is no %s", k.By, file, mostPage, k.What)
	}
	p := &Page{kind: k, file: file, lines: make(map[string]int)}
	var top, more yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	err := in.Decode(&top)
	if err == nil {
		switch err = in.Decode(&more); {
		case err == nil:
			return nil, fault{k.By, file, more.Line, "", "a second document: write one " + k.What + " in a file"}
		case errors.Is(err, io.EOF):
			err = nil
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s: %s: correct the YAML", k.By, file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if top.Kind != yaml.DocumentNode || len(top.Content) != 1 {
		return nil, fmt.Errorf("%s: %s: empty: want a %s (see %s)", k.By, file, k.What, k.Docs)
	}
	p.root = top.Content[0]
	doc, err := p.walk(p.root, nil)
	if err != nil {
		return nil, err
	}
	p.doc = doc
	return p, p.hold()
}

// walk turns nodes into plain values and notes their lines.
func (p *Page) walk(n *yaml.Node, path []string) (any, error) {
	here := strings.Join(path, "/")
	if _, ok := p.lines[here]; !ok {
		p.lines[here] = n.Line
	}
	if len(path) > mostDepth {
		return nil, p.fault(path, "nested deeper than %d: this is no %s", mostDepth, p.kind.What)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return p.mapping(n, path)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for i, c := range n.Content {
			v, err := p.walk(c, append(path[:len(path):len(path)], strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.ScalarNode:
		return p.scalar(n, path)
	}
	return nil, p.fault(path, "an alias: write the value out")
}

func (p *Page) mapping(n *yaml.Node, path []string) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := append(path[:len(path):len(path)], key.Value)
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return nil, fault{p.kind.By, p.file, key.Line, strings.Join(path, "/"), "a key that is no word: write keys out"}
		}
		if _, dup := out[key.Value]; dup {
			return nil, fault{p.kind.By, p.file, key.Line, strings.Join(at, "/"), "stands twice: drop one"}
		}
		p.lines[strings.Join(at, "/")] = key.Line
		v, err := p.walk(n.Content[i+1], at)
		if err != nil {
			return nil, err
		}
		out[key.Value] = v
	}
	return out, nil
}

func (p *Page) scalar(n *yaml.Node, path []string) (any, error) {
	if n.Tag == "!!timestamp" || n.Tag == "!!str" {
		return n.Value, nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, p.fault(path, "%q: %s: correct it", n.Value, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, p.fault(path, "is %s: want a finite number", n.Value)
		}
	case nil, bool, int, int64, uint64:
	default:
		return nil, p.fault(path, "is %q of kind %s: want a word, a number, true or false", n.Value, n.Tag)
	}
	return v, nil
}
