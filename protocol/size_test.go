package protocol

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEncodedSizeIsWhatEncodeWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{Version: Current, At: 1, From: "agent/oslo", Seq: rapid.Uint64Range(1, 1<<62).Draw(t, "seq"), To: Coordinator}
		m.Body = CallForBids{Round: 3, MaxBytes: rapid.IntRange(0, 1<<23).Draw(t, "limit"), Jobs: make([]Job, rapid.IntRange(0, 40).Draw(t, "jobs"))}
		data, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := EncodedSize(m); n != len(data) || err != nil {
			t.Fatalf("EncodedSize = %d, %v; Encode writes %d bytes", n, err, len(data))
		}
	})
}

func TestEncodedSizeGoesBeyondWhatMayTravel(t *testing.T) {
	m := Message{Version: Current, At: 1, From: "agent/oslo", Seq: 1, To: Coordinator, Body: CallForBids{Jobs: make([]Job, 700_000)}}
	if n, err := EncodedSize(m); n <= MaxMessage || err != nil {
		t.Errorf("EncodedSize = %d, %v; want over %d", n, err, MaxMessage)
	}
	if _, err := EncodedSize(Message{Version: Current, From: "agent/oslo", Seq: 1}); err == nil {
		t.Error("a message without a body has a size")
	}
}
