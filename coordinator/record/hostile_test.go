package record

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// The span of an option is counted from instants that a site makes up. Where it
// overflows to less than a millisecond there is nothing to divide by.
func TestAnOptionOfNoSpanIsRead(t *testing.T) {
	const far = 76_480_200_929_599_801 // times 10^6, to nanoseconds, is 64 in 64 bits
	for _, start := range []protocol.Time{noon, -far / 2} {
		s := &stage{now: noon}
		s.hello("oslo")
		s.submit(job("a"))
		s.call(1, job("a"))
		s.offer("oslo", 1, protocol.Menu{Job: "a", Options: []protocol.Option{{Start: start, Finish: start + far, Model: "V100"}}})
		r, _ := s.book(Config{}).Job("a")
		if o := r.Hearings[0].Answers[0].Options; len(o) != 1 || o[0].Room != 0 {
			t.Errorf("the options from %d are %+v", start, o)
		}
	}
}
