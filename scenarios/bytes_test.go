package scenarios

import (
	"context"
	"crypto/sha256"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// told plays a scenario and returns its messages and a hash of their encoded bytes.
func told(t testing.TB, s spec.Scenario, policy string, hub bus.Bus) ([]protocol.Message, [32]byte) {
	t.Helper()
	var said []protocol.Message
	sum := sha256.New()
	_, err := Replay(t.Context(), s, policy, hub, Options{Record: func(m protocol.Message) error {
		said = append(said, m)
		b, err := protocol.Encode(m)
		sum.Write(b)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return said, [32]byte(sum.Sum(nil))
}

// The record of a run depends on its scenario and policy alone: not on the bus,
// nor on the number of processors, nor on which of two runs it is.
func TestARunHasTheSameBytesOnAnyBusAndAnyNumberOfProcessors(t *testing.T) {
	server, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	s := small(24)
	for _, policy := range []string{PolicyAuction, "auction/learned", PolicyGreensched, "random"} {
		var first [32]byte
		for i, on := range []struct {
			name  string
			procs int
			hub   bus.Bus
		}{
			{"in memory, one processor", 1, new(membus.Bus)},
			{"in memory, two processors", 2, new(membus.Bus)},
			{"in memory, eight threads", 8, new(membus.Bus)},
			{"over NATS, one processor", 1, &server.Bus},
			{"over NATS, two processors", 2, &server.Bus},
		} {
			runtime.GOMAXPROCS(on.procs)
			said, sum := told(t, s, policy, on.hub)
			if i == 0 {
				first = sum
			}
			if sum != first || len(said) < 1000 {
				t.Errorf("%s, %s: %d messages, %x; in memory, one processor: %x", policy, on.name, len(said), sum[:4], first[:4])
			}
		}
	}
	if c := server.DeliveryCounts(); c.Forged+c.Unreadable+c.UnknownKind+c.Slow != 0 {
		t.Errorf("NATS dropped messages: %+v", c)
	}
}

func TestARunThatIsStoppedSaysSoOnAnyBus(t *testing.T) {
	server, err := natsbus.StartServer(natsbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for name, hub := range map[string]bus.Bus{"in memory": new(membus.Bus), "over NATS": &server.Bus} {
		for _, after := range []int{1, 20, 333} {
			ctx, stop := context.WithCancel(t.Context())
			n := 0
			_, err := Replay(ctx, small(10), "home-fifo", hub, Options{Record: func(protocol.Message) error {
				if n++; n == after {
					stop()
				}
				return nil
			}})
			if stop(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, after %d messages: error %v", name, after, err)
			}
		}
	}
}

func TestAScenarioWithAJobTwiceIsRefused(t *testing.T) {
	s := small(3)
	s.Jobs[2].ID = s.Jobs[0].ID
	if _, err := BuildTestbed(s, PolicyAuction); err == nil || !strings.Contains(err.Error(), "job-0000") {
		t.Errorf("error %v, want one that names the job", err)
	}
}

// Another seed is another run: the bytes above are not equal for being empty.
func TestAnotherSeedHasOtherBytes(t *testing.T) {
	s := small(20)
	_, first := told(t, s, "home-fifo", new(membus.Bus))
	s.Seed++
	if _, second := told(t, s, "home-fifo", new(membus.Bus)); first == second {
		t.Error("the true draw of jobs does not depend on the seed")
	}
}
