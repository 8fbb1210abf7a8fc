package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// An Object is a value as its JSON has it: scalars by key.
type Object map[string]any

// ListObjects returns values whose JSON are objects as a listing. Its columns are the keys that
// hold a text, a number or a truth value, in the order of the first object that has each;
// the one called name comes first, as it names the rows. Keys within an object are joined to
// its own, as in wait_s_mean; lists are left out.
func ListObjects[T any](values []T, name string) (Listing[Object], error) {
	var out Listing[Object]
	for _, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return out, err
		}
		row := make(Object)
		in := json.NewDecoder(bytes.NewReader(text))
		in.UseNumber()
		if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
			return out, fmt.Errorf("printer: %T is no object", value)
		}
		for in.More() {
			key, err := in.Token()
			if err != nil {
				return out, err
			}
			var cell any
			if err := in.Decode(&cell); err != nil {
				return out, err
			}
			addCell(&out, row, key.(string), cell) // keys are texts
		}
		out.Rows = append(out.Rows, row)
	}
	slices.SortStableFunc(out.Columns, func(a, b Column[Object]) int { return btoi(b.Head == name) - btoi(a.Head == name) })
	return out, nil
}

// addCell adds what a key holds to a row, and its column if it is new.
func addCell(l *Listing[Object], row Object, key string, cell any) {
	switch x := cell.(type) {
	case map[string]any:
		for _, within := range slices.Sorted(maps.Keys(x)) {
			addCell(l, row, key+"_"+within, x[within])
		}
		return
	case string, bool:
		row[key] = x
	case json.Number:
		v, _ := x.Float64() // it was a number before it was JSON
		row[key] = v
	default:
		return
	}
	if !slices.ContainsFunc(l.Columns, func(c Column[Object]) bool { return c.Head == key }) {
		l.Columns = append(l.Columns, Column[Object]{Head: key, Value: func(o Object) any { return o[key] }})
	}
}
