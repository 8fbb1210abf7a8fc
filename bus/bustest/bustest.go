// Package bustest holds the conformance test of every bus.Bus: it checks the promises of package
// bus's documentation.
package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
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

// TestBus checks that anyBus keeps the promises of package bus.
func TestBus(t *testing.T, anyBus bus.Bus) {
	for _, tc := range []struct {
		name string
		run  func(*testing.T, bus.Bus)
	}{
		{"a message reaches its receiver alone", testDirectMessage},
		{"a broadcast reaches all but its sender", testBroadcast},
		{"a call that asks some sites reaches their agents alone", testCallOfSomeSites},
		{"a settlement reaches its site and the submitter", testSettlement},
		{"a party receives what it sends to itself", testMessageToSelf},
		{"executors and signal sources receive no broadcasts", testPrivateParties},
		{"ten thousand messages keep their order", testMessageOrder},
		{"concurrent senders keep their order each", testConcurrentSenders},
		{"a message sent twice is the same message", testDuplicate},
		{"a bid of megabytes arrives byte for byte", testLargeMessage},
		{"a party sends in no other name", testForgedSender},
		{"names that cannot be NATS subjects are refused", testInvalidNames},
		{"what was sent before the connection closed arrives", testSentBeforeClose},
		{"a closed connection neither sends nor receives", testClosedConn},
		{"a connection closes with its context", testContextEnd},
		{"a machine runs on the bus", testRunMachine},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, anyBus) })
	}
}

// A testParty is a party of a test: its connection, and the sender that numbers its messages.
type testParty struct {
	bus.Conn
	t      *testing.T
	sender protocol.Sender
}

func connectParty(t *testing.T, anyBus bus.Bus, who protocol.Party) *testParty {
	t.Helper()
	conn, err := anyBus.Connect(t.Context(), who)
	if err != nil {
		t.Fatalf("Connect(%s): %v", who, err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close of %s: %v", who, err)
		}
	})
	return &testParty{conn, t, protocol.Sender{Party: who}}
}

func (p *testParty) startedMessage(to protocol.Party, job string) protocol.Message {
	return p.sender.NewMessage(1000, to, protocol.Started{Job: protocol.JobID(job)})
}

func (p *testParty) mustSend(ms ...protocol.Message) {
	p.t.Helper()
	if err := p.Send(p.t.Context(), ms...); err != nil {
		p.t.Fatalf("Send as %s: %v", p.sender.Party, err)
	}
}

// testTimeout is far longer than any step takes. A test waits that long only before it fails.
const testTimeout = 30 * time.Second

func (p *testParty) nextMessage() protocol.Message {
	p.t.Helper()
	select {
	case m, ok := <-p.Messages():
		if !ok {
			p.t.Fatalf("connection of %s closed: %v", p.sender.Party, p.Close())
		}
		return m
	case <-time.After(testTimeout):
		p.t.Fatalf("%s received nothing", p.sender.Party)
	}
	return protocol.Message{}
}

func (p *testParty) expectJobs(jobs ...string) {
	p.t.Helper()
	for _, want := range jobs {
		m := p.nextMessage()
		if got := m.Body.(protocol.Started).Job; got != protocol.JobID(want) {
			p.t.Fatalf("%s received %q from %s; want %q", p.sender.Party, got, m.From, want)
		}
	}
}

func testDirectMessage(t *testing.T, anyBus bus.Bus) {
	a, b, c := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon), connectParty(t, anyBus, turin)
	a.mustSend(a.startedMessage(lyon, "to lyon"), a.startedMessage(turin, "to turin"))
	a.mustSend(a.startedMessage(lyon, "end"), a.startedMessage(turin, "end"))
	b.expectJobs("to lyon", "end")
	c.expectJobs("to turin", "end")
}

func testBroadcast(t *testing.T, anyBus bus.Bus) {
	a, b, c := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon), connectParty(t, anyBus, turin)
	a.mustSend(a.startedMessage(lyon, "one"), a.startedMessage("", "two"), a.startedMessage(lyon, "three"), a.startedMessage("", "four"), a.startedMessage(oslo, "mine"))
	b.expectJobs("one", "two", "three", "four")
	c.expectJobs("two", "four")
	a.expectJobs("mine")
}

// callOf returns a call that asks some sites for its job; without names, all.
func callOf(round uint64, sites ...string) protocol.CallForBids {
	c := protocol.CallForBids{Round: round, Jobs: []protocol.Job{{ID: "train"}}, Sites: sites}
	if len(sites) > 0 {
		c.Asked = [][]int{nil}
		for i := range sites {
			c.Asked[0] = append(c.Asked[0], i)
		}
	}
	return c
}

// A call travels between messages to single agents and to all, and keeps its place.
func testCallOfSomeSites(t *testing.T, anyBus bus.Bus) {
	market, submitter := connectParty(t, anyBus, protocol.Coordinator), connectParty(t, anyBus, protocol.Submitter)
	agents := map[string]*testParty{"lyon": connectParty(t, anyBus, lyon), "oslo": connectParty(t, anyBus, oslo), "turin": connectParty(t, anyBus, turin)}
	some := market.sender.NewMessage(1000, "", callOf(1, "lyon", "oslo", "rome"))
	all := market.sender.NewMessage(1000, "", callOf(2))
	market.mustSend(market.startedMessage("", "before"), market.startedMessage(oslo, "to oslo"), some, market.startedMessage(oslo, "to oslo"), all)
	round := func(p *testParty) uint64 {
		t.Helper()
		c, _ := p.nextMessage().Body.(protocol.CallForBids)
		return c.Round
	}
	for name, p := range agents {
		p.expectJobs("before")
		if name == "oslo" {
			p.expectJobs("to oslo")
		}
		if name != "turin" {
			if m := p.nextMessage(); !reflect.DeepEqual(m, some) {
				t.Errorf("%s received %+v; want the call as it was sent: %+v", name, m, some)
			}
		}
		if name == "oslo" {
			p.expectJobs("to oslo")
		}
		if n := round(p); n != 2 {
			t.Errorf("%s received the call of round %d; want 2, which asks all", name, n)
		}
	}
	submitter.expectJobs("before")
	if n := round(submitter); n != 2 {
		t.Errorf("the submitter received the call of round %d; want 2, which asks all", n)
	}
}

func testSettlement(t *testing.T, anyBus bus.Bus) {
	market, submitter := connectParty(t, anyBus, protocol.Coordinator), connectParty(t, anyBus, protocol.Submitter)
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	paid := market.sender.NewMessage(1000, "", protocol.Settlement{Job: "train", Site: "oslo"})
	market.mustSend(paid, market.startedMessage("", "end"))
	for _, p := range []*testParty{a, submitter} {
		if m := p.nextMessage(); !reflect.DeepEqual(m, paid) {
			t.Errorf("%s received %+v; want %+v", p.sender.Party, m, paid)
		}
		p.expectJobs("end")
	}
	b.expectJobs("end")
}

func testMessageToSelf(t *testing.T, anyBus bus.Bus) {
	a := connectParty(t, anyBus, oslo)
	a.mustSend(a.startedMessage(oslo, "to myself"))
	a.expectJobs("to myself")
}

func testPrivateParties(t *testing.T, anyBus bus.Bus) {
	a, executor, source := connectParty(t, anyBus, oslo), connectParty(t, anyBus, protocol.ExecutorParty("oslo")), connectParty(t, anyBus, protocol.SignalParty("oslo"))
	a.mustSend(a.startedMessage("", "to all"), a.startedMessage(protocol.ExecutorParty("oslo"), "to executor"), a.startedMessage(protocol.SignalParty("oslo"), "to source"))
	executor.expectJobs("to executor")
	source.expectJobs("to source")
	executor.mustSend(executor.startedMessage("", "to all"))
	a.expectJobs("to all")
}

func testMessageOrder(t *testing.T, anyBus bus.Bus) {
	const n = 10_000
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	for i := 0; i < n; { // alone, and in batches
		var batch []protocol.Message
		for range min(1+i%7, n-i) {
			batch = append(batch, a.startedMessage([]protocol.Party{lyon, ""}[i%2], fmt.Sprint(i)))
			i++
		}
		a.mustSend(batch...)
	}
	for i := range n {
		b.expectJobs(fmt.Sprint(i))
	}
}

func testConcurrentSenders(t *testing.T, anyBus bus.Bus) {
	const n = 500
	senders := []*testParty{connectParty(t, anyBus, oslo), connectParty(t, anyBus, turin), connectParty(t, anyBus, "submitter")}
	b := connectParty(t, anyBus, lyon)
	done := make(chan error, len(senders))
	for _, s := range senders {
		go func() {
			for range n {
				if err := s.Send(t.Context(), s.startedMessage(lyon, "x")); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	received := map[protocol.Party]uint64{}
	for range n * len(senders) {
		m := b.nextMessage()
		if received[m.From]++; m.Seq != received[m.From] {
			t.Fatalf("received %d from %s; want %d", m.Seq, m.From, received[m.From])
		}
	}
	for range senders {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func testDuplicate(t *testing.T, anyBus bus.Bus) {
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	m := a.startedMessage(lyon, "again")
	a.mustSend(m, m)
	a.mustSend(m, a.startedMessage(lyon, "end"))
	var dedup protocol.Deduplicator
	fresh := 0
	for {
		got := b.nextMessage()
		if got.Body.(protocol.Started).Job == "end" {
			break
		}
		if got.From != m.From || got.Seq != m.Seq || got.At != m.At {
			t.Fatalf("received %+v; want %+v", got, m)
		}
		if dedup.AdmitOnce(got) {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("the deduplicator admitted one message %d times", fresh)
	}
}

// bigOffer returns bids of about 5 MB, all of it options.
func bigOffer() protocol.Bids {
	o := protocol.Bids{Round: 1, Jobs: make([]protocol.JobBids, 1000)}
	for i := range o.Jobs {
		o.Jobs[i].Job = protocol.JobID(fmt.Sprint("job-", i))
		for k := range protocol.Time(100) {
			start := protocol.Time(1_650_000_000_000) + k*900_000
			o.Jobs[i].Options = append(o.Jobs[i].Options, protocol.BidOption{
				Start: start, Finish: start + 3_600_000, Model: "V100", Cap: 200_000, Energy: 1e9, Carbon: 1e6, Money: 1e6 + protocol.Microdollars(i), Score: 500,
			})
		}
	}
	return o
}

func testLargeMessage(t *testing.T, anyBus bus.Bus) {
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	big := a.sender.NewMessage(1, lyon, bigOffer())
	want, err := protocol.Encode(big)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 4<<20 {
		t.Fatalf("the bids have %d bytes; want megabytes", len(want))
	}
	a.mustSend(big, a.startedMessage(lyon, "end"))
	got, err := protocol.Encode(b.nextMessage())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("bids of %d bytes arrived as others of %d", len(want), len(got))
	}
	b.expectJobs("end")
}

func testForgedSender(t *testing.T, anyBus bus.Bus) {
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	forged := a.startedMessage(lyon, "forged")
	forged.From = turin
	if err := a.Send(t.Context(), a.startedMessage(lyon, "before"), forged); err == nil {
		t.Error("oslo sent as turin")
	}
	a.mustSend(a.startedMessage(lyon, "end"))
	b.expectJobs("end")
}

func testInvalidNames(t *testing.T, anyBus bus.Bus) {
	for _, who := range []protocol.Party{
		"", "all", "all/oslo", "agent/", "agent/Oslo", "agent/os.lo", "agent/os*", "agent/>", "agent/os lo", "agent/-oslo",
		"agent-oslo", "agent/oslo/2", "/oslo", protocol.AgentParty(strings.Repeat("x", 64)),
	} {
		if conn, err := anyBus.Connect(t.Context(), who); err == nil {
			t.Errorf("Connect(%q) worked", who)
			_ = conn.Close()
		}
		if who == "" {
			continue
		}
		a := connectParty(t, anyBus, oslo)
		if err := a.Send(t.Context(), a.startedMessage(who, "x")); err == nil {
			t.Errorf("Send to %q worked", who)
		}
	}
}

func testSentBeforeClose(t *testing.T, anyBus bus.Bus) {
	const n = 1000
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	for range n {
		a.mustSend(a.startedMessage(lyon, "x"))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for range n {
		b.expectJobs("x")
	}
}

func testClosedConn(t *testing.T, anyBus bus.Bus) {
	a, b := connectParty(t, anyBus, oslo), connectParty(t, anyBus, lyon)
	b.mustSend(b.startedMessage(oslo, "unread")) // closing does not wait for a reader
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	waitClosed(t, a)
	if err := a.Send(t.Context(), a.startedMessage(lyon, "x")); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Send on a closed connection: %v; want %v", err, bus.ErrClosed)
	}
	b.mustSend(b.startedMessage(oslo, "to nobody"), b.startedMessage(lyon, "end"))
	b.expectJobs("end")
}

func waitClosed(t *testing.T, p *testParty) {
	t.Helper()
	late := time.After(testTimeout)
	for {
		select {
		case _, ok := <-p.Messages():
			if !ok {
				return
			}
		case <-late:
			t.Fatal("Messages did not close")
		}
	}
}

func testContextEnd(t *testing.T, anyBus bus.Bus) {
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := anyBus.Connect(ctx, oslo)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	waitClosed(t, &testParty{conn, t, protocol.Sender{}})
	if err := conn.Close(); err != nil {
		t.Errorf("Close after the context ended: %v", err)
	}
	if _, err := anyBus.Connect(ctx, oslo); err == nil {
		t.Error("Connect with an ended context worked")
	}
}

// An echoMachine returns each message to its sender; the message "later" on a later tick.
type echoMachine struct {
	sender  protocol.Sender
	due     protocol.Time
	replyTo protocol.Party
}

func (e *echoMachine) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if m.Body.(protocol.Started).Job == "later" {
		e.due, e.replyTo = now+20, m.From
		return nil
	}
	return []protocol.Message{e.sender.NewMessage(now, m.From, m.Body)}
}

func (e *echoMachine) Tick(now protocol.Time) []protocol.Message {
	if now < e.due {
		return nil
	}
	e.due = 0
	return []protocol.Message{e.sender.NewMessage(now, e.replyTo, protocol.Started{Job: "now"})}
}

func (e *echoMachine) Due() protocol.Time { return e.due }

func testRunMachine(t *testing.T, anyBus bus.Bus) {
	ctx, cancel := context.WithCancel(t.Context())
	a := connectParty(t, anyBus, oslo)
	conn, err := anyBus.Connect(ctx, lyon)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- bus.RunMachine(ctx, conn, &echoMachine{sender: protocol.Sender{Party: lyon}})
	}()
	a.mustSend(a.startedMessage(lyon, "hello"))
	a.expectJobs("hello")
	a.mustSend(a.startedMessage(lyon, "later"))
	a.expectJobs("now")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("RunMachine ended with %v; want %v", err, context.Canceled)
	}
}
