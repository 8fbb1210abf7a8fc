package eventlog

import (
	"reflect"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Whatever an entry holds, reading it ends, with facts that can be written and
// read again.
func FuzzUnpack(f *testing.F) {
	parts, err := encodeSnapshotParts([]protocol.Message{
		{Version: protocol.Current, At: 1, From: protocol.Submitter, Seq: 1, Body: protocol.Submit{Job: protocol.Job{ID: "a"}}},
		{Version: protocol.Current, At: 1, From: protocol.SnapshotSource, Seq: 2, Body: protocol.Snapshot{Rounds: 3}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(parts[0])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	read := func(data []byte) (ms []protocol.Message, err error) {
		err = decodeEvents(data, func(m protocol.Message) error { ms = append(ms, m); return nil })
		return ms, err
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := read(data)
		if err != nil {
			return
		}
		parts, err := encodeSnapshotParts(ms)
		if err != nil {
			t.Fatal(err)
		}
		var again []protocol.Message
		for _, p := range parts {
			some, err := read(p)
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, some...)
		}
		if len(again) != len(ms) || len(ms) > 0 && !reflect.DeepEqual(again[0].Body, ms[0].Body) {
			t.Fatalf("%d facts, and %d when read again", len(ms), len(again))
		}
	})
}
