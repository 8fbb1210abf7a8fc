package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
)

// A tenantStage is a federation with the tenants vision and speech, its coordinator, and a site of
// the test's that runs every job in no time.
type tenantStage struct {
	*testing.T
	dir, api string
	fed      *federation.Federation
}

// newTenantStage starts it: the hub runs within the coordinator's process, or is a server of its own
// that the coordinator reaches by its key.
func newTenantStage(t *testing.T, embedded bool) *tenantStage {
	s := &tenantStage{T: t, dir: filepath.Join(t.TempDir(), "fed")}
	free, err := ports.FreePorts(3)
	s.must(err)
	s.fed, err = federation.InitFederation(s.dir, federation.Setup{Port: free[0], LeafPort: free[1], Route: free[2]}, time.Now())
	s.must(err)
	_, err = s.fed.AddSite(federation.SiteSetup{Name: "oslo"})
	s.must(err)
	for _, tenant := range []string{"vision", "speech"} {
		_, err = s.fed.AddTenant(federation.TenantSetup{Name: tenant})
		s.must(err)
	}
	access := func(folder string) natsbus.Access {
		a, err := natsbus.ReadAccess(filepath.Join(s.dir, folder, "nats.yaml"))
		s.must(err)
		return a.Access
	}
	hub, err := natsbus.ServeConfigFile(s.fed.HubConfigFile(0), access("coordinator"))
	s.must(err)
	t.Cleanup(hub.Close)
	ctx, end := context.WithCancel(t.Context())
	var ended []chan error
	run := func(do func() error) {
		done := make(chan error, 1)
		ended = append(ended, done)
		go func() { done <- do() }()
	}
	t.Cleanup(func() {
		end()
		for _, done := range ended {
			<-done
		}
	})
	run(func() error {
		hub.ReloadOnChange(ctx, 10*time.Millisecond, slog.New(slog.DiscardHandler), federation.WatchedFiles(s.fed.HubConfigFile(0))...)
		return nil
	})
	coordinator := &hub.Bus
	if !embedded {
		coordinator, err = natsbus.Open(access("coordinator"))
		s.must(err)
	}
	desk := api.New()
	server := httptest.NewServer(desk.HTTPHandler())
	t.Cleanup(server.Close)
	s.api = strings.TrimPrefix(server.URL, "http://")
	run(func() error {
		return leader.RunWhenElected(ctx, leader.Config{
			Bus: coordinator, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) },
			EventLog: eventlog.Config{Lease: 20 * time.Second}, API: desk, Log: slog.New(slog.DiscardHandler),
		})
	})
	for !desk.IsLeading() {
		time.Sleep(10 * time.Millisecond)
	}
	site, err := natsbus.Open(access("sites/oslo"))
	s.must(err)
	conn, err := site.Connect(ctx, protocol.AgentParty("oslo"))
	s.must(err)
	sender := protocol.Sender{Party: protocol.AgentParty("oslo")}
	say := func(b protocol.Body) error {
		return conn.Send(ctx, sender.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, b))
	}
	s.must(say(protocol.RegisterSite{Site: "oslo"}))
	run(func() error {
		for m := range conn.Messages() {
			if err := answerAsSite(say, m); err != nil {
				return err
			}
		}
		return conn.Close()
	})
	return s
}

// answerAsSite is what the site answers: a price for each job, and that it ran at once.
func answerAsSite(say func(protocol.Body) error, m protocol.Message) error {
	now := protocol.FromStdTime(time.Now())
	switch b := m.Body.(type) {
	case protocol.CallForBids:
		offer := protocol.Bids{Round: b.Round, Capacity: []protocol.CapacityProfile{{Model: "A100", From: now.Floor(time.Hour), Slot: time.Hour, Free: []protocol.Milli{4000, 4000, 4000}, Total: 4000}}}
		for _, j := range b.Jobs {
			o := protocol.BidOption{Start: now.Add(time.Second), Finish: now.Add(time.Minute), Model: "A100", Energy: 720_000_000, Carbon: 40_000, Money: 10_000}
			offer.Jobs = append(offer.Jobs, protocol.JobBids{Job: j.ID, Options: []protocol.BidOption{o}})
		}
		return say(offer)
	case protocol.Award:
		return say(protocol.Accept{Job: b.Job, Epoch: b.Epoch, Start: b.Option.Start})
	case protocol.Confirm:
		if b.Code == protocol.AcceptConfirmed {
			return say(protocol.UsageReport{Job: b.Job, Epoch: b.Epoch, Started: now - 2, Ended: now - 1, Node: "n", Energy: 700_000_000, Carbon: 39_000, Money: 9_000})
		}
	}
	return nil
}

func (s *tenantStage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *tenantStage) key(tenant string) string {
	return filepath.Join(s.dir, "tenants", tenant, federation.TenantFile)
}

func (s *tenantStage) write(name, text string) string {
	file := filepath.Join(s.TempDir(), name)
	s.must(os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestATenantSubmitsOverNATS(t *testing.T) {
	for name, embedded := range map[string]bool{"embedded": true, "federated": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GRIDBID_CONFIG", filepath.Join(t.TempDir(), "config.yaml"))
			t.Setenv("GRIDBID_API", "")
			s := newTenantStage(t, embedded)
			gridbid := func(args ...string) (string, error) {
				t.Helper()
				out, stderr, err := execute(newRootCommand(), args...)
				if testing.Verbose() {
					t.Logf("gridbid %v: %v\n%s%s", args, err, out, stderr)
				}
				return out, err
			}
			good := func(want string, args ...string) string {
				t.Helper()
				out, err := gridbid(args...)
				if err != nil || !strings.Contains(out, want) {
					t.Fatalf("gridbid %v: %v:\n%s\nwant %q", args, err, out, want)
				}
				return out
			}
			job := s.write("job.yaml", "id: train-7\ngpus: 1\ncpu: 4\nrun: 1m\nwithin: 2h\n")
			// The context has the key.
			good("is set", "config", "set-context", "vision", "--nats", s.key("vision"))
			good("vision/train-7  done oslo", "submit", "-f", job, "--wait")
			var known []jobstatus.Job
			s.must(json.Unmarshal([]byte(good("", "jobs", "--api", s.api, "--json")), &known))
			if len(known) != 1 || known[0].ID != "vision/train-7" || known[0].Tenant != "vision" || known[0].State != "done" {
				t.Errorf("the coordinator knows %+v", known)
			}
			// The same file is the same job, whenever it is submitted, and another tenant's of that id its own.
			good("vision/train-7  done", "submit", "-f", job)
			good("speech/train-7  done", "submit", "-f", job, "--nats", s.key("speech"), "--wait")
			// A job that waits is cancelled by its tenant, and no other.
			later := s.write("later.yaml", "id: later\ntenant: vision\ngpus: 1\nmodels: [H100]\ncpu: 4\nrun: 1m\nwithin: 2h\n")
			good("vision/later", "submit", "-f", later)
			good("nothing is changed", "cancel", "vision/train-7")
			good("nothing is changed", "cancel", "later", "--nats", s.key("speech"))
			good(`"id": "speech/vision/later"`, "cancel", "vision/later", "--nats", s.key("speech"), "--json")
			for _, tc := range []struct {
				want string
				args []string
			}{
				{"later.yaml: tenant: the file names \"vision\", and the key is of tenant \"speech\"", []string{"submit", "-f", later, "--nats", s.key("speech")}},
				{"another job vision/train-7 was submitted before", []string{"submit", "-f", later, "--id", "train-7"}},
				{"run: ", []string{"submit", "-f", s.write("bad.yaml", "id: bad\ngpus: 1\nrun: 9000h\n")}},
				{"nats/tenant is missing", []string{"submit", "-f", job, "--nats", filepath.Join(s.dir, "coordinator", "nats.yaml")}},
				{"no such file", []string{"submit", "-f", job, "--nats", "/nowhere/nats.yaml"}},
			} {
				if _, err := gridbid(tc.args...); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("gridbid %v: %v; want %q", tc.args, err, tc.want)
				}
			}
			// A key that is revoked is not admitted.
			s.must(s.fed.RevokeTenant("speech", time.Now()))
			revoked := filepath.Join(s.dir, "revoked", "speech-1", federation.TenantFile)
			for range 2400 {
				if _, err := gridbid("cancel", "train-7", "--nats", revoked); err != nil && strings.Contains(err.Error(), "revoked") {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Error("a revoked key is admitted")
		})
	}
}
