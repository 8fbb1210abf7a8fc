package serviceday

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Figures are what a row did on one day, from an hour after its start on: all begin with no replica.
type Figures struct {
	Attained     float64 `json:"attained"` // part of the requests within the class
	ReplicaHours float64 `json:"replica_hours"`
	GPUHours     float64 `json:"gpu_hours"` // with those that start and drain
	KWh          float64 `json:"kwh"`
	Kg           float64 `json:"kg"`
	USD          float64 `json:"usd"`       // of the energy
	TotalUSD     float64 `json:"total_usd"` // and of the carbon at its price
	Moves        int     `json:"moves"`
	ColdStarts   int     `json:"cold_starts"`
	MissingHours float64 `json:"missing_replica_hours"` // wanted, and not serving
	RTT          float64 `json:"rtt_ms"`                // mean over requests
	JobsUSD      float64 `json:"jobs_usd"`              // objective of the batch jobs
	Late         int     `json:"late"`                  // batch jobs
}

// Settled is the minute from which days count.
const settled = 60

// A siteLog is what happened to the replicas of a site.
type siteLog struct {
	listed  map[int]bool // that the executor was told to run
	serving map[int]bool
	// present, ready and draining are sums over replicas of the ms in each minute of the day.
	present, ready, draining []float64
	at                       protocol.Time
}

// A recorder follows the replicas of the service from the messages of a replay.
type recorder struct {
	day    *Day
	sites  []*siteLog
	index  map[string]int
	starts int
	moves  int
}

// newRecorder returns a recorder of a day.
func newRecorder(d *Day) *recorder {
	r := &recorder{day: d, index: make(map[string]int)}
	for i, site := range d.Scenario.Sites {
		r.index[site.Name] = i
		n := len(d.counts)
		r.sites = append(r.sites, &siteLog{
			listed: make(map[int]bool), serving: make(map[int]bool),
			present: make([]float64, n), ready: make([]float64, n), draining: make([]float64, n), at: d.Scenario.Start,
		})
	}
	return r
}

// add takes in a message.
func (r *recorder) add(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.RunReplicas:
		i, ok := r.index[m.From.SiteName()]
		if !ok || b.Service.ID != serviceID {
			return
		}
		x := r.sites[i]
		r.advance(x, m.At)
		next := make(map[int]bool, len(b.Replicas))
		for _, p := range b.Replicas {
			if next[p.Number] = true; !x.listed[p.Number] && m.At >= r.day.minuteAt(settled) {
				r.starts++
			}
		}
		for n := range x.listed {
			if !next[n] {
				r.spread(x.draining, m.At, m.At+drainSeconds*1000)
				delete(x.serving, n)
			}
		}
		x.listed = next
	case protocol.ReplicasRunning:
		i, ok := r.index[m.From.SiteName()]
		if !ok || b.Service != serviceID {
			return
		}
		x := r.sites[i]
		r.advance(x, m.At)
		clear(x.serving)
		for _, n := range b.Running {
			x.serving[n] = x.listed[n]
		}
	case protocol.ServiceDivision:
		if b.Preview || b.Deleted || b.Service != serviceID || m.At < r.day.minuteAt(settled) {
			return
		}
		in, out := 0, 0
		for _, s := range b.Sites {
			in += max(s.Count-s.Before, 0)
			out += max(s.Before-s.Count, 0)
		}
		r.moves += min(in, out)
	}
}

// advance adds what a site has had since its last change.
func (r *recorder) advance(x *siteLog, now protocol.Time) {
	if now <= x.at {
		return
	}
	serving := 0
	for _, on := range x.serving {
		if on {
			serving++
		}
	}
	r.spreadTimes(x.present, x.at, now, float64(len(x.listed)))
	r.spreadTimes(x.ready, x.at, now, float64(serving))
	x.at = now
}

// spread adds a span of one replica to the minutes in which it lies.
func (r *recorder) spread(to []float64, from, until protocol.Time) { r.spreadTimes(to, from, until, 1) }

// spreadTimes adds a span of so many replicas to the minutes in which it lies.
func (r *recorder) spreadTimes(to []float64, from, until protocol.Time, n float64) {
	const minute = 60_000
	if n == 0 {
		return
	}
	for m := max(int(from.Sub(r.day.Scenario.Start).Milliseconds()/minute), 0); m < len(to); m++ {
		begin := r.day.minuteAt(m)
		if begin >= until {
			return
		}
		to[m] += n * float64(min(until, begin+minute)-max(from, begin))
	}
}

// account reckons the figures of the service, minute by minute. Requests are spread so that all replicas that
// serve have the same load, and each goes to as near a site as that allows.
func (r *recorder) account() (f Figures) {
	d, table := r.day, &r.day.world.Table
	for _, x := range r.sites {
		r.advance(x, d.Scenario.End)
	}
	const minute = 60_000.0
	requests, attained, way := 0.0, 0.0, 0.0
	ready := make([]float64, len(r.sites))
	for m := settled; m < len(d.counts); m++ {
		all := 0.0
		for i, x := range r.sites {
			ready[i] = x.ready[m] / minute
			all += ready[i]
		}
		coming := d.perSecond(m)
		load := 0.0
		if all > 0 {
			load = coming / (all * table.Limit)
		}
		requests += 60 * coming
		for _, t := range r.traffic(m, ready, load) {
			attained += 60 * t.perSecond * table.Attained(load, t.rtt)
			way += 60 * t.perSecond * t.rtt
		}
		f.MissingHours += max(float64(d.counts[m])-all, 0) / 60
		f.ReplicaHours += all / 60
		for i, x := range r.sites {
			starting, draining := max(x.present[m]-x.ready[m], 0)/minute, x.draining[m]/minute
			held := ready[i] + starting + draining
			watts := float64(ready[i]*table.Watts(load)) + float64((starting+draining)*table.Watts(0)) + float64(held*hostWatts)
			f.GPUHours += held / 60
			f.addEnergy(d, i, m, watts)
		}
	}
	f.Attained, f.RTT = attained/max(requests, 1), way/max(requests, 1)
	f.Moves, f.ColdStarts = r.moves, r.starts
	return f
}

// addEnergy adds a minute of draw at a site.
func (f *Figures) addEnergy(d *Day, site, minute int, watts float64) {
	price, carbon := d.hourOf(site, minute)
	kwh := watts / 60_000
	f.KWh += kwh
	f.USD += kwh * price
	f.Kg += kwh * carbon
	f.TotalUSD += kwh * d.priceOf(price, carbon)
}

// hourOf returns what a kWh of a machine costs and emits at a site in a minute, the facility's overhead
// included: in dollars and kg.
func (d *Day) hourOf(site, minute int) (price, carbon float64) {
	at := d.minuteAt(minute)
	x := d.Scenario.Sites[site]
	pue := pueAt(x, at)
	return valueAt(x, protocol.GridPrice, at) / 1e6 * pue, valueAt(x, protocol.GridCarbon, at) / 1e6 * pue
}

// priceOf returns what a kWh counts in dollars, with its carbon at the scenario's price.
func (d *Day) priceOf(price, carbon float64) float64 {
	return price + float64(carbon*d.Scenario.Weights.Kappa.InDollars()/1000)
}

// A flow is requests of one origin to one site.
type flow struct{ perSecond, rtt float64 }

// traffic returns which requests go where in a minute, at the same load of all replicas: pairs of origin and
// site are served by distance.
func (r *recorder) traffic(minute int, ready []float64, load float64) (out []flow) {
	d := r.day
	type pair struct{ o, site int }
	var pairs []pair
	left, room := make([]float64, len(d.load)), make([]float64, len(ready))
	for o := range d.load {
		left[o] = float64(d.load[o][minute]) / 60
		for i := range ready {
			pairs = append(pairs, pair{o, i})
		}
	}
	for i := range ready {
		room[i] = ready[i] * load * d.world.Table.Limit
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(d.rtt[a.o][a.site], d.rtt[b.o][b.site]) })
	for _, p := range pairs {
		if n := min(left[p.o], room[p.site]); n > 0 {
			left[p.o], room[p.site] = left[p.o]-n, room[p.site]-n
			out = append(out, flow{n, d.rtt[p.o][p.site]})
		}
	}
	return out
}
