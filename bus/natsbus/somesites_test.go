package natsbus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// callOf returns a call that asks the first so many of 1,000 sites for a job.
func callOf(seq uint64, asked int, job protocol.JobID) protocol.Message {
	c := protocol.CallForBids{Round: seq, Jobs: []protocol.Job{{ID: job}}, Asked: [][]int{nil}}
	for i := range asked {
		c.Sites, c.Asked[0] = append(c.Sites, fmt.Sprintf("site-%03d", i)), append(c.Asked[0], i)
	}
	return protocol.Message{Version: protocol.Current, At: 1, From: protocol.Coordinator, Seq: seq, Body: c}
}

// The server sends nothing of a call to a site that is not asked, though the call is one message without a
// receiver, and what a tap records.
func TestASiteThatIsNotAskedGetsNoBytesOfACall(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	market, asked := join(t, srv, protocol.Coordinator), join(t, srv, protocol.AgentParty("site-007"))
	tap := tapOf(t, srv)
	left := listenAs(t, srv, protocol.AgentParty("site-064"))
	end := word(protocol.Coordinator, "", 3, "end")
	if err := market.Send(t.Context(), callOf(1, 64, "train"), callOf(2, 64, "bake"), end); err != nil {
		t.Fatal(err)
	}
	for who, port := range map[string]bus.Conn{"an asked site": asked, "the tap": tap} {
		for seq := range uint64(3) {
			if m := heard(t, port); m.Seq != seq+1 || m.To != "" {
				t.Errorf("%s received message %d to %q; want %d, to all", who, m.Seq, m.To, seq+1)
			}
		}
	}
	if subj := subjectHeard(t, left); !strings.HasSuffix(subj, ".all.started") {
		t.Errorf("a site that is not asked received a message on %s first; want the broadcast after the calls", subj)
	}
	if n := srv.DeliveryCounts(); n.Forged > 0 {
		t.Errorf("%d copies count as forged", n.Forged)
	}
}

// A call so long that its copies would fill the sender's connection is one broadcast, and reaches the same agents.
func TestALongCallIsOneBroadcast(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	market, asked, left := join(t, srv, protocol.Coordinator), join(t, srv, protocol.AgentParty("site-007")), join(t, srv, protocol.AgentParty("site-999"))
	wire := listenAs(t, srv, protocol.AgentParty("site-999"))
	long := callOf(1, 900, protocol.JobID(strings.Repeat("x", 8<<10)))
	if err := market.Send(t.Context(), long, word(protocol.Coordinator, "", 2, "end")); err != nil {
		t.Fatal(err)
	}
	if m := heard(t, asked); m.Seq != 1 {
		t.Errorf("an asked site received message %d first, want 1", m.Seq)
	}
	if m := heard(t, left); m.Seq != 2 {
		t.Errorf("a site that is not asked received message %d first, want 2", m.Seq)
	}
	if subj := subjectHeard(t, wire); !strings.HasSuffix(subj, ".all.call") {
		t.Errorf("on the wire came a message on %s first; want one broadcast", subj)
	}
}

// A party cannot have others take a message for a copy: the subject names its sender, and the message the sites.
func TestACopyThatIsNoneIsForged(t *testing.T) {
	srv := serve(t, "127.0.0.1:0")
	name, password, err := srv.UserCredentials(protocol.Coordinator)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(srv.ClientURL(), nats.UserInfo(name, password))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	left := join(t, srv, protocol.AgentParty("site-064"))
	for subj, m := range map[string]protocol.Message{
		"gridbid.v1.coordinator.agent-site-064.call":    callOf(1, 64, "train"),
		"gridbid.v1.coordinator.agent-site-064.started": word(protocol.Coordinator, "", 1, "train"),
	} {
		if err := conn.Publish(subj, encode(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Publish("gridbid.v1.coordinator.agent-site-064.started", encode(t, word(protocol.Coordinator, protocol.AgentParty("site-064"), 2, "mine"))); err != nil {
		t.Fatal(err)
	}
	if m := heard(t, left); m.Seq != 2 {
		t.Errorf("received message %d, want 2 alone", m.Seq)
	}
	if n := srv.DeliveryCounts(); n.Forged != 2 {
		t.Errorf("%d messages count as forged, want 2", n.Forged)
	}
}

// listenAs returns a subscription to all that a party may hear.
func listenAs(t *testing.T, srv *natsbus.Server, who protocol.Party) <-chan *nats.Msg {
	t.Helper()
	name, password, err := srv.UserCredentials(who)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(srv.ClientURL(), nats.UserInfo(name, password))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	all := make(chan *nats.Msg, 16)
	_, subjects := natsbus.AllowedSubjects(who)
	for _, s := range subjects {
		if _, err := conn.ChanSubscribe(s, all); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return all
}

// subjectHeard returns the subject of the next message.
func subjectHeard(t *testing.T, from <-chan *nats.Msg) string {
	t.Helper()
	select {
	case m := <-from:
		return m.Subject
	case <-time.After(30 * time.Second):
		t.Fatal("heard nothing")
	}
	return ""
}
