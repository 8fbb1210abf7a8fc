// Package bustest holds the test that every hub passes.
package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

const (
	oslo  protocol.Party = "agent/oslo"
	lyon  protocol.Party = "agent/lyon"
	turin protocol.Party = "agent/turin"
)

// Test checks that hub keeps the promises of package bus.
func Test(t *testing.T, hub bus.Hub) {
	for _, tc := range []struct {
		name string
		run  func(*testing.T, bus.Hub)
	}{
		{"what is said reaches its listener and nobody else", testTo},
		{"what is said to all reaches all but its speaker", testAll},
		{"a party hears what it says to itself", testSelf},
		{"hands and feeds hear only what is said to them", testPrivate},
		{"ten thousand messages keep their order", testOrder},
		{"many speak at once and each keeps its order", testSpeakers},
		{"a message said twice is the same message", testTwice},
		{"an offer of megabytes arrives byte for byte", testBig},
		{"a party speaks in no other name", testOtherName},
		{"names that no subject can hold are refused", testNames},
		{"what was said before the port closed arrives", testLastWords},
		{"a closed port says and hears nothing", testClose},
		{"a port closes with its context", testContext},
		{"a machine lives on the hub", testLive},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, hub) })
	}
}

// A party of a test: its port, and its mouth.
type party struct {
	bus.Port
	t     *testing.T
	mouth protocol.Mouth
}

func join(t *testing.T, hub bus.Hub, who protocol.Party) *party {
	t.Helper()
	port, err := hub.Join(t.Context(), who)
	if err != nil {
		t.Fatalf("Join(%s): %v", who, err)
	}
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Errorf("Close of %s: %v", who, err)
		}
	})
	return &party{port, t, protocol.Mouth{Who: who}}
}

func (p *party) word(to protocol.Party, job string) protocol.Message {
	return p.mouth.Say(1000, to, protocol.Started{Job: protocol.JobID(job)})
}

func (p *party) say(ms ...protocol.Message) {
	p.t.Helper()
	if err := p.Say(p.t.Context(), ms...); err != nil {
		p.t.Fatalf("Say as %s: %v", p.mouth.Who, err)
	}
}

// patience is far longer than anything takes, and is not waited for unless a
// test is about to fail.
const patience = 30 * time.Second

func (p *party) next() protocol.Message {
	p.t.Helper()
	select {
	case m, ok := <-p.Heard():
		if !ok {
			p.t.Fatalf("port of %s closed: %v", p.mouth.Who, p.Close())
		}
		return m
	case <-time.After(patience):
		p.t.Fatalf("%s heard nothing", p.mouth.Who)
	}
	return protocol.Message{}
}

func (p *party) wants(jobs ...string) {
	p.t.Helper()
	for _, want := range jobs {
		m := p.next()
		if got := m.Body.(protocol.Started).Job; got != protocol.JobID(want) {
			p.t.Fatalf("%s heard %q of %s; want %q", p.mouth.Who, got, m.From, want)
		}
	}
}

func testTo(t *testing.T, hub bus.Hub) {
	a, b, c := join(t, hub, oslo), join(t, hub, lyon), join(t, hub, turin)
	a.say(a.word(lyon, "to lyon"), a.word(turin, "to turin"))
	a.say(a.word(lyon, "end"), a.word(turin, "end"))
	b.wants("to lyon", "end")
	c.wants("to turin", "end")
}

func testAll(t *testing.T, hub bus.Hub) {
	a, b, c := join(t, hub, oslo), join(t, hub, lyon), join(t, hub, turin)
	a.say(a.word(lyon, "one"), a.word("", "two"), a.word(lyon, "three"), a.word("", "four"), a.word(oslo, "mine"))
	b.wants("one", "two", "three", "four")
	c.wants("two", "four")
	a.wants("mine")
}

func testSelf(t *testing.T, hub bus.Hub) {
	a := join(t, hub, oslo)
	a.say(a.word(oslo, "to myself"))
	a.wants("to myself")
}

func testPrivate(t *testing.T, hub bus.Hub) {
	a, hands, feed := join(t, hub, oslo), join(t, hub, protocol.Hands("oslo")), join(t, hub, protocol.Feed("oslo"))
	a.say(a.word("", "to all"), a.word(protocol.Hands("oslo"), "to hands"), a.word(protocol.Feed("oslo"), "to feed"))
	hands.wants("to hands")
	feed.wants("to feed")
	hands.say(hands.word("", "to all"))
	a.wants("to all")
}

func testOrder(t *testing.T, hub bus.Hub) {
	const n = 10_000
	a, b := join(t, hub, oslo), join(t, hub, lyon)
	for i := 0; i < n; { // alone, and in batches
		var batch []protocol.Message
		for range min(1+i%7, n-i) {
			batch = append(batch, a.word([]protocol.Party{lyon, ""}[i%2], fmt.Sprint(i)))
			i++
		}
		a.say(batch...)
	}
	for i := range n {
		b.wants(fmt.Sprint(i))
	}
}

func testSpeakers(t *testing.T, hub bus.Hub) {
	const n = 500
	speakers := []*party{join(t, hub, oslo), join(t, hub, turin), join(t, hub, "submitter")}
	b := join(t, hub, lyon)
	done := make(chan error, len(speakers))
	for _, s := range speakers {
		go func() {
			for range n {
				if err := s.Say(t.Context(), s.word(lyon, "x")); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	heard := map[protocol.Party]uint64{}
	for range n * len(speakers) {
		m := b.next()
		if heard[m.From]++; m.Seq != heard[m.From] {
			t.Fatalf("heard %d of %s; want %d", m.Seq, m.From, heard[m.From])
		}
	}
	for range speakers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func testTwice(t *testing.T, hub bus.Hub) {
	a, b := join(t, hub, oslo), join(t, hub, lyon)
	m := a.word(lyon, "again")
	a.say(m, m)
	a.say(m, a.word(lyon, "end"))
	var ears protocol.Ears
	fresh := 0
	for {
		got := b.next()
		if got.Body.(protocol.Started).Job == "end" {
			break
		}
		if got.From != m.From || got.Seq != m.Seq || got.At != m.At {
			t.Fatalf("heard %+v; want %+v", got, m)
		}
		if ears.New(got) {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("ears took one message for %d", fresh)
	}
}

// bigOffer returns an offer of some 5 MB, all of it options.
func bigOffer() protocol.Offer {
	o := protocol.Offer{Round: 1, Jobs: make([]protocol.Menu, 1000)}
	for i := range o.Jobs {
		o.Jobs[i].Job = protocol.JobID(fmt.Sprint("job-", i))
		for k := range protocol.Time(100) {
			start := protocol.Time(1_650_000_000_000) + k*900_000
			o.Jobs[i].Options = append(o.Jobs[i].Options, protocol.Option{
				Start: start, Finish: start + 3_600_000, Model: "V100", Cap: 200_000, Energy: 1e9, Carbon: 1e6, Money: 1e6 + protocol.Microdollars(i), Score: 500,
			})
		}
	}
	return o
}

func testBig(t *testing.T, hub bus.Hub) {
	a, b := join(t, hub, oslo), join(t, hub, lyon)
	big := a.mouth.Say(1, lyon, bigOffer())
	want, err := protocol.Encode(big)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 4<<20 {
		t.Fatalf("the offer has %d bytes; want megabytes", len(want))
	}
	a.say(big, a.word(lyon, "end"))
	got, err := protocol.Encode(b.next())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("an offer of %d bytes was heard as another of %d", len(want), len(got))
	}
	b.wants("end")
}

func testOtherName(t *testing.T, hub bus.Hub) {
	a, b := join(t, hub, oslo), join(t, hub, lyon)
	forged := a.word(lyon, "forged")
	forged.From = turin
	if err := a.Say(t.Context(), a.word(lyon, "before"), forged); err == nil {
		t.Error("oslo spoke as turin")
	}
	a.say(a.word(lyon, "end"))
	b.wants("end")
}

func testNames(t *testing.T, hub bus.Hub) {
	for _, who := range []protocol.Party{
		"", "all", "all/oslo", "agent/", "agent/Oslo", "agent/os.lo", "agent/os*", "agent/>", "agent/os lo", "agent/-oslo",
		"agent-oslo", "agent/oslo/2", "/oslo", protocol.Agent(strings.Repeat("x", 64)),
	} {
		if port, err := hub.Join(t.Context(), who); err == nil {
			t.Errorf("Join(%q) worked", who)
			_ = port.Close()
		}
		if who == "" {
			continue
		}
		a := join(t, hub, oslo)
		if err := a.Say(t.Context(), a.word(who, "x")); err == nil {
			t.Errorf("Say to %q worked", who)
		}
	}
}

func testLastWords(t *testing.T, hub bus.Hub) {
	const n = 1000
	a, b := join(t, hub, oslo), join(t, hub, lyon)
	for range n {
		a.say(a.word(lyon, "x"))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for range n {
		b.wants("x")
	}
}

func testClose(t *testing.T, hub bus.Hub) {
	a, b := join(t, hub, oslo), join(t, hub, lyon)
	b.say(b.word(oslo, "unread")) // closing does not wait for a reader
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	waitClosed(t, a)
	if err := a.Say(t.Context(), a.word(lyon, "x")); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Say at a closed port: %v; want %v", err, bus.ErrClosed)
	}
	b.say(b.word(oslo, "to nobody"), b.word(lyon, "end"))
	b.wants("end")
}

func waitClosed(t *testing.T, p *party) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case _, ok := <-p.Heard():
			if !ok {
				return
			}
		case <-late:
			t.Fatal("Heard did not close")
		}
	}
}

func testContext(t *testing.T, hub bus.Hub) {
	ctx, cancel := context.WithCancel(t.Context())
	port, err := hub.Join(ctx, oslo)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	waitClosed(t, &party{port, t, protocol.Mouth{}})
	if err := port.Close(); err != nil {
		t.Errorf("Close after the context ended: %v", err)
	}
	if _, err := hub.Join(ctx, oslo); err == nil {
		t.Error("Join with an ended context worked")
	}
}

// echo answers what it hears, and when it was told to wait, on a later tick.
type echo struct {
	mouth protocol.Mouth
	due   protocol.Time
	owed  protocol.Party
}

func (e *echo) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if m.Body.(protocol.Started).Job == "later" {
		e.due, e.owed = now+20, m.From
		return nil
	}
	return []protocol.Message{e.mouth.Say(now, m.From, m.Body)}
}

func (e *echo) Tick(now protocol.Time) []protocol.Message {
	if now < e.due {
		return nil
	}
	e.due = 0
	return []protocol.Message{e.mouth.Say(now, e.owed, protocol.Started{Job: "now"})}
}

func (e *echo) Due() protocol.Time { return e.due }

func testLive(t *testing.T, hub bus.Hub) {
	ctx, cancel := context.WithCancel(t.Context())
	a := join(t, hub, oslo)
	port, err := hub.Join(ctx, lyon)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- bus.Live(ctx, port, &echo{mouth: protocol.Mouth{Who: lyon}})
	}()
	a.say(a.word(lyon, "hello"))
	a.wants("hello")
	a.say(a.word(lyon, "later"))
	a.wants("now")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Live ended with %v; want %v", err, context.Canceled)
	}
}
