package scenarios_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/acceptance"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// J1 and E1 in small: gangs of a few minutes. Times have bounds that a busy machine keeps, too.
const liveCase = `name: live
start: 2026-01-05T00:00:00Z
sites:
  - name: west
    region: {price: {mean: 20, swing: 0}, carbon: {mean: 50, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 2, model: A100, gpus: 3, cpu: 64, memory: 512}]
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 2, model: A100, gpus: 4, cpu: 64, memory: 512}]
jobs:
  list:
    - {id: gang, components: [{pods: 8, gpus: 1, cpu: 2, memory: 8}], run: 4m, within: 12h, urgency: now}
    - {id: too-wide, components: [{pods: 9, gpus: 1, cpu: 2, memory: 8}], run: 4m, within: 12h, urgency: now}
expect:
  - {job: gang, placed: {site: WHERE, by: 1h}}
  - {job: gang, nodes: 2}
  - {job: gang, ends: {as: done}}
  - {job: too-wide, refused: {why: fits-no-node, by: 2h}}
`

func TestACaseHoldsLive(t *testing.T) {
	for where, failing := range map[string]int{"east": 0, "west": 1} {
		verdicts := judgeLive(t, strings.Replace(liveCase, "WHERE", where, 1), 60, func(server bus.Bus) bus.Bus { return server })
		failed := 0
		for _, v := range verdicts {
			if !v.Holds() {
				failed++
				t.Logf("%s; %s", v.Expected, v.Got)
			}
		}
		if failed != failing || len(verdicts) != 4 {
			t.Errorf("expected at %s, %d of %d expectations fail; want %d of 4", where, failed, len(verdicts), failing)
		}
	}
}

// lateCase has a job that only east runs, which falls silent a second and a half after the clock begins.
const lateCase = `name: late
start: 2026-01-05T00:00:00Z
sites:
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 2, model: A100, gpus: 4, cpu: 64, memory: 512}]
jobs:
  list:
    - {id: early, gpus: 1, cpu: 2, memory: 8, run: 1m, within: 12h, urgency: now}
events:
  - {at: 30s, silent: east, for: 1m}
expect:
  - {job: early, placed: {by: 30s}}
`

// A lateBus has agents say nothing for a while after they are connected.
type lateBus struct{ bus.Bus }

// Connect implements bus.Bus.
func (b lateBus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	conn, err := b.Bus.Connect(ctx, who)
	if who == protocol.AgentParty("east") {
		conn = &lateConn{Conn: conn, from: time.Now().Add(2500 * time.Millisecond)}
	}
	return conn, err
}

type lateConn struct {
	bus.Conn
	from time.Time
}

// Send implements bus.Conn.
func (c *lateConn) Send(ctx context.Context, ms ...protocol.Message) error {
	time.Sleep(time.Until(c.from))
	return c.Conn.Send(ctx, ms...)
}

// A slowBus has what an agent says take a fifth of a second each time, as of a process that waits for its turn on a
// busy machine.
type slowBus struct{ bus.Bus }

// Connect implements bus.Bus.
func (b slowBus) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	conn, err := b.Bus.Connect(ctx, who)
	if who == protocol.AgentParty("east") {
		conn = slowConn{conn}
	}
	return conn, err
}

type slowConn struct{ bus.Conn }

// Send implements bus.Conn.
func (c slowConn) Send(ctx context.Context, ms ...protocol.Message) error {
	time.Sleep(200 * time.Millisecond)
	return c.Conn.Send(ctx, ms...)
}

// At 300 times a fifth of a second is a minute, and a job starts after three messages of its agent.
func TestTheClockOfALiveCaseWaitsForWhoIsLate(t *testing.T) {
	verdicts := judgeLive(t, strings.NewReplacer("by: 30s", "by: 90s", "events:\n  - {at: 30s, silent: east, for: 1m}\n", "").Replace(lateCase), 300, func(server bus.Bus) bus.Bus { return slowBus{server} })
	if len(verdicts) != 1 || !verdicts[0].Holds() {
		t.Errorf("%+v", verdicts)
	}
}

// judgeLive plays a case in this process.
func judgeLive(t *testing.T, text string, speed float64, over func(bus.Bus) bus.Bus) []acceptance.Verdict {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.LoadScenario(file, spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	verdicts, _, err := scenarios.JudgeLive(t.Context(), s, scenarios.PolicyAuction, over(server), speed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// A process may take seconds to join on a busy machine: what a case has happen in its first minute waits for it.
func TestTheClockOfALiveCaseWaitsUntilAllSitesHaveJoined(t *testing.T) {
	verdicts := judgeLive(t, lateCase, 20, func(server bus.Bus) bus.Bus { return lateBus{server} })
	if len(verdicts) != 1 || !verdicts[0].Holds() {
		t.Errorf("%+v", verdicts)
	}
}
