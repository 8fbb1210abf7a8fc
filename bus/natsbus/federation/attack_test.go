package federation_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A scene is a running market under attack: the messages in it, a
// stream of all the coordinator hears and a bucket.
type scene struct {
	*stage
	market *log // all messages in the market's account
	victim *log // all that lyon and its executor may receive
	chief  *nats.Conn
	lyon   *nats.Conn
}

// A log keeps what a connection hears.
type log struct {
	mu   sync.Mutex
	said []*nats.Msg
}

func (l *log) hear(m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, m)
}

// with returns the received messages that contain a text, in subject or data.
func (l *log) with(text string) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.said {
		if strings.Contains(m.Subject, text) || strings.Contains(string(m.Data), text) {
			all = append(all, m.Subject)
		}
	}
	return all
}

// toCoordinator returns the number of messages to the coordinator.
func (l *log) toCoordinator() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.said {
		if strings.HasPrefix(m.Subject, "gridbid.v1.") && strings.Contains(m.Subject, ".coordinator.") && !strings.HasPrefix(m.Subject, "gridbid.v1.coordinator.") {
			n++
		}
	}
	return n
}

func newScene(t *testing.T) *scene {
	s := &scene{stage: newStage(t), market: &log{}, victim: &log{}}
	s.chief, _ = s.raw("", "coordinator", nats.CustomInboxPrefix(natsbus.InboxPrefix(protocol.Coordinator)))
	s.lyon, _ = s.raw("", "lyon")
	js, err := jetstream.New(s.chief)
	s.must(err)
	// The stream takes in what sites say as it comes: a market that journals
	// itself gives them less to attack.
	_, err = js.CreateStream(s.Context(), jetstream.StreamConfig{Name: "JOURNAL", Subjects: []string{"gridbid.v1.*.coordinator.*"}, AllowRollup: true, AllowDirect: true})
	s.must(err)
	bucket, err := js.CreateKeyValue(s.Context(), jetstream.KeyValueConfig{Bucket: "lease"})
	s.must(err)
	_, err = bucket.PutString(s.Context(), "leader", "coordinator-of-old")
	s.must(err)
	_, err = s.chief.Subscribe(">", s.market.hear)
	s.must(err)
	for _, subject := range []string{"gridbid.v1.*.agent-lyon.*", "gridbid.v1.*.hands-lyon.*", "gridbid.v1.*.all.*"} {
		_, err := s.lyon.Subscribe(subject, s.victim.hear)
		s.must(err)
	}
	s.must(s.chief.Flush())
	s.must(s.lyon.Flush())
	return s
}

// goOn lets the market work while it is under attack, and waits until all that
// belongs has been heard: then what does not belong has been heard too, or never
// will be, as each connection keeps its order.
func (s *scene) goOn() {
	s.Helper()
	s.must(s.chief.Publish("gridbid.v1.coordinator.agent-lyon.award", []byte("secret of lyon")))
	s.must(s.chief.Publish("_INBOX_coordinator.answer", []byte("secret of the market")))
	s.must(s.chief.Publish("$KV.lease.leader", []byte("secret of the market")))
	s.must(s.lyon.Publish("gridbid.v1.agent-lyon.hands-lyon.launch", []byte("secret of lyon")))
	s.must(s.lyon.Publish("gridbid.v1.agent-lyon.coordinator.offer", []byte("secret of lyon")))
	s.until("the market works", func() bool {
		return len(s.market.with("secret of lyon")) >= 2 && len(s.victim.with("secret of lyon")) >= 2 && len(s.market.with("$KV")) > 0
	})
}

// An intruder holds a member's key, and a bare connection.
type intruder struct {
	name   string
	conn   func(s *scene) (*nats.Conn, <-chan error)
	silent bool // attempts stay in its own server, so it gets no error
}

// hostileLeaf starts a server with oslo's key, set up by somebody who means no
// good: everything is allowed in it.
func hostileLeaf(s *scene) (*nats.Conn, <-chan error) {
	s.Helper()
	file := filepath.Join(s.dir, "sites", "oslo", "leaf.conf")
	text, err := os.ReadFile(file)
	s.must(err)
	from := strings.Index(string(text), ", permissions:")
	to := from + strings.Index(string(text[from:]), "} #")
	open := string(text[:from]) + string(text[to:])
	file = filepath.Join(s.dir, "sites", "oslo", "hostile.conf")
	s.must(os.WriteFile(file, []byte(strings.Replace(open, "max_payload: 524288", "max_payload: 8388608", 1)), 0o600))
	before := s.hub.LeafCount()
	leaf, err := natsbus.ServeConfigFile(file, s.access("oslo"))
	s.must(err)
	s.Cleanup(leaf.Close)
	s.until("the leaf is joined", func() bool { return s.hub.LeafCount() > before })
	return s.raw(leaf.ClientURL(), "oslo")
}

var intruders = []intruder{
	{"a site", func(s *scene) (*nats.Conn, <-chan error) { return s.raw("", "oslo") }, false},
	{"a site with a server of its own", hostileLeaf, true},
	{"a tenant", func(s *scene) (*nats.Conn, <-chan error) { return s.raw("", "vision") }, false},
	{"a tap", func(s *scene) (*nats.Conn, <-chan error) { return s.raw("", "tap") }, false},
}

// forbidden are subjects that no intruder may publish on, and what it would gain.
var forbidden = map[string]string{
	"speak as another site":              "gridbid.v1.agent-lyon.coordinator.offer",
	"speak as the hands of another":      "gridbid.v1.hands-lyon.agent-lyon.started",
	"speak as the coordinator to a site": "gridbid.v1.coordinator.agent-lyon.award",
	"speak as the coordinator to all":    "gridbid.v1.coordinator.all.call",
	"order the hands of another":         "gridbid.v1.agent-lyon.hands-lyon.launch",
	"feed another false prices":          "gridbid.v1.feed-lyon.agent-lyon.signal",
	"award to another in one's own name": "gridbid.v1.agent-oslo.agent-lyon.award",
	"call all in one's own name":         "gridbid.v1.agent-oslo.all.call",
	"order other hands in one's name":    "gridbid.v1.agent-oslo.hands-lyon.launch",
	"speak as everyone":                  "gridbid.v1.all.coordinator.offer",
	"speak as nobody":                    "gridbid.v1..coordinator.offer",
	"speak as a site that is none":       "gridbid.v1.agent-rome.coordinator.hello",
	"speak another version":              "gridbid.v2.agent-oslo.coordinator.offer",
	"answer for the coordinator's store": "_INBOX_coordinator.x.1",
	"answer another's question":          "_INBOX_agent-lyon.x.1",
	"answer a service":                   "_R_.abcdef",
	"take the lease":                     "$KV.lease.leader",
	"list streams":                       "$JS.API.STREAM.LIST",
	"read a stream's state":              "$JS.API.STREAM.INFO.JOURNAL",
	"read a stream":                      "$JS.API.STREAM.MSG.GET.JOURNAL",
	"read a stream directly":             "$JS.API.DIRECT.GET.JOURNAL",
	"delete a stream":                    "$JS.API.STREAM.DELETE.JOURNAL",
	"empty a stream":                     "$JS.API.STREAM.PURGE.JOURNAL",
	"create a stream":                    "$JS.API.STREAM.CREATE.MINE",
	"create a consumer":                  "$JS.API.CONSUMER.CREATE.JOURNAL",
	"take the next of a consumer":        "$JS.API.CONSUMER.MSG.NEXT.JOURNAL.c",
	"acknowledge for another":            "$JS.ACK.JOURNAL.c.1.1.1.1.0",
	"read the account":                   "$JS.API.INFO",
	"ask the system":                     "$SYS.REQ.SERVER.PING.CONNZ",
	"reload the server":                  "$SYS.REQ.SERVER.N.RELOAD",
	"kick somebody":                      "$SYS.REQ.SERVER.N.KICK",
	"announce an account":                "$SYS.REQ.CLAIMS.UPDATE",
	"speak among servers":                "$NRG.P.x",
	"anything else":                      "elsewhere",
}

func TestNobodySpeaksWhereHeMayNot(t *testing.T) {
	for _, who := range intruders {
		t.Run(who.name, func(t *testing.T) {
			s := newScene(t)
			conn, denied := who.conn(s)
			if who.silent {
				s.reach(conn)
			}
			for what, subject := range forbidden {
				s.must(conn.PublishMsg(&nats.Msg{Subject: subject, Reply: natsbus.InboxPrefix(oslo) + ".x", Data: []byte("forged")}))
				s.must(conn.FlushTimeout(patience))
				if who.silent {
					continue
				}
				select {
				case err := <-denied:
					if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
						t.Errorf("%s: the server says %v; want a permissions violation on %s", what, err, subject)
					}
				case <-time.After(patience):
					t.Fatalf("%s: the server lets %s pass", what, subject)
				}
			}
			s.goOn()
			if got := append(s.market.with("forged"), s.victim.with("forged")...); len(got) > 0 {
				t.Errorf("heard in another's account: %q", got)
			}
			s.untouched()
		})
	}
}

// reach waits until what an intruder may say is heard: a leaf passes nothing on
// before, and what it may not say would be missing for that.
func (s *scene) reach(conn *nats.Conn) {
	s.Helper()
	s.until("the intruder is heard where he may be", func() bool {
		s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.hello", []byte("probe")))
		s.must(conn.Flush())
		return len(s.market.with("probe")) > 0
	})
}

// untouched fails unless stream and bucket are as the market left them.
func (s *scene) untouched() {
	s.Helper()
	js, err := jetstream.New(s.chief)
	s.must(err)
	names := 0
	for range js.StreamNames(s.Context()).Name() {
		names++
	}
	stream, err := js.Stream(s.Context(), "JOURNAL")
	s.must(err)
	bucket, err := js.KeyValue(s.Context(), "lease")
	s.must(err)
	leader, err := bucket.Get(s.Context(), "leader")
	s.must(err)
	s.until("the stream holds what the coordinator heard, and nothing else", func() bool {
		info, err := stream.Info(s.Context())
		s.must(err)
		return int(info.State.Msgs) == s.market.toCoordinator()
	})
	if names != 2 || string(leader.Value()) != "secret of the market" {
		s.Errorf("%d streams, leader %q; want 2 and the market's", names, leader.Value())
	}
}

// private are subjects that no site may listen to.
var private = []string{
	">", "*", "*.>", "gridbid.>", "gridbid.*.>", "gridbid.v1.>", "gridbid.v1.*.>", "gridbid.v1.*.*.*", "*.*.*.*.*",
	"gridbid.v1.*.agent-lyon.*", "gridbid.v1.*.agent-lyon.>", "gridbid.v1.coordinator.agent-lyon.award", "gridbid.v1.coordinator.*.award",
	"gridbid.v1.agent-lyon.>", "gridbid.v1.agent-lyon.coordinator.offer", "gridbid.v1.*.coordinator.*", "gridbid.v1.*.hands-lyon.*", "gridbid.v1.*.*.launch",
	"_INBOX.>", "_INBOX_coordinator.>", "_INBOX_agent-lyon.>", "*.answer", "_R_.>",
	"$KV.>", "$KV.lease.leader", "$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$O.>", "$SYS.>", "$SYS.ACCOUNT.>", "$SYS.SERVER.>", "$NRG.>", "$G.>",
}

func TestNoSiteListensWhereItMayNot(t *testing.T) {
	for _, who := range intruders[:3] {
		for _, queue := range []string{"", "coordinator"} { // one of a queue takes from the others
			t.Run(who.name+queue, func(t *testing.T) {
				s := newScene(t)
				conn, denied := who.conn(s)
				if who.silent {
					s.reach(conn)
				}
				heard := &log{}
				for _, subject := range private {
					if queue == "" {
						_, err := conn.Subscribe(subject, heard.hear)
						s.must(err)
					} else {
						_, err := conn.QueueSubscribe(subject, queue, heard.hear)
						s.must(err)
					}
					s.must(conn.FlushTimeout(patience))
					if who.silent {
						continue
					}
					select {
					case err := <-denied:
						if !errors.Is(err, nats.ErrPermissionViolation) {
							t.Errorf("%s: the server says %v", subject, err)
						}
					case <-time.After(patience):
						t.Fatalf("%s: the server lets it listen", subject)
					}
				}
				s.goOn()
				s.must(conn.FlushTimeout(patience))
				time.Sleep(20 * time.Millisecond) // what a leaf would pass on comes a moment later
				if got := heard.with("secret"); len(got) > 0 {
					t.Errorf("the intruder heard %q", got)
				}
			})
		}
	}
}

// An answer that the server sends to where a site asked for it stays within the
// site's account, so it cannot have the server speak in another's name.
func TestRepliesDoNotLeaveTheAccount(t *testing.T) {
	for _, who := range intruders[:2] {
		t.Run(who.name, func(t *testing.T) {
			s := newScene(t)
			conn, _ := who.conn(s)
			s.reach(conn)
			for i, reply := range []string{
				"gridbid.v1.coordinator.agent-lyon.award", "gridbid.v1.coordinator.all.call", "gridbid.v1.agent-lyon.coordinator.offer",
				"$JS.API.STREAM.PURGE.JOURNAL", "$KV.lease.leader", "_INBOX_coordinator.answer", "gridbid.v1.agent-lyon.hands-lyon.launch",
			} {
				s.must(conn.PublishMsg(&nats.Msg{Subject: "gridbid.v1.agent-oslo.coordinator.offer", Reply: reply, Data: fmt.Appendf(nil, "own word %d", i)}))
			}
			s.must(conn.FlushTimeout(patience))
			s.until("the site is heard", func() bool { return len(s.market.with("own word")) == 7 })
			s.goOn()
			// The stream's answers name it.
			for _, heard := range append(s.market.with(`"stream":"JOURNAL"`), s.victim.with(`"stream":"JOURNAL"`)...) {
				if !strings.HasPrefix(heard, "_R_.") { // on its way back, and readable by the market alone
					t.Errorf("the server answered on %s", heard)
				}
			}
			s.untouched()
		})
	}
}
