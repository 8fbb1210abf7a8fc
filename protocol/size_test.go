package protocol

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

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

// Agents send bids uncounted if their bound is below the limit, so it must never be too low: not for
// the longest integers, nor for many short rows.
func TestBidsAreNoLongerThanTheirBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64(), rapid.Just(int64(math.MaxInt64)), rapid.Just(int64(math.MinInt64)))
		ints := func(label string) []int64 {
			return slices.Repeat([]int64{number.Draw(t, label)}, rapid.IntRange(0, 300).Draw(t, label))
		}
		o := Bids{Round: rapid.Uint64().Draw(t, "round"), Idle: Milli(number.Draw(t, "idle")), FragmentedGPUs: Milli(number.Draw(t, "useless"))}
		name := rapid.StringN(0, 20, 60)
		for range rapid.IntRange(0, 20).Draw(t, "jobs") {
			m := JobBids{Job: JobID(name.Draw(t, "job")), Why: Reason{Code: Code(name.Draw(t, "code")), Note: name.Draw(t, "note")}}
			for range rapid.IntRange(0, 8).Draw(t, "options") {
				x := number.Draw(t, "value")
				m.Options = append(m.Options, BidOption{struct{}{}, Time(x), Time(x), name.Draw(t, "model"), Milliwatts(x), Millijoules(x), Milligrams(x),
					Microdollars(x), Microdollars(x), Milli(x), Milli(x), Microdollars(x), time.Duration(x), Microdollars(x), int(x)})
			}
			if rapid.Bool().Draw(t, "expect") {
				m.Expect = []Estimate{{}}
			}
			o.Jobs = append(o.Jobs, m)
		}
		for range rapid.IntRange(0, 3).Draw(t, "models") {
			o.Capacity = append(o.Capacity, CapacityProfile{Model: name.Draw(t, "model"), From: Time(number.Draw(t, "from")), Free: convert[Milli](ints("free")), ForDeferrable: convert[Milli](ints("open")), CPUUsed: Milli(number.Draw(t, "cores")), MemoryUsed: Milli(number.Draw(t, "memory"))})
		}
		o.Grid = GridForecast{struct{}{}, Time(number.Draw(t, "from")), convert[Microdollars](ints("price")), convert[Milligrams](ints("carbon")),
			convert[Milli](ints("pue")), convert[Microdollars](ints("priceOff")), convert[Milligrams](ints("carbonOff"))}
		m := Message{Version: Current, At: Time(number.Draw(t, "at")), From: Party(strings.Repeat("a", maxName)), Seq: 1<<64 - 1, To: Party(strings.Repeat("b", maxName)), Body: o}
		size, err := EncodedSize(m)
		if bound := o.MaxWireSize(); err != nil || size > bound {
			t.Fatalf("%d bytes, %v; the bound is %d", size, err, bound)
		}
	})
}

// convert returns a list with another type of integer.
func convert[T ~int64](all []int64) (out []T) {
	for _, n := range all {
		out = append(out, T(n))
	}
	return out
}
