package federation_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// A bare line to the server, for what a NATS client would not do.
type line struct {
	*testing.T
	net.Conn
	r *bufio.Reader
}

// dial greets the server as a member; clear says to do so without TLS.
func (s *stage) dial(name string, clear bool) *line {
	s.Helper()
	a := s.access(name)
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL, "tls://"))
	s.must(err)
	s.Cleanup(func() { conn.Close() })
	l := &line{s.T, conn, bufio.NewReader(conn)}
	var info struct {
		Nonce string `json:"nonce"`
	}
	s.must(json.Unmarshal([]byte(strings.TrimPrefix(l.read(), "INFO ")), &info))
	if !clear {
		t := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		l.Conn, l.r = t, bufio.NewReader(t)
	}
	seed, err := os.ReadFile(a.Seed)
	s.must(err)
	pair, err := nkeys.FromSeed(seed)
	s.must(err)
	public, err := pair.PublicKey()
	s.must(err)
	signature, err := pair.Sign([]byte(info.Nonce))
	s.must(err)
	l.write(fmt.Sprintf("CONNECT {\"verbose\":false,\"lang\":\"go\",\"version\":\"1\",\"protocol\":1,\"nkey\":%q,\"sig\":%q}\r\nPING\r\n", public, rawURL(signature)))
	return l
}

func (l *line) write(s string) { _, _ = io.WriteString(l, s) }

// read returns what the server says next, or "" when it has hung up.
func (l *line) read() string {
	_ = l.SetReadDeadline(time.Now().Add(patience))
	s, err := l.r.ReadString('\n')
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		l.Fatal("the server neither answers nor hangs up")
	}
	return strings.TrimSpace(s)
}

// last returns the last thing that the server says before it hangs up.
func (l *line) last() (said string) {
	for s := l.read(); s != ""; s = l.read() {
		said = s
	}
	return said
}

func TestNothingIsSaidInClear(t *testing.T) {
	s := newStage(t)
	if l := s.dial("oslo", false); l.read() == "" {
		t.Error("the server hangs up on a site that speaks TLS")
	}
	if said := s.dial("oslo", true).last(); strings.HasPrefix(said, "PONG") || strings.HasPrefix(said, "INFO") {
		t.Errorf("the server answers a site that speaks in clear: %s", said)
	}
	a := s.access("oslo")
	for name, t12 := range map[string]*tls.Config{
		"TLS 1.2":              {InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12},
		"an unknown authority": {},
	} {
		login, err := nats.NkeyOptionFromSeed(a.Seed)
		s.must(err)
		if c, err := nats.Connect(a.URL, login, nats.Secure(t12)); err == nil {
			c.Close()
			t.Errorf("connected by %s", name)
		}
	}
	// A server that is none of the federation's is not trusted with a word.
	other := newStage(t)
	b := other.access("oslo")
	b.CA = a.CA
	hub, err := natsbus.Open(b)
	s.must(err)
	if _, err := hub.Connect(t.Context(), oslo); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("joined a server of another federation: %v", err)
	}
}

// The market goes on while a site sends what it may not.
func TestAMegabyteIsRefused(t *testing.T) {
	mb := bytes.Repeat([]byte("x"), 1<<20)
	t.Run("by the hub", func(t *testing.T) {
		s := newStage(t)
		l := s.dial("oslo", false)
		l.read()
		go l.write(fmt.Sprintf("PUB gridbid.v1.agent-oslo.coordinator.offer %d\r\n%s\r\n", len(mb), mb))
		if said := l.last(); !strings.Contains(said, "Maximum Payload Violation") {
			t.Errorf("the server says %q", said)
		}
		s.works()
	})
	t.Run("by the hub, of a site's server", func(t *testing.T) {
		s := newStage(t)
		conn, _ := hostileLeaf(&scene{stage: s})
		heard := &log{}
		chief, _ := s.raw("", "coordinator")
		_, err := chief.Subscribe("gridbid.v1.agent-oslo.>", heard.hear)
		s.must(err)
		s.must(chief.Flush())
		n := 0
		s.until("the leaf passes on what is said", func() bool {
			n++
			s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.hello", []byte("hello")))
			return len(heard.with("hello")) > 0
		})
		s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.offer", mb))
		s.must(conn.Flush())
		s.until("the hub hangs up on the leaf", func() bool { return s.hub.LeafCount() == 0 })
		if got := heard.with("offer"); len(got) > 0 {
			t.Errorf("heard %q", got)
		}
		s.works()
	})
}

// works fails unless lyon and the coordinator still hear each other.
func (s *stage) works() {
	s.Helper()
	coordinator, agent := s.join(s.hub, protocol.Coordinator), s.join(s.open("lyon"), lyon)
	defer coordinator.Close()
	defer agent.Close()
	s.say(agent, word(lyon, protocol.Coordinator, 1, "an offer"))
	for s.hears(coordinator) != "an offer" {
	}
	s.say(coordinator, word(protocol.Coordinator, lyon, 1, "an award"))
	if got := s.hears(agent); got != "an award" {
		s.Errorf("lyon heard %q", got)
	}
}

func TestASiteHasItsShareOfConnectionsAndSubscriptions(t *testing.T) {
	s := newStage(t)
	for range 8 {
		s.raw("", "oslo")
	}
	a := s.access("oslo")
	options, err := a.ConnectOptions()
	s.must(err)
	for range 10 { // a server may hang up before its reason is read
		var ninth *nats.Conn
		if ninth, err = nats.Connect(a.URL, append(options, nats.NoReconnect(), nats.Timeout(patience))...); err == nil {
			ninth.Close()
			break
		}
		if errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) {
			break
		}
	}
	if !errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) {
		t.Errorf("the ninth connection of a site: %v", err)
	}
	conn, denied := s.raw("", "lyon")
	for range 300 {
		_, err := conn.SubscribeSync("gridbid.v1.coordinator.all.call")
		s.must(err)
	}
	_ = conn.Flush()
	select {
	case err := <-denied:
		if !strings.Contains(strings.ToLower(err.Error()), "maximum subscriptions") {
			t.Errorf("the server says %v", err)
		}
	case <-time.After(patience):
		t.Error("300 subscriptions of one site")
	}
}

// Hostile bytes of a site that may speak are counted, and what comes after them
// is heard.
func TestHostileBytesStopNothing(t *testing.T) {
	s := newStage(t)
	coordinator := s.join(s.hub, protocol.Coordinator)
	conn, _ := s.raw("", "oslo")
	nested := append([]byte("\x87\xa1v\x01\xa2at\x01\xa1f\xaaagent/oslo\xa1s\x01\xa1t\xabcoordinator\xa1k\xa7started\xa1b\x81\xa1x"), bytes.Repeat([]byte{0x91}, 400<<10)...)
	hostile := [][]byte{
		nested, nil, []byte("noise"), {0xdd, 4, 0, 0, 0}, {0xdf, 0xff, 0xff, 0xff, 0xff}, bytes.Repeat([]byte{0xc1}, 1000), []byte(`{"json":1}`),
	}
	for _, data := range hostile {
		s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.started", data))
	}
	ancient := []byte("\x87\xa1v\x00\xa2at\x01\xa1f\xaaagent/oslo\xa1s\x01\xa1t\xabcoordinator\xa1k\xa7started\xa1b\x81\xa1j\xa1x")
	s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.started", ancient))
	old := word(oslo, protocol.Coordinator, 1, "old")
	s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.started", encode(t, old)))
	s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.started", encode(t, old))) // replayed
	stolen := encode(t, word(lyon, protocol.Coordinator, 1, "stolen"))
	s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.started", stolen)) // a word of lyon under oslo's subject
	s.must(conn.Publish("gridbid.v1.agent-oslo.coordinator.started", encode(t, word(oslo, protocol.Coordinator, 2, "new"))))
	var ears protocol.Deduplicator
	var read []protocol.JobID
	for len(read) < 2 {
		if m := <-coordinator.Messages(); ears.AdmitOnce(m) {
			read = append(read, m.Body.(protocol.Started).Job)
		}
	}
	if read[0] != "old" || read[1] != "new" {
		t.Errorf("read %q", read)
	}
	if c := s.hub.DeliveryCounts(); int(c.Unreadable) != len(hostile) || c.Forged != 1 || c.OtherVersion != 1 || c.Delivered != 3 {
		t.Errorf("counts %+v", c)
	}
}

// A site that asks for an answer to each word has the hub wait for none of them for
// long: nobody answers, and what waits is held in memory.
func TestAnswersThatNobodyGivesAreNotAwaited(t *testing.T) {
	s := newStage(t)
	inUse := func() int {
		var mem runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&mem)
		return int(mem.HeapAlloc >> 20)
	}
	var heard atomic.Int64
	chief, _ := s.raw("", "coordinator")
	_, err := chief.Subscribe("gridbid.v1.agent-oslo.coordinator.>", func(*nats.Msg) { heard.Add(1) })
	s.must(err)
	s.must(chief.Flush())
	conn, _ := s.raw("", "oslo")
	const words, size = 30_000, 3000
	before := inUse()
	for i := range words {
		reply := strings.Repeat("x", size) + strconv.Itoa(i)
		s.must(conn.PublishMsg(&nats.Msg{Subject: "gridbid.v1.agent-oslo.coordinator.hello", Reply: reply}))
	}
	s.until("all is heard", func() bool { return heard.Load() == words })
	for range 500 { // some seconds; the server's own way is to wait for two minutes
		if inUse() < before+(words*size>>20)/2 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d MiB are in use, and %d were before", inUse(), before)
}

// A site that says all it can, as fast as it can, is dropped and counted by its
// own name; the others are heard, all of it and in order, and what waits takes
// bounded memory.
func TestAFloodDrownsNobody(t *testing.T) {
	s := newStage(t)
	s.hub.Limits = natsbus.DefaultSiteLimits()
	coordinator, agent := s.join(s.hub, protocol.Coordinator), s.join(s.open("lyon"), lyon)
	var floods sync.WaitGroup
	var floating atomic.Bool
	floating.Store(true)
	for _, size := range []int{10, 200 << 10} {
		conn, _ := s.raw("", "oslo")
		data := bytes.Repeat([]byte{0xc1}, size)
		floods.Go(func() {
			for floating.Load() {
				if conn.Publish("gridbid.v1.agent-oslo.coordinator.offer", data) != nil {
					return
				}
			}
		})
	}
	const words = 3000
	const pause = 1900 // so many it may say at once
	done, paused := make(chan error, 1), make(chan struct{})
	go func() {
		for seq := range uint64(words) {
			if seq%50 == 0 {
				time.Sleep(10 * time.Millisecond) // some 3,000 a second, of which it may say 2,000 at once
			}
			if err := agent.Send(t.Context(), word(lyon, protocol.Coordinator, seq+1, "offer")); err != nil {
				done <- err
				return
			}
			if seq == pause {
				<-paused // until those before are heard, however late: then more may be said
				time.Sleep(2500 * time.Millisecond)
			}
		}
		done <- nil
	}()
	for seq := range uint64(words) {
		select {
		case m, ok := <-coordinator.Messages():
			if !ok {
				t.Fatalf("the coordinator's port failed: %v", coordinator.Close())
			}
			if m.From != lyon || m.Seq != seq+1 {
				t.Fatalf("heard %s %d; want lyon's %d", m.From, m.Seq, seq+1)
			}
			if seq == pause {
				close(paused)
			}
		case <-time.After(patience):
			t.Fatalf("heard %d words of lyon", seq)
		}
	}
	s.must(<-done)
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	floating.Store(false)
	floods.Wait()
	counts := make(map[string]uint64)
	for _, r := range s.hub.DropsBySender() {
		if r.Sender != "agent-oslo" || r.Why == "" {
			t.Errorf("refused %+v", r)
		}
		counts[r.Code] = r.Count
	}
	if counts["too-fast"] < 1000 || counts["unreadable"] == 0 {
		t.Errorf("refused %v", counts)
	}
	if mem.HeapInuse > 256<<20 {
		t.Errorf("%d MiB in use", mem.HeapInuse>>20)
	}
	t.Logf("of a flood %v were refused; %d MiB in use", counts, mem.HeapInuse>>20)
}
