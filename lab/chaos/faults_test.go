package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

// A faultInjector injects faults into a testbed, and measures how long each takes
// until the federation has recovered.
type faultInjector struct {
	*testbed
	all sync.WaitGroup // faults that are not undone or not recovered from

	mu   sync.Mutex
	took map[string][]time.Duration // recovery times, by fault
}

func newFaultInjector(s *testbed) *faultInjector {
	return &faultInjector{testbed: s, took: make(map[string][]time.Duration)}
}

// A faultKind is one fault that can be injected. do injects it and returns how to undo
// it, and a condition that shows recovery.
type faultKind struct {
	name string
	do   func(*faultInjector, *rand.Rand) (undo func(), well func(since time.Time) bool)
}

// faultKinds are shuffled and used in turn, so that each occurs; faults of the leader
// occur twice in each turn, because failover is what matters most.
var faultKinds = []faultKind{
	{"kill the leader", (*faultInjector).leaderKilled}, {"kill the leader", (*faultInjector).leaderKilled},
	{"stop the leader", (*faultInjector).leaderStopped}, {"stop the leader", (*faultInjector).leaderStopped},
	{"kill the standby", processFault(kill, (*testbed).standby)},
	{"kill an agent", processFault(kill, (*testbed).someAgent)},
	{"stop an agent", processFault(stop, (*testbed).someAgent)},
	{"kill a leaf server", processFault(kill, (*testbed).someLeaf)},
	{"stop a leaf server", processFault(stop, (*testbed).someLeaf)},
	{"kill the hub", processFault(kill, (*testbed).theHub)},
	{"stop the hub", processFault(stop, (*testbed).theHub)},
	{"cut a site off", (*faultInjector).cutOff}, {"cut a site off", (*faultInjector).cutOff},
}

// do injects faults for a time, and returns when they are undone and recovered from.
func (h *faultInjector) do(long time.Duration, dice *rand.Rand) {
	var deck []faultKind
	var undone sync.WaitGroup
	for end := time.Now().Add(long); time.Now().Before(end); {
		if len(deck) == 0 {
			deck = slices.Clone(faultKinds)
			dice.Shuffle(len(deck), func(i, k int) { deck[i], deck[k] = deck[k], deck[i] })
		}
		e := deck[0]
		deck = deck[1:]
		since := time.Now()
		undo, well := e.do(h, dice)
		lasts := time.Duration(200+dice.IntN(5000)) * time.Millisecond
		undone.Go(func() {
			time.Sleep(lasts)
			undo()
		})
		h.all.Go(func() { h.measure(e.name, since.Add(lasts), since, well) })
		time.Sleep(time.Duration(300+dice.IntN(2000)) * time.Millisecond)
		if dice.IntN(3) > 0 {
			undone.Wait() // otherwise faults overlap
		}
	}
	undone.Wait()
	h.all.Wait()
}

// measure waits until a fault is recovered from. The time counts from the fault if
// other processes can take over, otherwise from when it was undone.
func (h *faultInjector) measure(name string, undone, done time.Time, well func(time.Time) bool) {
	from := undone
	if strings.Contains(name, "leader") {
		from = done
	}
	time.Sleep(time.Until(from))
	for ; !well(from); time.Sleep(50 * time.Millisecond) {
		if time.Since(from) > 3*time.Minute { // seconds are normal; a busy machine may be slow
			h.Errorf("%s: not got over in three minutes", name)
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took[name] = append(h.took[name], time.Since(from))
}

// String lists the faults with their recovery times.
func (h *faultInjector) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %5s %8s %8s\n", "got over", "times", "median", "longest")
	for _, name := range slices.Sorted(maps.Keys(h.took)) {
		if all := h.took[name]; len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(&b, "%-20s %5d %7.2fs %7.2fs\n", name, len(all), all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
		}
	}
	return b.String()
}

func kill(p *process) { p.kill() }
func stop(p *process) { p.stop() }

// processFault returns a fault of one process, which is restarted or continued when
// the fault is undone.
func processFault(what func(*process), who func(*testbed, *rand.Rand) (*process, func(time.Time) bool)) func(*faultInjector, *rand.Rand) (func(), func(time.Time) bool) {
	return func(h *faultInjector, dice *rand.Rand) (func(), func(time.Time) bool) {
		p, well := who(h.testbed, dice)
		what(p)
		return p.start, well
	}
}

func (h *faultInjector) leaderKilled(dice *rand.Rand) (func(), func(time.Time) bool) {
	return h.leaderless(kill)
}
func (h *faultInjector) leaderStopped(dice *rand.Rand) (func(), func(time.Time) bool) {
	return h.leaderless(stop)
}

func (h *faultInjector) leaderless(what func(*process)) (func(), func(time.Time) bool) {
	p := h.coordinators[max(h.leader(), 0)]
	what(p)
	return p.start, h.led
}

func (s *testbed) led(time.Time) bool { return s.leader() >= 0 }

func (s *testbed) standby(*rand.Rand) (*process, func(time.Time) bool) {
	i := (s.leader() + 1) % 2
	return s.coordinators[i], func(time.Time) bool {
		code, err := ask(s.apis[i], http.MethodGet, "/readyz", nil, nil)
		return err == nil && code == http.StatusOK
	}
}

func (s *testbed) someAgent(dice *rand.Rand) (*process, func(time.Time) bool) {
	i := dice.IntN(len(s.sites))
	return s.agents[i], s.heard(s.sites[i])
}

func (s *testbed) someLeaf(dice *rand.Rand) (*process, func(time.Time) bool) {
	i := dice.IntN(len(s.sites))
	return s.leaves[i], s.heard(s.sites[i])
}

func (s *testbed) theHub(*rand.Rand) (*process, func(time.Time) bool) { return s.hub, s.led }

func (h *faultInjector) cutOff(dice *rand.Rand) (func(), func(time.Time) bool) {
	i := dice.IntN(len(h.sites))
	h.lines[i].set(true)
	return func() { h.lines[i].set(false) }, h.heard(h.sites[i])
}

// heard returns a condition: the coordinator has received a message of the site since
// an instant.
func (s *testbed) heard(name string) func(time.Time) bool {
	return func(since time.Time) bool {
		var all []jobstatus.Site
		i := s.leader()
		if i < 0 {
			return false
		}
		_, err := ask(s.apis[i], http.MethodGet, "/v1/sites", nil, &all)
		return err == nil && slices.ContainsFunc(all, func(x jobstatus.Site) bool { return x.Name == name && x.LastMessage > protocol.FromStdTime(since) })
	}
}
