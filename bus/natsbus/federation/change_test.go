package federation_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
)

func rawURL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// A site that is shut out is cut off while it is connected, and does not come
// back; nobody else is disturbed.
func TestRevocationTakesEffectOnTheRunningServer(t *testing.T) {
	for _, topology := range []string{"one server", "leaves"} {
		t.Run(topology, func(t *testing.T) {
			s := newStage(t)
			ctx, stop := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			watching.Go(func() {
				s.hub.ReloadOnChange(ctx, 10*time.Millisecond, slog.New(slog.DiscardHandler), federation.WatchedFiles(s.fed.HubConfigFile(0))...)
			})
			defer watching.Wait()
			defer stop()
			coordinator, other := s.join(s.hub, protocol.Coordinator), s.join(s.open("lyon"), lyon)
			access := s.access("oslo")
			var conn *nats.Conn
			if topology == "leaves" {
				s.leaf("oslo")
			} else {
				conn, _ = s.raw("", "oslo")
			}
			s.must(s.fed.RevokeSite("oslo", now))
			s.until("the site is cut off", func() bool {
				return conn != nil && conn.IsClosed() || conn == nil && s.hub.LeafCount() == 0
			})
			seed, err := filepath.Glob(filepath.Join(s.dir, "revoked", "oslo-1", "oslo.nk"))
			s.must(err)
			access.Seed, access.CA = seed[0], filepath.Join(s.dir, "ca.pem")
			if err := s.joins(access, oslo); !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("joined by a revoked key: %v", err)
			}
			s.say(coordinator, word(protocol.Coordinator, "", 1, "call"))
			if got := s.hears(other); got != "call" {
				t.Errorf("lyon heard %q", got)
			}
			s.say(other, word(lyon, protocol.Coordinator, 1, "offer"))
			if got := s.hears(coordinator); got != "offer" {
				t.Errorf("the coordinator heard %q", got)
			}
			// The name may come back, with another key; a key may not.
			s.newSiteIsHeard(coordinator, "rome")
			_, err = s.fed.AddSite(federation.SiteSetup{Name: "oslo"})
			s.must(err)
			key := s.fed.Revoked[0].Key
			if _, err := s.fed.AddSite(federation.SiteSetup{Name: "bern", Key: key}); err == nil || !strings.Contains(err.Error(), "revoked") {
				t.Errorf("admitted a revoked key: %v", err)
			}
		})
	}
}

// newSiteIsHeard admits a site while the server runs.
func (s *stage) newSiteIsHeard(coordinator interface {
	Messages() <-chan protocol.Message
}, name string) {
	s.Helper()
	_, err := s.fed.AddSite(federation.SiteSetup{Name: name})
	s.must(err)
	who := protocol.AgentParty(name)
	s.until("the new site is heard", func() bool {
		port, err := s.open(name).Connect(s.Context(), who)
		if err != nil {
			return false
		}
		s.say(port, word(who, protocol.Coordinator, 1, "hello"))
		s.must(port.Close())
		return len(coordinator.Messages()) > 0 // between the two readings nobody hears it
	})
	if m := <-coordinator.Messages(); m.From != who {
		s.Errorf("heard %+v", m)
	}
}

// The hub knows a leaf by its remote's key. Parties of the site are known by their leaf
// alone, and go on by the key that it lets in.
func TestASiteWithALeafChangesItsKey(t *testing.T) {
	s := newStage(t)
	coordinator, leaf := s.join(s.hub, protocol.Coordinator), s.leaf("oslo")
	drawn, err := s.fed.RotateKey("oslo", "")
	s.must(err)
	read := func(file string) string {
		text, err := os.ReadFile(file)
		s.must(err)
		return string(text)
	}
	conf := filepath.Join(s.dir, "sites", "oslo", "leaf.conf")
	text := strings.Replace(read(conf), read(s.access("oslo").Seed), read(drawn), 1)
	s.must(os.WriteFile(conf, []byte(text), 0o600))
	_, err = s.fed.RetireOldKeys("oslo", now)
	s.must(err)
	s.must(s.hub.ReloadConfig())
	leaf.Close()
	s.until("the leaf is gone", func() bool { return s.hub.LeafCount() == 0 })
	agent := s.join(s.leaf("oslo"), oslo)
	s.until("the site is heard", func() bool { // its leaf tells the hub some milliseconds later which subjects it subscribes to
		s.say(agent, word(oslo, protocol.Coordinator, 1, "offer"))
		time.Sleep(time.Millisecond)
		return len(coordinator.Messages()) > 0
	})
}

// A folder that was handed over may be deleted, and its site may change its key.
func TestAKeyIsChangedWhoseFolderIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fed")
	fed, err := federation.InitFederation(dir, federation.Setup{Hosts: []string{"hub.example"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := fed.AddSite(federation.SiteSetup{Name: "oslo"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	file, err := fed.RotateKey("oslo", "")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new seed: %v, %v", info, err)
	}
}

// While a key is changed both work; then the old one does not.
func TestRotation(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"oslo", "vision"} {
		who := map[string]protocol.Party{"oslo": oslo, "vision": vision}[name]
		file, err := s.fed.RotateKey(name, "")
		s.must(err)
		s.must(s.hub.ReloadConfig())
		if _, err := s.fed.RotateKey(name, ""); err == nil {
			t.Errorf("%s: a third key", name)
		}
		first, second := s.access(name), s.access(name)
		second.Seed = file
		if err := errors.Join(s.joins(first, who), s.joins(second, who)); err != nil {
			t.Errorf("%s: one of two keys: %v", name, err)
		}
		n, err := s.fed.RetireOldKeys(name, now)
		s.must(err)
		s.must(s.hub.ReloadConfig())
		if err := s.joins(first, who); n != 1 || !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %d retired; the old key: %v", name, n, err)
		}
		if err := s.joins(second, who); err != nil {
			t.Errorf("%s: the new key: %v", name, err)
		}
		if third, err := s.fed.RotateKey(name, ""); err != nil || third == file {
			t.Errorf("%s: the next rotation wrote %s over, or %v", name, third, err)
		}
	}
	before, _ := os.ReadFile(filepath.Join(s.dir, "hub", "server.pem"))
	s.must(s.fed.RenewServerCerts(now))
	s.must(s.hub.ReloadConfig())
	after, _ := os.ReadFile(filepath.Join(s.dir, "hub", "server.pem"))
	if string(before) == string(after) {
		t.Error("the server's certificate stayed")
	}
	s.works()
}

func TestFilesAreTheirOwnersAloneAndNotWrittenOver(t *testing.T) {
	s := newStage(t)
	files := 0
	s.must(filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		s.must(err)
		info, err := d.Info()
		s.must(err)
		if info.Mode().Perm()&0o077 != 0 && !strings.Contains(path, "store") {
			t.Errorf("%s has mode %#o", path, info.Mode().Perm())
		}
		if strings.Contains(path, ".next") || strings.Contains(filepath.Base(path), "-") && strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("%s was left behind", path)
		}
		files++
		return nil
	}))
	if files < 20 {
		t.Errorf("%d files", files)
	}
	snapshot := func() (all string) {
		_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, _ error) error {
			if !d.IsDir() {
				data, _ := os.ReadFile(path)
				all += path + string(data)
			}
			return nil
		})
		return all
	}
	before := snapshot()
	_, again := federation.InitFederation(s.dir, federation.Setup{Hosts: []string{"h"}}, now)
	_, twice := s.fed.AddSite(federation.SiteSetup{Name: "oslo"})
	_, market := s.fed.AddSite(federation.SiteSetup{Name: "coordinator"})
	_, odd := s.fed.AddSite(federation.SiteSetup{Name: `x", users: []`})
	_, shared := s.fed.AddSite(federation.SiteSetup{Name: "bern", Key: s.fed.Sites[0].Keys[0]})
	_, noKey := s.fed.AddSite(federation.SiteSetup{Name: "bern", Key: `U" }`})
	_, noPath := s.fed.AddSite(federation.SiteSetup{Name: "bern", Path: "a\"\nb"})
	unknown := s.fed.RevokeSite("rome", now)
	for what, err := range map[string]error{
		"init twice": again, "a site twice": twice, "a name of the market": market, "a name that breaks a file": odd,
		"a key twice": shared, "a key that is none": noKey, "a path that breaks a file": noPath, "an unknown site": unknown,
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if !errors.Is(again, federation.ErrTaken) || !errors.Is(twice, federation.ErrTaken) || !errors.Is(unknown, federation.ErrUnknown) {
		t.Errorf("errors: %v; %v; %v", again, twice, unknown)
	}
	if snapshot() != before {
		t.Error("what was refused changed files")
	}
	reopened, err := federation.Open(s.dir)
	s.must(err)
	if len(reopened.Sites) != 2 || reopened.Sites[0].Name != "lyon" {
		t.Errorf("read %+v", reopened.Sites)
	}
}

// A port in a place for names ended in the URL of every member, and an address that
// is none in the configuration of a site's server: neither could be reached, or started.
func TestAddressesAreWhatTheyAreTakenFor(t *testing.T) {
	for _, s := range []federation.Setup{{Hosts: []string{"hub.example:4222"}}, {Hosts: []string{"h"}, Listen: "0.0.0.0:4222"}} {
		if _, err := federation.InitFederation(filepath.Join(t.TempDir(), "fed"), s, now); err == nil || !strings.Contains(err.Error(), "without a port") {
			t.Errorf("%+v: %v; want it without a port", s, err)
		}
	}
	fed, err := federation.InitFederation(filepath.Join(t.TempDir(), "fed"), federation.Setup{Hosts: []string{"2001:db8::1"}, Listen: "::"}, now)
	if err != nil || fed.HubURL() != "tls://[2001:db8::1]:4222" {
		t.Fatalf("an address that has colons of its own: %v", err)
	}
	for listen, well := range map[string]bool{"": true, "127.0.0.1:4222": true, "[::1]:4222": true, "4222": false, "localhost": false} {
		name := fmt.Sprintf("site-%d", len(fed.Sites))
		if _, err := fed.AddSite(federation.SiteSetup{Name: name, LeafListen: listen}); (err == nil) != well {
			t.Errorf("a site's server that listens at %q: %v", listen, err)
		}
	}
}

// Several commands at once: one changes the federation, the others get an error.
func TestOneChangesItAtATime(t *testing.T) {
	s := newStage(t)
	release, err := federation.LockFolder(s.dir)
	s.must(err)
	if _, err := federation.LockFolder(s.dir); err == nil {
		t.Error("locked twice")
	}
	release()
	again, err := federation.LockFolder(s.dir)
	s.must(err)
	again()
}

// A change that could not be written down does not keep the next from being made.
func TestAKeyThatWasNotAdmittedIsNoneInTheWay(t *testing.T) {
	s := newStage(t)
	state := filepath.Join(s.dir, "federation.json")
	s.must(os.Rename(state, state+".kept"))
	s.must(os.Mkdir(state, 0o700)) // no file takes its place
	if _, err := s.fed.RotateKey("oslo", ""); err == nil {
		t.Fatal("a key is admitted that is written down nowhere")
	}
	s.must(os.Remove(state))
	s.must(os.Rename(state+".kept", state))
	fed, err := federation.Open(s.dir)
	s.must(err)
	file, err := fed.RotateKey("oslo", "")
	s.must(err)
	access := s.access("oslo")
	access.Seed = file
	s.must(s.hub.ReloadConfig())
	if err := s.joins(access, oslo); err != nil {
		t.Errorf("by the key in %s: %v", file, err)
	}
}

// A hub without maintenance for a year refuses all connections from then on.
func TestACertificateThatEndsSoonIsTold(t *testing.T) {
	for days, want := range map[int]bool{0: false, 360: false, 380: true} {
		dir := filepath.Join(t.TempDir(), "fed")
		free, err := ports.FreePorts(3)
		if err != nil {
			t.Fatal(err)
		}
		fed, err := federation.InitFederation(dir, federation.Setup{Hosts: []string{"127.0.0.1"}, Listen: "127.0.0.1", Port: free[0], LeafPort: free[1], Route: free[2]}, now.AddDate(0, 0, -days))
		if err != nil {
			t.Fatal(err)
		}
		hub, err := natsbus.ServeConfigFile(fed.HubConfigFile(0), natsbus.Access{URL: fed.HubURL(), Seed: filepath.Join(dir, "coordinator", "coordinator.nk")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hub.Close)
		var log strings.Builder
		over, end := context.WithCancel(t.Context())
		end()
		hub.ReloadOnChange(over, time.Hour, slog.New(slog.NewTextHandler(&log, nil)), federation.WatchedFiles(fed.HubConfigFile(0))...)
		if strings.Contains(log.String(), "rotate --server") != want {
			t.Errorf("after %d days it says %q", days, log.String())
		}
	}
}
