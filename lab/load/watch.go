package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
)

// timed is an agent whose planning is timed.
type timed struct {
	runtime.Keeper
	bids *bids
}

// Step implements bus.Machine.
func (t *timed) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if _, ok := m.Body.(protocol.Call); !ok {
		return t.Keeper.Step(now, m)
	}
	began := time.Now()
	said := t.Keeper.Step(now, m)
	t.bids.add(time.Since(began))
	return said
}

// bids are how long sites plan for a call.
type bids struct {
	mu   sync.Mutex
	took []time.Duration
}

func (b *bids) add(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took = append(b.took, d)
}

func (b *bids) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took = b.took[:0]
}

// round returns how long the bids of n sites take on this machine's processors:
// the 99th percentile of the sums of n that came one after the other.
func (b *bids) round(n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var sums []time.Duration
	for some := range slices.Chunk(b.took, n) {
		sum, longest := time.Duration(0), slices.Max(some)
		for _, d := range some {
			sum += d
		}
		sums = append(sums, max(longest, sum/time.Duration(cores())))
	}
	if len(sums) == 0 {
		return 0
	}
	return spreadOf(sums).P99
}

// A length is the usual one of messages. The first many are measured: it takes
// time too.
type length struct{ messages, bytes atomic.Int64 }

const many = 200

func (l *length) add(m protocol.Message) {
	if l.messages.Load() < many {
		l.messages.Add(1)
		l.bytes.Add(size(m))
	}
}

func (l *length) mean() int { return int(l.bytes.Load() / max(1, l.messages.Load())) }

// seen is what the coordinator heard and said.
type seen struct {
	rounds, offers     atomic.Int64
	call, offer, entry length
}

func (f *federation) told(heard, said []protocol.Message) {
	for _, m := range heard {
		switch m.Body.(type) {
		case protocol.Offer:
			f.seen.offers.Add(1)
			f.seen.offer.add(m)
		case protocol.Submit:
			f.seen.entry.add(m)
		}
	}
	for _, m := range said {
		switch b := m.Body.(type) {
		case protocol.Call:
			f.seen.rounds.Add(1)
			f.seen.call.add(m)
		case protocol.Award:
			f.seen.entry.add(m)
			f.awards <- b.Job
		}
	}
}

func size(m protocol.Message) int64 {
	data, err := protocol.Encode(m)
	if err != nil {
		return 0 // it was heard, or is about to fail where it is sent
	}
	return int64(len(data))
}
