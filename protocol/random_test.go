package protocol

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

var (
	someInts = rapid.OneOf(
		rapid.Int64Range(-40, 300),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt32 - 1, math.MinInt32, math.MinInt16, -129, -128, -33, -32,
			127, 128, 255, 256, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64}),
		rapid.Int64())
	someTexts = rapid.OneOf(rapid.SampledFrom([]string{"", "oslo", "V100", "no-room"}), rapid.StringN(0, 40, 300))
)

// draw fills v, of any type that a body is made of. Empty lists are nil, as
// they come out of Decode.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				draw(t, v.Field(i))
			}
		}
		fillColumns(v)
	case reflect.Slice:
		n := rapid.SampledFrom([]int{0, 1, 2, 17}).Draw(t, "len")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if i < 2 { // the rest stays zero, which is a case too
				draw(t, v.Index(i))
			} else {
				fillColumns(v.Index(i))
			}
		}
	case reflect.String:
		v.SetString(someTexts.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Uint64:
		v.SetUint(uint64(someInts.Draw(t, "n")))
	default:
		v.SetInt(someInts.Draw(t, "n"))
	}
}

// fillColumns gives pods to every option in v that has none, cores in use to every profile and models to every part: without
// them their rows have no column for them, as those of testdata/v3 show.
func fillColumns(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if o, ok := v.Addr().Interface().(*BidOption); ok && o.Pods == 0 {
			o.Pods = 1
		}
		if p, ok := v.Addr().Interface().(*CapacityProfile); ok && p.CPUUsed == 0 && p.MemoryUsed == 0 {
			p.CPUUsed = 1
		}
		if p, ok := v.Addr().Interface().(*Part); ok && len(p.Models) == 0 {
			p.Models = []string{"V100"}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillColumns(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillColumns(v.Index(i))
		}
	}
}

func kindNames() []string { return slices.Sorted(maps.Keys(bodyPlansByKind)) }

func drawMessage(t *rapid.T) Message {
	body := reflect.New(bodyPlansByKind[rapid.SampledFrom(kindNames()).Draw(t, "kind")].typ).Elem()
	draw(t, body)
	return Message{
		Version: Current,
		At:      Time(someInts.Draw(t, "at")),
		From:    rapid.SampledFrom([]Party{Coordinator, AgentParty("oslo")}).Draw(t, "from"),
		Seq:     rapid.Uint64Min(1).Draw(t, "seq"),
		To:      rapid.SampledFrom([]Party{"", AgentParty("lyon")}).Draw(t, "to"),
		Body:    body.Interface().(Body),
	}
}

// rowTypes returns every type that travels as a row.
func rowTypes() []reflect.Type {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Slice:
			visit(t.Elem())
		case reflect.Struct:
			if _, ok := t.FieldByName("_msgpack"); ok {
				seen[t] = true
			}
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
		}
	}
	for t := range bodyPlansByType {
		visit(t)
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
}
