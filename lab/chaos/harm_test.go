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

// A harm does bad things to a stage, and measures how long it takes until all is
// well again.
type harm struct {
	*stage
	all sync.WaitGroup // what is not yet made good or got over

	mu   sync.Mutex
	took map[string][]time.Duration // until it was got over, by what was done
}

func newHarm(s *stage) *harm { return &harm{stage: s, took: make(map[string][]time.Duration)} }

// An evil is one thing that can be done. It returns what it was done to, how it is
// made good, and how it shows that all is well again.
type evil struct {
	name string
	do   func(*harm, *rand.Rand) (undo func(), well func(since time.Time) bool)
}

// evils are dealt like cards, so that each comes up; who leads is what matters
// most.
var evils = []evil{
	{"kill the leader", (*harm).leaderKilled}, {"kill the leader", (*harm).leaderKilled},
	{"stop the leader", (*harm).leaderStopped}, {"stop the leader", (*harm).leaderStopped},
	{"kill the standby", harmed(kill, (*stage).standby)},
	{"kill an agent", harmed(kill, (*stage).someAgent)},
	{"stop an agent", harmed(stop, (*stage).someAgent)},
	{"kill a leaf server", harmed(kill, (*stage).someLeaf)},
	{"stop a leaf server", harmed(stop, (*stage).someLeaf)},
	{"kill the hub", harmed(kill, (*stage).theHub)},
	{"stop the hub", harmed(stop, (*stage).theHub)},
	{"cut a site off", (*harm).cutOff}, {"cut a site off", (*harm).cutOff},
}

// do does harm for a time, and returns when it is made good.
func (h *harm) do(long time.Duration, dice *rand.Rand) {
	var deck []evil
	var undone sync.WaitGroup
	for end := time.Now().Add(long); time.Now().Before(end); {
		if len(deck) == 0 {
			deck = slices.Clone(evils)
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
			undone.Wait() // else things go wrong together
		}
	}
	undone.Wait()
	h.all.Wait()
}

// measure waits until what was done is got over. That counts from when it was
// done, if others can take over, and else from when it was made good.
func (h *harm) measure(name string, undone, done time.Time, well func(time.Time) bool) {
	from := undone
	if strings.Contains(name, "leader") {
		from = done
	}
	time.Sleep(time.Until(from))
	for ; !well(from); time.Sleep(50 * time.Millisecond) {
		if time.Since(from) > 3*time.Minute { // what is wanted is seconds; a busy machine may be late
			h.Errorf("%s: not got over in three minutes", name)
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took[name] = append(h.took[name], time.Since(from))
}

// String tells what was done, and how long it took to get over it.
func (h *harm) String() string {
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

// harmed does something to a process, which is started or goes on after a while.
func harmed(what func(*process), who func(*stage, *rand.Rand) (*process, func(time.Time) bool)) func(*harm, *rand.Rand) (func(), func(time.Time) bool) {
	return func(h *harm, dice *rand.Rand) (func(), func(time.Time) bool) {
		p, well := who(h.stage, dice)
		what(p)
		return p.start, well
	}
}

func (h *harm) leaderKilled(dice *rand.Rand) (func(), func(time.Time) bool) {
	return h.leaderless(kill)
}
func (h *harm) leaderStopped(dice *rand.Rand) (func(), func(time.Time) bool) {
	return h.leaderless(stop)
}

func (h *harm) leaderless(what func(*process)) (func(), func(time.Time) bool) {
	p := h.coordinators[max(h.leader(), 0)]
	what(p)
	return p.start, h.led
}

func (s *stage) led(time.Time) bool { return s.leader() >= 0 }

func (s *stage) standby(*rand.Rand) (*process, func(time.Time) bool) {
	i := (s.leader() + 1) % 2
	return s.coordinators[i], func(time.Time) bool {
		code, err := ask(s.desks[i], http.MethodGet, "/readyz", nil, nil)
		return err == nil && code == http.StatusOK
	}
}

func (s *stage) someAgent(dice *rand.Rand) (*process, func(time.Time) bool) {
	i := dice.IntN(len(s.sites))
	return s.agents[i], s.heard(s.sites[i])
}

func (s *stage) someLeaf(dice *rand.Rand) (*process, func(time.Time) bool) {
	i := dice.IntN(len(s.sites))
	return s.leaves[i], s.heard(s.sites[i])
}

func (s *stage) theHub(*rand.Rand) (*process, func(time.Time) bool) { return s.hub, s.led }

func (h *harm) cutOff(dice *rand.Rand) (func(), func(time.Time) bool) {
	i := dice.IntN(len(h.sites))
	h.lines[i].set(true)
	return func() { h.lines[i].set(false) }, h.heard(h.sites[i])
}

// heard says whether the coordinator has heard a site since some time.
func (s *stage) heard(name string) func(time.Time) bool {
	return func(since time.Time) bool {
		var all []jobstatus.Site
		i := s.leader()
		if i < 0 {
			return false
		}
		_, err := ask(s.desks[i], http.MethodGet, "/v1/sites", nil, &all)
		return err == nil && slices.ContainsFunc(all, func(x jobstatus.Site) bool { return x.Name == name && x.LastMessage > protocol.FromStdTime(since) })
	}
}
