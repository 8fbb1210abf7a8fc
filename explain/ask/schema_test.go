package ask

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/query.schema.json")

// The published schema is that of the Go type, field by field.
func TestThePublishedSchemaIsThatOfTheType(t *testing.T) {
	const file = "../../docs/query.schema.json"
	if *update {
		if err := os.WriteFile(file, QuerySchema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(published, QuerySchema()) {
		t.Errorf("%s is not what Schema returns (%v); run go test ./explain/ask -update", file, err)
	}
	var schema struct {
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(QuerySchema(), &schema); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{"string": "string", "uint64": "integer", "int64": "integer", "slice": "array"}
	of := reflect.TypeFor[Query]()
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want := kinds[f.Type.Kind().String()]
		if f.Type.String() == "protocol.Time" {
			want = "string"
		}
		if got := schema.Properties[name].Type; got != want {
			t.Errorf("field %s is of type %q in the schema; want %q", name, got, want)
		}
	}
	if len(schema.Properties) != of.NumField() {
		t.Errorf("the schema has %d fields, the type %d", len(schema.Properties), of.NumField())
	}
}
