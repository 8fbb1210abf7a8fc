package federation_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/protocol"
)

// loggedLines is what a server logs.
type loggedLines struct {
	mu   sync.Mutex
	text []string
}

// Write implements io.Writer.
func (l *loggedLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(line))
	return len(line), nil
}

// has reports whether some line has all of these words.
func (l *loggedLines) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.text, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// A tenant publishes on two subjects and listens to one; the server refuses all else, also with
// wildcards, and within the account that it shares with the other tenants. The log says whom it refused what.
func TestATenantReachesItsOwnSubjectsAlone(t *testing.T) {
	s := newStage(t)
	over, end := context.WithCancel(t.Context())
	end()
	var lines loggedLines
	s.hub.ReloadOnChange(over, time.Hour, slog.New(slog.NewTextHandler(&lines, nil)))
	heard, other := &log{}, &log{}
	chief, _ := s.raw("", "coordinator")
	_, err := chief.Subscribe("gridbid.>", heard.hear)
	s.must(err)
	speech, _ := s.raw("", "speech")
	_, err = speech.Subscribe("gridbid.v1.coordinator.tenant-speech.*", other.hear)
	s.must(err)
	s.must(errors.Join(chief.Flush(), speech.Flush()))
	conn, denied := s.raw("", "vision")
	refuses := func(what string, err error) {
		t.Helper()
		if err = errors.Join(err, conn.FlushTimeout(patience)); err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(patience):
			t.Fatalf("the server lets %s pass", what)
		}
	}
	for _, subject := range []string{
		"gridbid.v1.tenant-speech.coordinator.submit", "gridbid.v1.tenant-*.coordinator.submit", "gridbid.v1.*.coordinator.submit",
		"gridbid.v1.tenant-vision.coordinator.policy", "gridbid.v1.tenant-vision.coordinator.offer", "gridbid.v1.tenant-vision.coordinator.*",
		"gridbid.v1.tenant-vision.coordinator.submit.x", "gridbid.v1.tenant-vision.agent-oslo.cancel", "gridbid.v1.tenant-vision.all.submit",
		"gridbid.v1.desk.coordinator.cancel", "gridbid.v1.submitter.coordinator.submit", "gridbid.v1.queue-oslo.coordinator.submit",
		"gridbid.v1.coordinator.tenant-speech.confirm", "gridbid.v1.coordinator.tenant-vision.confirm", "_INBOX_tenant-speech.x", "_INBOX.x", "_R_.x",
		"$JS.API.STREAM.LIST", "$KV.lease.coordinator", "$SYS.REQ.SERVER.PING", "gridbid.books", ">", "elsewhere",
	} {
		refuses("publishing on "+subject, conn.Publish(subject, []byte("forged")))
	}
	for _, subject := range []string{
		">", "*", "gridbid.>", "gridbid.v1.>", "gridbid.v1.*.*.*", "gridbid.v1.coordinator.*.*", "gridbid.v1.coordinator.>", "gridbid.v1.*.tenant-vision.*",
		"gridbid.v1.coordinator.tenant-*.*", "gridbid.v1.coordinator.tenant-speech.*", "gridbid.v1.coordinator.tenant-speech.confirm", "gridbid.v1.*.all.*",
		"gridbid.v1.coordinator.all.call", "gridbid.v1.tenant-speech.>", "gridbid.v1.tenant-speech.coordinator.submit", "gridbid.v1.coordinator.agent-oslo.*",
		"_INBOX.>", "_INBOX_tenant-vision.>", "_INBOX_tenant-speech.>", "$JS.>", "$KV.>", "$SYS.>", "gridbid.books",
	} {
		_, err := conn.SubscribeSync(subject)
		refuses("listening to "+subject, err)
		_, err = conn.QueueSubscribeSync(subject, "coordinator")
		refuses("listening in a queue group to "+subject, err)
	}
	s.until("refusals are logged", func() bool {
		return lines.has("TENANT-vision/nkey:U", "Publish Violation", "gridbid.v1.tenant-speech.coordinator.submit")
	})
	// What it may say is heard, whatever answer it asks for, and reaches nobody else.
	for _, reply := range []string{"gridbid.v1.coordinator.tenant-speech.confirm", "_INBOX_tenant-speech.x"} {
		s.must(conn.PublishMsg(&nats.Msg{Subject: "gridbid.v1.tenant-vision.coordinator.submit", Reply: reply, Data: []byte("its own")}))
	}
	s.must(speech.Publish("gridbid.v1.tenant-speech.coordinator.submit", []byte("last")))
	s.until("all is heard", func() bool { return len(heard.with("its own")) == 2 && len(heard.with("last")) == 1 })
	s.must(chief.Publish("gridbid.v1.coordinator.tenant-speech.confirm", []byte("answer")))
	s.until("the other tenant hears its answer", func() bool { return len(other.with("answer")) == 1 })
	if got := append(heard.with("forged"), other.with("")...); len(got) != 1 {
		t.Errorf("heard %q", got)
	}
}

// What another tenant sent, byte by byte, is heard from nobody else: the coordinator drops what claims another sender
// than its subject. What the tenant says itself comes through after it.
func TestCapturedMessagesOfAnotherTenantAreDropped(t *testing.T) {
	s := newStage(t)
	coordinator := s.join(s.hub, protocol.Coordinator)
	conn, _ := s.raw("", "vision")
	say := func(who protocol.Party, job protocol.JobID) {
		t.Helper()
		bytes, err := protocol.Encode(protocol.Message{Version: protocol.Current, At: 1, From: who, Seq: 1, To: protocol.Coordinator, Body: protocol.Cancel{Job: job}})
		s.must(err)
		s.must(conn.Publish("gridbid.v1.tenant-vision.coordinator.cancel", bytes))
	}
	for range 3 {
		say(protocol.TenantParty("speech"), "speech/1")
	}
	say(vision, "vision/1")
	s.must(conn.FlushTimeout(patience))
	select {
	case m := <-coordinator.Messages():
		if m.From != vision || m.Body != (protocol.Cancel{Job: "vision/1"}) {
			t.Errorf("the coordinator heard %+v", m)
		}
	case <-time.After(patience):
		t.Fatal("the coordinator heard nothing")
	}
}

// A server of a tenant's own is not admitted: it could pass on what a client may not listen to.
func TestATenantHasNoServerOfItsOwn(t *testing.T) {
	s := newStage(t)
	text, err := os.ReadFile(filepath.Join(s.dir, "sites", "oslo", "leaf.conf"))
	s.must(err)
	seed := func(of string) string {
		text, err := os.ReadFile(s.access(of).Seed)
		s.must(err)
		return strings.TrimSpace(string(text))
	}
	// The line of the leaf runs through here, so that it is seen when the hub hangs up.
	way, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	s.Cleanup(func() { _ = way.Close() })
	hungUp := make(chan struct{}, 16)
	go func() {
		for conn, err := way.Accept(); err == nil; conn, err = way.Accept() {
			hub, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.fed.Setup.LeafPort)))
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(hub, conn) }()
			_, _ = io.Copy(conn, hub)
			_, _ = conn.Close(), hub.Close()
			hungUp <- struct{}{}
		}
	}()
	conf := strings.ReplaceAll(string(text), seed("oslo"), seed("vision"))
	conf = regexp.MustCompile(`urls: .*`).ReplaceAllString(conf, `urls: ["tls://`+way.Addr().String()+`"]`)
	file := filepath.Join(s.dir, "tenants", "vision", "leaf.conf")
	s.must(os.WriteFile(file, []byte(conf), 0o600))
	leaf, err := natsbus.ServeConfigFile(file, s.access("oslo"))
	s.must(err)
	s.Cleanup(leaf.Close)
	s.until("the hub answers a server of a tenant", func() bool { return len(hungUp) > 0 || s.hub.LeafCount() > 0 })
	if s.hub.LeafCount() > 0 {
		t.Error("a server of a tenant joined")
	}
}

// With a service between the accounts the hub compares each reply with wildcards with all before,
// and 4,000 of them stop it for over 100 s.
func TestWildcardRepliesOfATenantStopNobody(t *testing.T) {
	s := newStage(t)
	coordinator, agent := s.join(s.hub, protocol.Coordinator), s.join(s.open("lyon"), lyon)
	conn, _ := s.raw("", "vision")
	for i := range 8000 {
		reply := strings.Repeat("*.", 1450) + strconv.Itoa(i)
		s.must(conn.PublishMsg(&nats.Msg{Subject: "gridbid.v1.tenant-vision.coordinator.submit", Reply: reply, Data: []byte{0xc1}}))
	}
	s.must(conn.FlushTimeout(patience))
	s.say(agent, word(lyon, protocol.Coordinator, 1, "offer"))
	if got := s.hears(coordinator); got != "offer" {
		t.Errorf("the coordinator heard %q", got)
	}
}

// A tenant that opens connections until none is left takes those of no other, and of no site.
func TestATenantTakesNobodyElsesConnections(t *testing.T) {
	s := newStage(t)
	coordinator := s.join(s.hub, protocol.Coordinator)
	access := s.access("vision")
	options, err := access.ConnectOptions()
	s.must(err)
	options = append(options, nats.NoReconnect(), nats.Timeout(patience))
	held := 0
	for ; held < 1100; held++ {
		conn, err := nats.Connect(access.URL, options...)
		if err != nil {
			if !strings.Contains(err.Error(), "maximum account active connections exceeded") {
				t.Fatalf("connection %d: %v", held, err)
			}
			break
		}
		t.Cleanup(conn.Close)
	}
	if held != 64 {
		t.Errorf("one tenant of two holds %d connections; want 64", held)
	}
	other, _ := s.raw("", "speech")
	s.must(other.FlushTimeout(patience))
	s.say(s.join(s.open("lyon"), lyon), word(lyon, protocol.Coordinator, 1, "offer"))
	if got := s.hears(coordinator); got != "offer" {
		t.Errorf("the coordinator heard %q", got)
	}
}

// A tenant that is revoked is cut off while it is connected, and does not come back, and the log has its key; the
// other tenants stay connected.
func TestARevokedTenantIsCutOff(t *testing.T) {
	s := newStage(t)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	var lines loggedLines
	watching.Go(func() {
		s.hub.ReloadOnChange(ctx, 10*time.Millisecond, slog.New(slog.NewTextHandler(&lines, nil)), federation.WatchedFiles(s.fed.HubConfigFile(0))...)
	})
	defer watching.Wait()
	defer stop()
	coordinator := s.join(s.hub, protocol.Coordinator)
	conn, _ := s.raw("", "vision")
	other, _ := s.raw("", "speech")
	access := s.access("vision")
	keys, err := s.fed.PublicKeys("vision")
	s.must(err)
	s.must(s.fed.RevokeTenant("vision", now))
	s.until("the tenant is cut off", conn.IsClosed)
	access.Seed, access.CA = filepath.Join(s.dir, "revoked", "vision-1", "vision.nk"), filepath.Join(s.dir, "ca.pem")
	// A reload may cut off a client before it has named its key; such a line has none.
	s.until("the refusal is logged", func() bool {
		if err := s.joins(access, vision); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("joined by a revoked key: %v", err)
		}
		return lines.has("a client is refused", "authentication error", "Nkey", keys[0])
	})
	s.must(other.FlushTimeout(patience))
	// The last tenant goes, and with it the account.
	s.must(s.fed.RevokeTenant("speech", now))
	s.until("the other is cut off, too", other.IsClosed)
	// One that comes while the server runs is heard.
	_, err = s.fed.AddTenant(federation.TenantSetup{Name: "vision"})
	s.must(err)
	s.until("the new tenant is heard", func() bool {
		port, err := s.open("vision").Connect(s.Context(), vision)
		if err != nil {
			return false
		}
		s.say(port, protocol.Message{Version: protocol.Current, At: 1, From: vision, Seq: 1, To: protocol.Coordinator, Body: protocol.Cancel{Job: "vision/1"}})
		s.must(port.Close())
		return len(coordinator.Messages()) > 0
	})
}

func TestATenantsNameAndKeyAreItsOwn(t *testing.T) {
	s := newStage(t)
	keys, err := s.fed.PublicKeys("oslo")
	s.must(err)
	for _, setup := range []federation.TenantSetup{
		{Name: "Vision"}, {Name: "team_a"}, {Name: ""}, {Name: "a/b"}, {Name: "vision"}, {Name: "oslo"}, {Name: "coordinator"}, {Name: "submitter"},
		{Name: "audio", Key: keys[0]}, {Name: "audio", Key: "U"},
	} {
		if folder, err := s.fed.AddTenant(setup); err == nil {
			t.Errorf("admitted %+v to %s", setup, folder)
		}
	}
	if _, err := s.fed.AddSite(federation.SiteSetup{Name: "vision"}); !errors.Is(err, federation.ErrTaken) {
		t.Errorf("a site with the name of a tenant: %v", err)
	}
	for _, name := range []string{"oslo", "coordinator", "rome"} {
		if err := s.fed.RevokeTenant(name, now); err == nil {
			t.Errorf("revoked %s as a tenant", name)
		}
	}
	if err := s.fed.RevokeSite("vision", now); err == nil {
		t.Error("revoked a tenant as a site")
	}
	again, err := federation.Open(s.dir)
	s.must(err)
	if len(again.Tenants) != 2 || again.Tenants[0].Name != "speech" {
		t.Errorf("stored %+v", again.Tenants)
	}
	access, err := natsbus.ReadAccess(filepath.Join(s.dir, "tenants", "vision", federation.TenantFile))
	if err != nil || access.Tenant != "vision" {
		t.Errorf("%+v: %v", access, err)
	}
}
