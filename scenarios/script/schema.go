package script

import (
	"bytes"
	_ "embed"
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
)

// Schema is the JSON schema of a scenario.yaml, as published.
//
//go:embed schema.json
var Schema []byte

const schemaName = "scenario.json"

// rules is the schema, compiled once, with its text to quote from.
var rules = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaName)
})

// hold checks a document against the schema. Each fault is an error of its own,
// in the order of their lines.
func (p *page) hold() error {
	sch, err := rules()
	if err != nil {
		return fmt.Errorf("script: schema.json: %w", err)
	}
	var bad *jsonschema.ValidationError
	if err := sch.Validate(p.doc); errors.As(err, &bad) {
		var all []fault
		p.collect(bad, &all)
		slices.SortStableFunc(all, func(a, b fault) int { return a.line - b.line })
		var out []error
		for _, f := range all {
			out = append(out, f)
		}
		return errors.Join(out...)
	}
	return nil
}

// collect walks to the leaves of a schema error: they say what is wrong.
func (p *page) collect(e *jsonschema.ValidationError, into *[]fault) {
	if _, either := e.ErrorKind.(*kind.AnyOf); either || len(e.Causes) == 0 {
		at := e.InstanceLocation
		if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok && len(k.Properties) > 0 {
			slices.Sort(k.Properties)
			for _, key := range k.Properties {
				*into = append(*into, p.fault(append(slices.Clone(at), key), "unknown key: want %s", p.keys(e)))
			}
			return
		}
		*into = append(*into, p.fault(at, "%s", words(e.ErrorKind)))
		return
	}
	for _, c := range e.Causes {
		p.collect(c, into)
	}
}

// keys lists what may stand where an unknown key stood.
func (p *page) keys(e *jsonschema.ValidationError) string {
	sch, err := rules()
	if err != nil {
		return ""
	}
	// The document follows the schema so far, so walking both finds the place.
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
	return strings.Join(slices.Sorted(maps.Keys(sch.Properties)), ", ")
}

func number(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

// words says what a kind of fault asks for.
func words(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s: want %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Required:
		return fmt.Sprintf("lacks %s: add it", strings.Join(k.Missing, ", "))
	case *kind.Minimum:
		return fmt.Sprintf("is too small: want at least %g", number(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf("is too large: want at most %g", number(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("is too small: want more than %g", number(k.Want))
	case *kind.Enum:
		return fmt.Sprintf("is %v: want one of %s", k.Got, strings.Trim(fmt.Sprint(k.Want), "[]"))
	case *kind.Pattern:
		if strings.HasPrefix(k.Want, "^[0-9]{4}") {
			return fmt.Sprintf("is %q: want a whole hour as 2022-04-13T00:00:00Z", k.Got)
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
