package protocol

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// FuzzDecode holds that whatever Decode accepts is a message like any other.
func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/v3/*.msgpack")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(mustEncode(f, offer(3, 2)))
	f.Add([]byte("\xdd\x04\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		wire := mustEncode(t, m)
		again, err := Decode(wire)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("Decode(Encode(m)) = %v\n got %+v\nwant %+v", err, again, m)
		}
		if twice := mustEncode(t, again); !bytes.Equal(twice, wire) {
			t.Fatalf("Encode differs the second time:\n got %x\nwant %x", twice, wire)
		}
		if text, err := MessageJSON(m); err != nil || !json.Valid(text) {
			t.Fatalf("MessageJSON(m) = %s, %v", text, err)
		}
	})
}
