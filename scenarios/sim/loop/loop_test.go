package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// A puppet is a machine controlled by a test. Its messages name the senders it received
// messages from, which shows the order of receipt.
type puppet struct {
	mouth protocol.Sender
	due   []protocol.Time // when it speaks to everyone
	echo  func(protocol.Message) protocol.Party
	heard []protocol.Message
	times []protocol.Time
}

func (p *puppet) Due() protocol.Time {
	if len(p.due) == 0 {
		return 0
	}
	return p.due[0]
}

func (p *puppet) Tick(now protocol.Time) []protocol.Message {
	p.due = p.due[1:]
	return []protocol.Message{p.mouth.NewMessage(now, "", protocol.Reject{Job: "tick"})}
}

func (p *puppet) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	p.heard, p.times = append(p.heard, m), append(p.times, now)
	if p.echo == nil {
		return nil
	}
	to := p.echo(m)
	if to == p.mouth.Party {
		return nil
	}
	return []protocol.Message{p.mouth.NewMessage(now, to, protocol.Reject{Job: protocol.JobID(m.From)})}
}

func stageOf(ps ...*puppet) map[protocol.Party]bus.Machine {
	stage := make(map[protocol.Party]bus.Machine)
	for _, p := range ps {
		stage[p.mouth.Party] = p
	}
	return stage
}

func named(who protocol.Party, due ...protocol.Time) *puppet {
	return &puppet{mouth: protocol.Sender{Party: who}, due: due}
}

func TestTimeGoesFromOneDueToTheNext(t *testing.T) {
	a, b := named("agent/a", noon.Add(time.Hour), noon.Add(3*time.Hour)), named("agent/b", noon.Add(2*time.Hour))
	var instants []protocol.Time
	said, err := Run(t.Context(), new(membus.Bus), stageOf(a, b), Config{Start: noon, Pace: func(now protocol.Time) { instants = append(instants, now) }})
	want := []protocol.Time{noon, noon.Add(time.Hour), noon.Add(2 * time.Hour), noon.Add(3 * time.Hour)}
	if err != nil || said != 3 || !slices.Equal(instants, want) {
		t.Errorf("said %d at %v, %v", said, instants, err)
	}
	if len(b.heard) != 2 || b.times[1] != want[3] {
		t.Errorf("b heard %v at %v", b.heard, b.times)
	}
}

// A silent machine has work at some times, and says nothing.
type silent struct {
	due   []protocol.Time
	asked int // how often it was asked when it is due
	ticks int
}

func (q *silent) Due() protocol.Time {
	q.asked++
	if len(q.due) == 0 {
		return 0
	}
	return q.due[0]
}

func (q *silent) Tick(protocol.Time) []protocol.Message {
	q.due, q.ticks = q.due[1:], q.ticks+1
	return nil
}

func (q *silent) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }

// A machine to which nothing happens is not asked at each instant when it is due: with a thousand
// sites most have nothing to do at most instants. One whose work was ended from outside is not
// ticked: see Config.Done.
func TestIdleMachinesAreNotAskedAgain(t *testing.T) {
	working, idle, stopped := new(silent), &silent{due: []protocol.Time{noon.Add(90 * time.Minute)}}, &silent{due: []protocol.Time{noon.Add(95 * time.Minute)}}
	for i := range 100 {
		working.due = append(working.due, noon.Add(time.Duration(i+1)*time.Minute))
	}
	stage := map[protocol.Party]bus.Machine{"agent/a": working, "agent/b": idle, "agent/c": stopped}
	_, err := Run(t.Context(), new(membus.Bus), stage, Config{Start: noon, Done: func(now protocol.Time) bool {
		if now == noon.Add(50*time.Minute) {
			stopped.due = nil
		}
		return false
	}})
	if err != nil || working.ticks != 100 || idle.ticks != 1 || stopped.ticks != 0 {
		t.Fatalf("%d, %d and %d ticks, %v; want 100, 1 and 0", working.ticks, idle.ticks, stopped.ticks, err)
	}
	if idle.asked > 10 {
		t.Errorf("a machine with one time of work in 100 instants was asked %d times when it is due", idle.asked)
	}
}

// Messages of one instant are received in one order, however fast their senders are.
func TestWhatIsSaidAtOnceIsHeardBySpeakerAndNumber(t *testing.T) {
	for range 20 {
		ear := named("submitter")
		stage := stageOf(ear)
		for _, n := range []protocol.Party{"agent/d", "agent/b", "agent/c", "agent/a"} {
			p := named(n, noon, noon)
			p.echo = func(m protocol.Message) protocol.Party {
				if m.Body.(protocol.Reject).Job == "tick" {
					return "submitter"
				}
				return p.mouth.Party
			}
			stage[n] = p
		}
		if _, err := Run(t.Context(), new(membus.Bus), stage, Config{Start: noon}); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, m := range ear.heard {
			order = append(order, fmt.Sprint(m.From, m.Seq))
		}
		want := "agent/a1 agent/b1 agent/c1 agent/d1 agent/a2 agent/a3 agent/a4 agent/b2 agent/b3 agent/b4 " +
			"agent/c2 agent/c3 agent/c4 agent/d2 agent/d3 agent/d4"
		if got := strings.Join(order, " "); !strings.HasPrefix(got, want) {
			t.Fatalf("heard\n%s, want\n%s", got, want)
		}
	}
}

// A hub of tests stands before a real one and does harm.
type hub struct {
	bus.Bus
	lose   func(protocol.Message) bool
	double bool
	shut   protocol.Party
	slow   protocol.Party // what it says comes a little later
}

type port struct {
	bus.Conn
	hub *hub
	who protocol.Party
}

func (h *hub) Connect(ctx context.Context, who protocol.Party) (bus.Conn, error) {
	p, err := h.Bus.Connect(ctx, who)
	if who == h.shut && err == nil {
		err = p.Close()
	}
	return port{p, h, who}, err
}

func (p port) Send(ctx context.Context, ms ...protocol.Message) error {
	if p.who == p.hub.slow {
		go func() {
			time.Sleep(2 * time.Millisecond)
			_ = p.Conn.Send(ctx, ms...)
		}()
		return nil
	}
	for _, m := range ms {
		if p.hub.lose != nil && p.hub.lose(m) {
			continue
		}
		if err := p.Conn.Send(ctx, m); err != nil {
			return err
		}
		if p.hub.double {
			if err := p.Conn.Send(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func talk() map[protocol.Party]bus.Machine {
	a, b, c := named("agent/a", noon, noon.Add(time.Hour)), named("agent/b", noon.Add(time.Hour)), named("agent/c")
	c.echo = func(m protocol.Message) protocol.Party { return m.From }
	return stageOf(a, b, c)
}

func record(t *testing.T, h bus.Bus) (said []protocol.Message) {
	t.Helper()
	_, err := Run(t.Context(), h, talk(), Config{Start: noon, Record: func(m protocol.Message) error {
		said = append(said, m)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func TestABusThatSaysAllTwiceChangesNothing(t *testing.T) {
	once, twice := record(t, new(membus.Bus)), record(t, &hub{Bus: new(membus.Bus), double: true})
	if fmt.Sprint(once) != fmt.Sprint(twice) || len(once) != 6 {
		t.Errorf("once\n%v\ntwice\n%v", once, twice)
	}
}

func TestABusThatIsSlowForSomeChangesNothing(t *testing.T) {
	both := func(h bus.Bus) (heard []protocol.Message) {
		ear := named("submitter")
		stage := stageOf(ear, named("agent/a", noon, noon.Add(time.Hour)), named("agent/b", noon, noon.Add(time.Hour)))
		if _, err := Run(t.Context(), h, stage, Config{Start: noon}); err != nil {
			t.Fatal(err)
		}
		return ear.heard
	}
	usual, slow := both(new(membus.Bus)), both(&hub{Bus: new(membus.Bus), slow: "agent/a"})
	if fmt.Sprint(usual) != fmt.Sprint(slow) || len(usual) != 4 {
		t.Errorf("heard\n%v, and with a slow agent/a\n%v", usual, slow)
	}
}

func TestABusThatLosesAMessageIsAnError(t *testing.T) {
	h := &hub{Bus: new(membus.Bus), lose: func(m protocol.Message) bool { return m.From == "agent/c" && m.Seq == 2 }}
	_, err := Run(t.Context(), h, talk(), Config{Start: noon, Wait: 2 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "received 0 of 1") {
		t.Errorf("error %v, want the receiver and the number of messages", err)
	}
}

func TestABusThatClosesAPortIsAnError(t *testing.T) {
	_, err := Run(t.Context(), &hub{Bus: new(membus.Bus), shut: "agent/c"}, talk(), Config{Start: noon})
	if err == nil || !strings.Contains(err.Error(), "agent/c") {
		t.Errorf("error %v, want one about agent/c", err)
	}
}

func TestPartiesThatNeverFallSilentAreAnError(t *testing.T) {
	for name, stage := range map[string]map[protocol.Party]bus.Machine{
		"they answer one another": func() map[protocol.Party]bus.Machine {
			a, b := named("agent/a", noon), named("agent/b")
			a.echo = func(protocol.Message) protocol.Party { return "agent/b" }
			b.echo = func(protocol.Message) protocol.Party { return "agent/a" }
			return stageOf(a, b)
		}(),
		"one is due for ever": {"agent/a": &pest{protocol.Sender{Party: "agent/a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), new(membus.Bus), stage, Config{Start: noon})
			if err == nil || !strings.Contains(err.Error(), "still answer one another") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A pest is always due.
type pest struct{ protocol.Sender }

func (p *pest) Due() protocol.Time                                      { return noon }
func (p *pest) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
func (p *pest) Tick(now protocol.Time) []protocol.Message {
	return []protocol.Message{p.NewMessage(now, "", protocol.Reject{})}
}

func TestAMachineThatSpeaksAsAnotherIsAnError(t *testing.T) {
	a := named("agent/a", noon)
	for _, name := range []protocol.Party{"agent/b", "agent/nobody"} {
		a.due, a.mouth.Party = []protocol.Time{noon}, name
		stage := map[protocol.Party]bus.Machine{"agent/a": a}
		if _, err := Run(t.Context(), new(membus.Bus), stage, Config{Start: noon}); err == nil || !strings.Contains(err.Error(), string(name)) {
			t.Errorf("error %v, want one about %s", err, name)
		}
	}
}

func TestAReplayThatIsNotDoneInTimeIsAnError(t *testing.T) {
	a := named("agent/a", noon, noon.Add(time.Hour))
	_, err := Run(t.Context(), new(membus.Bus), stageOf(a), Config{Start: noon, Latest: noon.Add(time.Minute)})
	if err == nil || !strings.Contains(err.Error(), "13:00:00") {
		t.Errorf("error %v, want when the next thing is due", err)
	}
}

func TestAReplayEndsWhenItIsDone(t *testing.T) {
	a := named("agent/a", noon, noon.Add(time.Hour), noon.Add(2*time.Hour))
	said, err := Run(t.Context(), new(membus.Bus), stageOf(a), Config{Start: noon, Done: func(now protocol.Time) bool { return now > noon }})
	if err != nil || said != 2 {
		t.Errorf("said %d, %v", said, err)
	}
}

func TestARecordThatFailsEndsTheReplay(t *testing.T) {
	full := errors.New("disk is full")
	_, err := Run(t.Context(), new(membus.Bus), talk(), Config{Start: noon, Record: func(protocol.Message) error { return full }})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// Whenever the context ends, the replay returns that as its error.
func TestAReplayThatIsStoppedSaysSo(t *testing.T) {
	for stop := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := Run(ctx, new(membus.Bus), talk(), Config{Start: noon, Record: func(protocol.Message) error {
			if n++; n > stop {
				cancel()
			}
			return nil
		}})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at message %d: error %v", stop, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, new(membus.Bus), talk(), Config{Start: noon}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped before it began: error %v", err)
	}
}
