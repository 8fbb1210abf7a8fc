package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
)

// timedAgent measures how long an agent computes bids.
type timedAgent struct {
	runtime.PersistentParty
	bids *bidTimes
}

// Step implements bus.Machine.
func (t *timedAgent) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if _, ok := m.Body.(protocol.CallForBids); !ok {
		return t.PersistentParty.Step(now, m)
	}
	began := time.Now()
	sent := t.PersistentParty.Step(now, m)
	t.bids.addTime(time.Since(began))
	return sent
}

// bidTimes collects the times to compute bids.
type bidTimes struct {
	mu        sync.Mutex
	durations []time.Duration
}

// addTime adds one time.
func (b *bidTimes) addTime(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.durations = append(b.durations, d)
}

// clearTimes drops the measurements, such as those of the warm-up.
func (b *bidTimes) clearTimes() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.durations = b.durations[:0]
}

// roundTime returns the time that the bids of n sites take on this machine's processors:
// the 99th percentile over groups of n consecutive bids.
func (b *bidTimes) roundTime(n int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var sums []time.Duration
	for some := range slices.Chunk(b.durations, n) {
		sum, longest := time.Duration(0), slices.Max(some)
		for _, d := range some {
			sum += d
		}
		sums = append(sums, max(longest, sum/time.Duration(cpuCount())))
	}
	if len(sums) == 0 {
		return 0
	}
	return latencySpreadOf(sums).P99
}

// A meanLength is the mean length of messages, over the first many ones: measuring takes
// time, too.
type meanLength struct{ messages, bytes atomic.Int64 }

const maxMeasuredMessages = 200

// measureMessage measures a message, unless enough were measured.
func (l *meanLength) measureMessage(m protocol.Message) {
	if l.messages.Load() < maxMeasuredMessages {
		l.messages.Add(1)
		l.bytes.Add(encodedSize(m))
	}
}

// meanBytes returns the mean length in bytes.
func (l *meanLength) meanBytes() int { return int(l.bytes.Load() / max(1, l.messages.Load())) }

// trafficCounts has statistics of what the coordinator received and sent.
type trafficCounts struct {
	rounds, offers     atomic.Int64
	call, offer, entry meanLength
}

// countRounds counts the calls that were sent.
func (c *trafficCounts) countRounds(sent []protocol.Message) {
	for _, m := range sent {
		if _, called := m.Body.(protocol.CallForBids); called {
			c.rounds.Add(1)
		}
	}
}

// countTraffic counts rounds and bids, notes phases of the current job, and forwards awards to
// the waiting measurement.
func (f *loadFederation) countTraffic(received, sent []protocol.Message) {
	if c := f.settling.Load(); c != nil {
		f.seen.countRounds(sent)
		c.observe(received, sent)
		return
	}
	f.stages.observeSent(sent)
	for _, m := range received {
		switch m.Body.(type) {
		case protocol.Bids:
			f.seen.offers.Add(1)
			f.seen.offer.measureMessage(m)
		case protocol.Submit:
			f.seen.entry.measureMessage(m)
		}
	}
	f.seen.countRounds(sent)
	for _, m := range sent {
		switch b := m.Body.(type) {
		case protocol.CallForBids:
			f.seen.call.measureMessage(m)
		case protocol.Award:
			f.seen.entry.measureMessage(m)
			f.awards <- b.Job
		}
	}
}

// encodedSize returns the encoded length of a message in bytes.
func encodedSize(m protocol.Message) int64 {
	data, err := protocol.Encode(m)
	if err != nil {
		return 0 // the error is reported where the message is sent
	}
	return int64(len(data))
}
