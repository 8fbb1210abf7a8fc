package bigrounds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var (
	siteCount = flag.Int("sites", 6, "sites of the round")
	jobCount  = flag.Int("jobs", 40, "jobs that are called in it")
	payload   = flag.Int("payload", 16<<10, "bytes that the hub takes of a site in one message")
)

const (
	processes = 4
	// orders names the environment variable that has a process of this test bid.
	orders = "GRIDBID_BIG_ROUND"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(orders); text != "" {
		if err := bidByOrders(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// An order tells one process which sites to run.
type order struct {
	Sites  int // of the federation
	Access map[string]natsbus.Access
	Names  []string // of those that bid here
	Folder string
}

func bidByOrders(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s, now, err := federationOf(o.Sites)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return bidAll(ctx, s, now, o.Names, func(site string) (bus.Bus, error) { return natsbus.Open(o.Access[site]) }, o.Folder)
}

func theSetting() setting {
	coordinatorBus := natsbus.Bus{Limits: natsbus.DefaultSiteLimits()}
	return setting{sites: *siteCount, jobs: *jobCount, payload: *payload, most: coordinatorBus.MaxMessageBytes(*payload)}
}

// inProcess has all sites bid within this process, over one bus.
func inProcess(anyBus bus.Bus) func(context.Context, spec.Scenario, protocol.Time, string) error {
	return func(ctx context.Context, s spec.Scenario, now protocol.Time, folder string) error {
		var names []string
		for _, site := range s.Sites {
			names = append(names, site.Name)
		}
		return bidAll(ctx, s, now, names, func(string) (bus.Bus, error) { return anyBus, nil }, folder)
	}
}

func overMemory(t *testing.T, with setting) round {
	memBus := new(membus.Bus)
	return hold(t, with, memBus, inProcess(memBus))
}

func overEmbeddedNATS(t *testing.T, with setting) round {
	srv, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.Limits = natsbus.DefaultSiteLimits()
	return hold(t, with, &srv.Bus, inProcess(srv.NewBus()))
}

// overFederation has the sites bid in processes of their own, each in its own account of
// a hub that takes no more of it than the setting's payload.
func overFederation(t *testing.T, with setting) round {
	free, err := ports.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "fed")
	fed, err := federation.InitFederation(dir, federation.Setup{
		Hosts: []string{"127.0.0.1"}, Listen: "127.0.0.1", Port: free[0], LeafPort: free[1], Route: free[2], Limits: federation.Limits{Payload: with.payload},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	access := func(folder, name string) natsbus.Access {
		return natsbus.Access{URL: fed.HubURL(), CA: "ca.pem", Seed: name + ".nk"}.ResolvePaths(folder)
	}
	parts := make([]order, processes)
	for i := range with.sites {
		name := fmt.Sprint("site-", i)
		folder, err := fed.AddSite(federation.SiteSetup{Name: name, LeafListen: net.JoinHostPort("127.0.0.1", "-1")})
		if err != nil {
			t.Fatal(err)
		}
		o := &parts[i%processes]
		if o.Access == nil {
			o.Sites, o.Access = with.sites, make(map[string]natsbus.Access)
		}
		o.Names, o.Access[name] = append(o.Names, name), access(folder, name)
	}
	hub, err := natsbus.ServeConfigFile(fed.HubConfigFile(0), access(filepath.Join(dir, "coordinator"), "coordinator"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	hub.Limits = natsbus.DefaultSiteLimits()
	r := hold(t, with, hub, func(ctx context.Context, _ spec.Scenario, _ protocol.Time, folder string) error {
		return bidInProcesses(ctx, parts, folder)
	})
	if n := hub.DeliveryCounts(); n.OverLimit+n.Forged+n.Unreadable+n.OtherVersion+n.Slow > 0 {
		t.Errorf("the coordinator dropped messages: %+v", n)
	}
	return r
}

func bidInProcesses(ctx context.Context, parts []order, folder string) error {
	var running []*exec.Cmd
	var outputs []*bytes.Buffer
	var errs []error
	for _, o := range parts {
		o.Folder = folder
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		cmd, out := exec.CommandContext(ctx, os.Args[0]), new(bytes.Buffer)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), orders+"="+string(text)), out, out
		if err := cmd.Start(); err != nil {
			errs = append(errs, err)
			break
		}
		running, outputs = append(running, cmd), append(outputs, out)
	}
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("process %d of agents: %w: %s", i, err, outputs[i]))
		}
	}
	return errors.Join(errs...)
}

// Bids of sites that have more options than their connections carry arrive byte for byte as
// they were sent, and the market awards the same, over every bus.
func TestABigRoundIsTheSameOverEveryBus(t *testing.T) {
	with := theSetting()
	want := overMemory(t, with)
	longest, bytesSent := 0, 0
	for _, data := range want.sent {
		longest, bytesSent = max(longest, len(data)), bytesSent+len(data)
	}
	if longest > with.most || longest < with.most*3/4 {
		t.Errorf("the longest offer has %d bytes; want nearly the %d that it may have", longest, with.most)
	}
	whole := with
	whole.sites, whole.most = min(with.sites, 6), 0 // as many as there are kinds of
	over := 0
	for _, data := range overMemory(t, whole).sent {
		if len(data) > with.payload {
			over++
		}
	}
	if over < whole.sites/2 {
		t.Errorf("%d of %d sites have more to offer than the %d bytes that its connection carries; want most", over, whole.sites, with.payload)
	}
	if want.awards == 0 {
		t.Error("nothing is awarded")
	}
	t.Logf("%d jobs at %d sites: %d of %d have more to offer than %d bytes; %d bytes sent, the longest offer %d; %d awards, %v after the call",
		with.jobs, with.sites, over, whole.sites, with.payload, bytesSent, longest, want.awards, want.took.Round(time.Millisecond))
	for _, wrong := range differences(want, want) {
		t.Error(wrong)
	}
	for _, tc := range []struct {
		name string
		hold func(*testing.T, setting) round
	}{
		{"over embedded NATS", overEmbeddedNATS},
		{"over a hub with an account for each site", overFederation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.hold(t, with)
			for _, wrong := range differences(want, got) {
				t.Error(wrong)
			}
			t.Logf("from the call to the awards: %v", got.took.Round(time.Millisecond))
		})
	}
}

// A lossyBus drops one option from the bids of one site.
type lossyBus struct {
	bus.Bus
	from protocol.Party
}

func (h lossyBus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	port, err := h.Bus.Connect(ctx, who)
	return lossyConn{port, who == h.from}, err
}

type lossyConn struct {
	bus.Conn
	steals bool
}

func (p lossyConn) Send(ctx context.Context, ms ...protocol.Message) error {
	for i, m := range ms {
		if o, ok := m.Body.(protocol.Bids); ok && p.steals {
			o.Jobs = slices.Clone(o.Jobs)
			k := slices.IndexFunc(o.Jobs, func(m protocol.JobBids) bool { return len(m.Options) > 1 })
			o.Jobs[k].Options = o.Jobs[k].Options[:len(o.Jobs[k].Options)-1]
			ms[i].Body = o
		}
	}
	return p.Conn.Send(ctx, ms...)
}

func TestABusThatDropsOneOptionIsFound(t *testing.T) {
	with := setting{sites: 4, jobs: 20, payload: 16 << 10, most: 12 << 10}
	want, memBus := overMemory(t, with), new(membus.Bus)
	got := hold(t, with, memBus, inProcess(lossyBus{memBus, protocol.AgentParty("site-2")}))
	wrong := differences(want, got)
	if len(wrong) == 0 || !bytes.Contains([]byte(wrong[0]), []byte("site-2 sent an offer")) {
		t.Errorf("found %q; want that site-2's offer arrived otherwise than it was sent", wrong)
	}
}
