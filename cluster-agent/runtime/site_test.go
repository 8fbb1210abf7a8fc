package runtime

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// A greeter is an agent that greets, and again and again: the first may be lost.
type greeter struct {
	sender protocol.Sender
	due    protocol.Time
}

func (g *greeter) BeginIncarnation(incarnation uint32) { g.sender.Incarnation, g.due = incarnation, 1 }
func (g *greeter) Due() protocol.Time                  { return g.due }
func (g *greeter) Tick(now protocol.Time) []protocol.Message {
	g.due = now.Add(100 * time.Millisecond)
	return []protocol.Message{g.sender.NewMessage(now, protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})}
}
func (g *greeter) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
func (g *greeter) Events() []protocol.Message                              { return nil }
func (g *greeter) Restore(protocol.Message) error                          { return nil }
func (g *greeter) NeedsEvent(protocol.Message) bool                        { return false }

// A site is heard at each restart: in its folder, in that of a
// moment before, which was put back, and in an empty one.
func TestRestartedSiteIsHeardWhateverHappenedToItsFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		federation, folder, copied := new(membus.Bus), filepath.Join(t.TempDir(), "oslo"), filepath.Join(t.TempDir(), "copy")
		market, err := federation.Connect(t.Context(), protocol.Coordinator)
		if err != nil {
			t.Fatal(err)
		}
		defer market.Close()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		var deduplicator protocol.Deduplicator
		for _, step := range []struct {
			name   string
			before func()
		}{
			{"a site", func() {}},
			{"a restarted one", func() { must(os.CopyFS(copied, os.DirFS(folder))) }},
			{"one whose folder was put back", func() { must(os.RemoveAll(folder)); must(os.CopyFS(folder, os.DirFS(copied))) }},
			{"one whose folder was lost", func() { must(os.RemoveAll(folder)) }},
		} {
			step.before()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- RunSite(ctx, Config{
					Site: "oslo", DataDir: folder, FederationBus: federation, Log: slog.New(slog.DiscardHandler),
					Agent: &greeter{sender: protocol.Sender{Party: protocol.AgentParty("oslo")}},
				})
			}()
			time.Sleep(time.Second)
			stop()
			must(<-ended)
			synctest.Wait()
			n := len(market.Messages())
			for range n {
				if m := <-market.Messages(); !deduplicator.AdmitOnce(m) {
					t.Errorf("%s is ignored: sequence number %d was seen before", step.name, m.Seq)
				}
			}
			if n < 5 {
				t.Errorf("%s greets %d times", step.name, n)
			}
		}
	})
}

// The folder of one site is not another's: jobs that it holds would be taken for its own.
func TestFolderOfAnotherSiteIsRefused(t *testing.T) {
	folder := t.TempDir()
	restore := func(protocol.Message) error { return nil }
	all := func(protocol.Message) bool { return true }
	l, err := wal.OpenFileLog(filepath.Join(folder, "agent"), restore, all)
	if err != nil {
		t.Fatal(err)
	}
	oslo := protocol.Sender{Party: protocol.AgentParty("oslo"), Incarnation: l.Incarnation()}
	if err := errors.Join(l.AppendEvents([]protocol.Message{oslo.NewMessage(1, protocol.Coordinator, protocol.Accept{Job: "train", Epoch: 1})}), l.Close()); err != nil {
		t.Fatal(err)
	}
	before := os.DirFS(folder)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second) // or it would run for ever
	defer stop()
	err = RunSite(ctx, Config{
		Site: "bergen", DataDir: folder, FederationBus: new(membus.Bus), Log: slog.New(slog.DiscardHandler),
		Agent: &greeter{sender: protocol.Sender{Party: protocol.AgentParty("bergen")}},
	})
	if err == nil || !strings.Contains(err.Error(), "holds events of site oslo") {
		t.Errorf("bergen begins in the folder of oslo: %v", err)
	}
	if left, err := fs.Glob(before, "agent/*.facts"); err != nil || len(left) != 1 {
		t.Errorf("of oslo's journal %q is left, %v", left, err)
	}
}
