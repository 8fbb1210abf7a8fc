// Package loop lets parties live in simulated time, over a real bus.
//
// It owns a clock and nothing else. At each instant the machines that are due
// are told the time; what they say travels over the hub, each message on its
// speaker's own port, and is read at the other end; then whatever is said to
// that, until nobody has more to say. Machines that hear something at the same
// instant live side by side, but what was said is put in one order, by speaker
// and number. So the record does not depend on the bus, on the number of
// processors or on their speed.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/protocol"
)

// Config says how to replay. Zero functions are not called.
type Config struct {
	Start  protocol.Time
	Latest protocol.Time                // a replay that is not done by then is an error
	Done   func(now protocol.Time) bool // asked after each instant
	Record func(protocol.Message) error // told all that is said, in order
	Pace   func(now protocol.Time)      // called before each instant
	Wait   time.Duration                // for a message on the bus; default 30s
}

// ErrLate is a replay that is not done by the latest time.
var ErrLate = errors.New("not done")

// waves bounds how often parties may answer one another within an instant.
const waves = 100_000

// Run plays the stage on hub until done. It returns how many messages were
// said.
func Run(outer context.Context, hub bus.Hub, stage map[protocol.Party]bus.Machine, cfg Config) (said int, err error) {
	if cfg.Wait == 0 {
		cfg.Wait = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	r := &run{
		cfg: cfg, parties: slices.Sorted(maps.Keys(stage)), stage: stage,
		ports: make(map[protocol.Party]bus.Port), ears: make(map[protocol.Party]*protocol.Ears),
	}
	defer func() {
		// Whoever notices first that ctx ended, the answer is that it did.
		if cause := context.Cause(outer); err != nil && cause != nil {
			err = fmt.Errorf("replay: stopped: %w", cause)
		}
		for _, who := range r.parties {
			if p := r.ports[who]; p != nil {
				_ = p.Close() // the replay is over either way
			}
		}
	}()
	for _, who := range r.parties {
		if r.ports[who], err = hub.Join(ctx, who); err != nil {
			return 0, fmt.Errorf("replay: %w", err)
		}
		r.ears[who] = new(protocol.Ears)
	}
	err = r.play(ctx)
	return r.said, err
}

type run struct {
	cfg     Config
	parties []protocol.Party
	stage   map[protocol.Party]bus.Machine
	ports   map[protocol.Party]bus.Port
	ears    map[protocol.Party]*protocol.Ears // a bus may carry a message twice
	said    int
}

func (r *run) play(ctx context.Context) error {
	for now := r.cfg.Start; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.cfg.Pace != nil {
			r.cfg.Pace(now)
		}
		if err := r.instant(ctx, now); err != nil {
			return err
		}
		if r.cfg.Done != nil && r.cfg.Done(now) {
			return nil
		}
		next := r.due()
		switch {
		case next == 0:
			return nil
		case next > r.cfg.Latest && r.cfg.Latest != 0:
			return fmt.Errorf("replay: %w by %v; the next thing due is at %v", ErrLate, r.cfg.Latest, next)
		}
		now = max(next, now+1)
	}
}

// due returns when the first machine is due, or 0.
func (r *run) due() (first protocol.Time) {
	for _, who := range r.parties {
		if d := r.stage[who].Due(); d != 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}

// instant lets all happen that happens at now.
func (r *run) instant(ctx context.Context, now protocol.Time) error {
	var mail []protocol.Message
	for range waves {
		if len(mail) == 0 {
			for _, who := range r.parties {
				if d := r.stage[who].Due(); d != 0 && d <= now {
					mail = append(mail, r.stage[who].Tick(now)...)
				}
			}
		}
		if len(mail) == 0 {
			return nil
		}
		heard, err := r.carry(ctx, mail)
		if err != nil {
			return err
		}
		mail = r.step(now, heard)
	}
	return fmt.Errorf("replay: at %v the parties never fall silent", now)
}

// carry records messages, says them on the hub, and returns what each party
// heard, in the order in which it was said.
func (r *run) carry(ctx context.Context, mail []protocol.Message) (map[protocol.Party][]protocol.Message, error) {
	expect := make(map[protocol.Party]int)
	for i, m := range mail {
		if r.cfg.Record != nil {
			if err := r.cfg.Record(m); err != nil {
				return nil, fmt.Errorf("replay: record: %w", err)
			}
		}
		r.said++
		for _, who := range r.parties {
			if who.Hears(m) {
				expect[who]++
			}
		}
		// What one party says in a row goes out together.
		if i+1 == len(mail) || mail[i+1].From != m.From {
			first := i
			for first > 0 && mail[first-1].From == m.From {
				first--
			}
			port := r.ports[m.From]
			if port == nil {
				return nil, fmt.Errorf("replay: somebody speaks as %q, who is not on stage", m.From)
			}
			if err := port.Say(ctx, mail[first:i+1]...); err != nil {
				return nil, fmt.Errorf("replay: %s: %w", m.From, err)
			}
		}
	}
	heard := make(map[protocol.Party][]protocol.Message, len(expect))
	late := time.NewTimer(r.cfg.Wait)
	defer late.Stop()
	for _, who := range slices.Sorted(maps.Keys(expect)) {
		in := make([]protocol.Message, 0, expect[who])
		for len(in) < expect[who] {
			select {
			case m, ok := <-r.ports[who].Heard():
				if !ok {
					return nil, fmt.Errorf("replay: the bus closed the port of %s", who)
				}
				if r.ears[who].New(m) {
					in = append(in, m)
				}
			case <-late.C:
				return nil, fmt.Errorf("replay: %s heard %d of %d messages within %v", who, len(in), expect[who], r.cfg.Wait)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		slices.SortStableFunc(in, func(x, y protocol.Message) int {
			return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Seq, y.Seq))
		})
		heard[who] = in
	}
	return heard, nil
}

// step lets every party live that heard something, side by side, and returns
// what they say, in order of the parties' names.
func (r *run) step(now protocol.Time, heard map[protocol.Party][]protocol.Message) []protocol.Message {
	names := slices.Sorted(maps.Keys(heard))
	answers := make([][]protocol.Message, len(names))
	live := func(i int) {
		for _, m := range heard[names[i]] {
			answers[i] = append(answers[i], r.stage[names[i]].Step(now, m)...)
		}
	}
	if len(names) < 2 || runtime.GOMAXPROCS(0) == 1 {
		for i := range names {
			live(i)
		}
		return slices.Concat(answers...)
	}
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() { live(i) })
	}
	wg.Wait()
	return slices.Concat(answers...)
}
