package bus_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var oslo = protocol.AgentParty("oslo")

// A stub is a connection that the test controls.
type stub struct {
	received  chan protocol.Message
	sent      []protocol.Message
	sendCalls chan struct{} // receives at each Send; may be nil
	refuse    error         // of Send
	why       error         // of Close
	closed    bool
}

func (s *stub) Send(_ context.Context, ms ...protocol.Message) error {
	s.sent = append(s.sent, ms...)
	if s.sendCalls != nil {
		s.sendCalls <- struct{}{}
	}
	return s.refuse
}
func (s *stub) Messages() <-chan protocol.Message { return s.received }
func (s *stub) Close() error                      { s.closed = true; return s.why }

// A log is a machine that records its steps and ticks, and answers each.
type log struct {
	sender  protocol.Sender
	due     []protocol.Time // one after the other
	history []string
}

func (l *log) answer(now protocol.Time, what string) []protocol.Message {
	l.history = append(l.history, what)
	return []protocol.Message{l.sender.NewMessage(now, "", protocol.Started{Job: protocol.JobID(what)})}
}

func (l *log) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	return l.answer(now, string(m.Body.(protocol.Started).Job))
}

func (l *log) Tick(now protocol.Time) []protocol.Message {
	l.due = l.due[1:]
	return l.answer(now, "tick")
}

func (l *log) Due() protocol.Time {
	if len(l.due) == 0 {
		return 0
	}
	return l.due[0]
}

func TestLiveEndsAndSaysWhy(t *testing.T) {
	broken, gone := errors.New("broken"), errors.New("gone")
	ended, end := context.WithCancelCause(t.Context())
	end(gone)
	for _, tc := range []struct {
		name string
		ctx  context.Context
		port *stub
		want error
	}{
		{"when its context ends", ended, &stub{}, gone},
		{"when its port is closed", t.Context(), &stub{}, bus.ErrClosed},
		{"when its port fails", t.Context(), &stub{why: broken}, broken},
		{"when it cannot speak", t.Context(), &stub{refuse: broken}, broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.port.received = make(chan protocol.Message, 1)
			if tc.port.refuse != nil {
				tc.port.received <- protocol.Message{Body: protocol.Started{Job: "x"}}
			} else {
				close(tc.port.received)
			}
			m := &log{sender: protocol.Sender{Party: oslo}}
			if err := bus.RunMachine(tc.ctx, tc.port, m); !errors.Is(err, tc.want) || !tc.port.closed {
				t.Errorf("Live = %v, port closed %t; want %v, and closed", err, tc.port.closed, tc.want)
			}
		})
	}
}

func TestLiveTicksWhenAMachineIsDue(t *testing.T) {
	clock := func() protocol.Time { return protocol.FromStdTime(time.Now()) }
	// One that is due in the past gets its Tick at once; one that is never due gets none.
	m := &log{sender: protocol.Sender{Party: oslo}, due: []protocol.Time{1, clock().Add(20 * time.Millisecond)}}
	port := &stub{received: make(chan protocol.Message), sendCalls: make(chan struct{}, 3)}
	go func() {
		<-port.sendCalls
		<-port.sendCalls
		port.received <- protocol.Message{Body: protocol.Started{Job: "hello"}}
		close(port.received)
	}()
	_ = bus.RunMachine(t.Context(), port, m)
	if want := []string{"tick", "tick", "hello"}; !slices.Equal(m.history, want) {
		t.Errorf("the machine took %v; want %v", m.history, want)
	}
	if len(port.sent) != 3 || port.sent[2].Seq != 3 {
		t.Errorf("it sent %v; want three messages in order", port.sent)
	}
}

func TestNamesArePlain(t *testing.T) {
	for _, tc := range []struct {
		who  protocol.Party
		want string // "" is a good name
	}{
		{"coordinator", ""}, {"agent/oslo", ""}, {"hands/us-east-1", ""}, {"feed/2", ""},
		{"", "empty party name"}, {"all", "reserved for broadcasts"}, {"all/oslo", "reserved for broadcasts"},
		{"Agent/oslo", "role"}, {"agent-oslo", "role"}, {"agent2", "role"}, {"/oslo", "role"},
		{"agent/", "site"}, {"agent/Oslo", "site"}, {"agent/-x", "site"}, {"agent/x-", "site"}, {"agent/a/b", "site"},
		{"agent/a.b", "site"}, {"agent/*", "site"}, {"agent/é", "site"}, {"agent/a b", "site"},
		{protocol.AgentParty(strings.Repeat("x", 63)), ""}, {protocol.AgentParty(strings.Repeat("x", 64)), "site"},
	} {
		err := bus.ValidateParty(tc.who)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ValidateParty(%q) = %v; want an error with %q", tc.who, err, tc.want)
		}
	}
}

func TestAPartySpeaksForItselfAlone(t *testing.T) {
	mine := protocol.Message{From: oslo}
	for name, ms := range map[string][]protocol.Message{
		"another's name":    {mine, {From: "agent/lyon"}},
		"a listener's name": {mine, {From: oslo, To: "agent/*"}},
	} {
		if err := bus.ValidateSend(oslo, ms); err == nil {
			t.Errorf("CheckSay passes %s", name)
		}
	}
	if err := bus.ValidateSend(oslo, []protocol.Message{mine, {From: oslo, To: oslo}}); err != nil {
		t.Errorf("CheckSay = %v", err)
	}
}
