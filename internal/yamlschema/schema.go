package yamlschema

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/gridbid/gridbid/internal/nearest"
)

// A SchemaKind is a kind of file: its schema and the words of its errors.
type SchemaKind struct {
	Reader   string // begins errors: the program or package that reads the file
	FileKind string // as errors call the file, such as "scenario"
	Docs     string // the page that explains it
	Schema   []byte // JSON schema, draft 2020-12
	// Pattern describes a pattern of the schema for errors. If it is nil or returns "", the
	// pattern is taken to be that of names.
	Pattern func(pattern string) string

	once  sync.Once
	rules *jsonschema.Schema
	err   error
}

const schemaName = "schema.json"

// compiledSchema compiles the schema once and returns it.
func (k *SchemaKind) compiledSchema() (*jsonschema.Schema, error) {
	k.once.Do(func() {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(k.Schema))
		if err == nil {
			c := jsonschema.NewCompiler()
			if err = c.AddResource(schemaName, doc); err == nil {
				k.rules, err = c.Compile(schemaName)
			}
		}
		k.err = err
	})
	return k.rules, k.err
}

// checkSchema validates the page. Each fault is an error of its own, in the order of
// lines.
func (p *Page) checkSchema() error {
	sch, err := p.kind.compiledSchema()
	if err != nil {
		return fmt.Errorf("%s: schema of a %s: %w", p.kind.Reader, p.kind.FileKind, err)
	}
	var bad *jsonschema.ValidationError
	if err := sch.Validate(p.doc); errors.As(err, &bad) {
		var all []pageFault
		p.collectFaults(bad, &all)
		slices.SortStableFunc(all, func(a, b pageFault) int { return a.line - b.line })
		var out []error
		for _, f := range all {
			out = append(out, f)
		}
		return errors.Join(out...)
	}
	return nil
}

// collectFaults collects the leaves of a validation error, which contain the actual
// faults.
func (p *Page) collectFaults(e *jsonschema.ValidationError, into *[]pageFault) {
	if _, either := e.ErrorKind.(*kind.AnyOf); either || len(e.Causes) == 0 {
		at := e.InstanceLocation
		if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok && len(k.Properties) > 0 {
			slices.Sort(k.Properties)
			for _, key := range k.Properties {
				known := p.allowedKeys(e)
				*into = append(*into, p.locateFault(append(slices.Clone(at), key), "unknown key%s: want %s", nearest.DidYouMean(key, known), strings.Join(known, ", ")))
			}
			return
		}
		*into = append(*into, p.locateFault(at, "%s", p.kind.faultText(e.ErrorKind)))
		return
	}
	for _, c := range e.Causes {
		p.collectFaults(c, into)
	}
}

// allowedKeys returns the keys that are allowed where an unknown key was found.
func (p *Page) allowedKeys(e *jsonschema.ValidationError) []string {
	sch, err := p.kind.compiledSchema()
	if err != nil {
		return nil
	}
	// The path is valid up to here, so it can be followed through the schema.
	for _, step := range e.InstanceLocation {
		for sch.Ref != nil {
			sch = sch.Ref
		}
		if _, err := strconv.Atoi(step); err == nil && sch.Items2020 != nil {
			sch = sch.Items2020
		} else if next := sch.Properties[step]; next != nil {
			sch = next
		}
	}
	for sch.Ref != nil {
		sch = sch.Ref
	}
	return slices.Sorted(maps.Keys(sch.Properties))
}

// toFloat converts a number of the schema for printing.
func toFloat(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// faultText describes a fault and what to do about it.
func (f *SchemaKind) faultText(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s: want %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Required:
		return fmt.Sprintf("lacks %s: add it", strings.Join(k.Missing, ", "))
	case *kind.Minimum:
		return fmt.Sprintf("is too small: want at least %g", toFloat(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf("is too large: want at most %g", toFloat(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("is too small: want more than %g", toFloat(k.Want))
	case *kind.Enum:
		return fmt.Sprintf("is %v: want one of %s", k.Got, strings.Trim(fmt.Sprint(k.Want), "[]"))
	case *kind.Pattern:
		if f.Pattern != nil && f.Pattern(k.Want) != "" {
			return fmt.Sprintf("is %q: want %s", k.Got, f.Pattern(k.Want))
		}
		return fmt.Sprintf("is %q: want a name of small letters, digits and hyphens, at most 63", k.Got)
	case *kind.MinItems, *kind.MinLength:
		return "is empty: fill it in or leave it out"
	case *kind.MaxItems, *kind.MaxLength:
		return "is too long: shorten it"
	case *kind.UniqueItems:
		return fmt.Sprintf("has an item twice (%d and %d): drop one", k.Duplicates[0]+1, k.Duplicates[1]+1)
	case *kind.AnyOf:
		return "is neither auto nor a number above 0 and up to 1: use one of them"
	}
	return fmt.Sprintf("does not follow schema.json (%s)", strings.Join(k.KeywordPath(), "/"))
}
