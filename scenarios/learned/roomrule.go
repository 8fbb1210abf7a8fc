package learned

import (
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/protocol"
)

// RoomHours is how many hours ahead a learner prices room, RoomBlocks in how many equal blocks.
const (
	RoomHours  = 72
	RoomBlocks = 12
)

// RoomFeatures names the numbers that a learner sees of one hour of one pool, in order.
var RoomFeatures = []string{
	"lead", "day", "day_shifted", "taken", "open", "fleet_taken", "price_level", "carbon_level", "price_over", "carbon_over",
	"price_off", "carbon_off", "rank", "published", "shadow", "reserve", "pool", "arrived", "waiting", "several",
}

// A RoomRule is the auction, and a learner who sets a price at which room is kept: jobs that can wait
// are compared as if each GPU-hour of a pool cost so much more. It is charged to nobody. Jobs that
// cannot wait are compared as ever. It implements auction.ClearingRule.
type RoomRule struct {
	market *auction.Auction
	pools  []auction.Pool
	ask    func(*BoxQuestion) []float64

	question BoxQuestion
	reserve  []float64     // parts of the rate, RoomBlocks for each pool
	from     protocol.Time // of the first block; 0: nothing is kept yet
	planning protocol.Planning
	rate     usualRate
	memory
	all []candidate
}

// NewRoomRule returns a rule that asks by a function, which returns RoomBlocks numbers from 0 to 1 for
// each of the pools, ordered by site, then model: prices of six hours each, in parts of what a GPU-hour usually costs.
func NewRoomRule(pools []auction.Pool, ask func(*BoxQuestion) []float64) *RoomRule {
	pools = sortedPools(pools)
	return &RoomRule{
		market: auction.New(auction.Config{}), pools: pools, ask: ask, memory: memory{seen: make(map[protocol.JobID]bool)},
		question: newBoxQuestion(1, len(pools)*RoomHours*len(RoomFeatures)), reserve: make([]float64, len(pools)*RoomBlocks),
	}
}

// Clear implements auction.ClearingRule.
func (b *RoomRule) Clear(r auction.Round) auction.Outcome {
	r.Planning = r.Planning.OrDefault()
	for i := range r.Lots {
		b.noteArrival(r.Now, &r.Lots[i].Job)
	}
	b.dropArrivals(r.Now)
	if r.Full {
		b.all = b.rate.update(&r, b.all)
		b.observe(&r)
		for i, v := range b.ask(&b.question) {
			b.reserve[i] = min(max(v, 0), 1)
		}
		b.from, b.planning = r.Now.Floor(time.Hour), r.Planning
	}
	return b.market.Clear(b.charge(r))
}

// ShadowPrices implements auction.ClearingRule: the auction's prices and the kept room's, so that sites
// offer the hours that count as cheap.
func (b *RoomRule) ShadowPrices() []protocol.ShadowPrice {
	out := slices.Clone(b.market.ShadowPrices())
	if b.from == 0 {
		return out
	}
	for i, p := range b.pools {
		if slices.Max(b.reserve[i*RoomBlocks:(i+1)*RoomBlocks]) == 0 {
			continue
		}
		k := slices.IndexFunc(out, func(s protocol.ShadowPrice) bool { return s.Site == p.Site && s.Model == p.Model })
		if k < 0 {
			k = len(out)
			out = append(out, protocol.ShadowPrice{Site: p.Site, Model: p.Model, From: b.from, Slot: b.planning.Slot})
		}
		out[k] = b.withReserve(i, out[k])
	}
	slices.SortFunc(out, func(x, y protocol.ShadowPrice) int {
		return slices.Compare([]string{x.Site, x.Model}, []string{y.Site, y.Model})
	})
	return out
}

// withReserve returns a pool's prices with its reserve.
func (b *RoomRule) withReserve(pool int, s protocol.ShadowPrice) protocol.ShadowPrice {
	values := slices.Clone(s.Values)
	for len(values) < b.planning.SlotCount() {
		values = append(values, 0)
	}
	for k := range values {
		values[k] += protocol.Microdollars(b.priceAt(pool, s.From.Add(time.Duration(k)*s.Slot)))
	}
	s.Values = values
	return s
}

// priceAt returns the reserve of a pool at an instant, in microdollars per GPU-hour.
func (b *RoomRule) priceAt(pool int, at protocol.Time) float64 {
	block := int(at.Sub(b.from) / (RoomHours / RoomBlocks * time.Hour))
	if b.from == 0 || at < b.from || block >= RoomBlocks {
		return 0
	}
	return float64(b.reserve[pool*RoomBlocks+block]) * float64(b.rate)
}

// heldCost returns what the room of a run counts for, in microdollars.
func (b *RoomRule) heldCost(pool int, o *protocol.BidOption, gpus float64) (sum float64) {
	for at := o.Start; at < o.Finish; {
		end := min(at.Floor(time.Hour).Add(time.Hour), o.Finish)
		sum += float64(b.priceAt(pool, at) * gpus * hoursOf(end.Sub(at)))
		at = end
	}
	return sum
}

// charge returns the round with the reserve in what the options of jobs that can wait are compared by.
func (b *RoomRule) charge(r auction.Round) auction.Round {
	if b.from == 0 || slices.Max(append(b.reserve, 0)) == 0 {
		return r
	}
	lots := slices.Clone(r.Lots)
	for i := range lots {
		if !lots[i].Job.MayWait() {
			continue
		}
		lots[i].Bids = slices.Clone(lots[i].Bids)
		compared := r.Weights.ForRanking()
		pricing := compared.ForJob(&lots[i].Job)
		for k := range lots[i].Bids {
			b.chargeBids(&r, &lots[i].Job, &lots[i].Bids[k], &pricing)
		}
	}
	r.Lots = lots
	return r
}

// chargeBids adds the reserve to the preferences that one site's bids for a job carry.
func (b *RoomRule) chargeBids(r *auction.Round, j *protocol.Job, m *auction.SiteBids, pricing *protocol.JobPricing) {
	bias := make([]protocol.Milli, len(m.Options))
	copy(bias, m.Bias)
	trust := protocol.Milli(1000)
	if s := siteNamed(r, m.Site); s != nil {
		trust = max(s.Trust, 1000)
	}
	for i := range m.Options {
		o := &m.Options[i]
		pool := slices.Index(b.pools, auction.Pool{Site: m.Site, Model: o.Model})
		if pool < 0 {
			continue
		}
		gpus := j.TotalGPUMilli()
		if i < len(m.GPUs) {
			gpus = m.GPUs[i]
		}
		cost := pricing.PriceOption(o, protocol.PricingBasis{Trust: trust}).Total()
		more := ratioOf(float64(1000*b.heldCost(pool, o, float64(gpus)/1000)), float64(max(cost, -cost)))
		bias[i] -= protocol.Milli(math.Round(min(more, mostCharge)))
	}
	m.Bias = bias
}

// mostCharge bounds how much dearer room makes an option, in thousandths: a hundredfold.
const mostCharge = 100_000

// observe fills the question.
func (b *RoomRule) observe(r *auction.Round) {
	b.question.Now = r.Now
	w := b.readRoom(r)
	for i, p := range b.pools {
		site := siteNamed(r, p.Site)
		rows := b.question.Seen[0][i*RoomHours*len(RoomFeatures):][:RoomHours*len(RoomFeatures)]
		clear(rows)
		if site == nil {
			continue
		}
		k := slices.IndexFunc(site.Capacity, func(c protocol.CapacityProfile) bool { return c.Model == p.Model })
		if k < 0 {
			continue
		}
		for h := range RoomHours {
			b.observeHour(&w, features{row: rows[h*len(RoomFeatures):][:len(RoomFeatures)]}, i, h, site, &site.Capacity[k])
		}
	}
}

// A roomRound is what all pools of a round have in common.
type roomRound struct {
	round    *auction.Round
	shadow   []protocol.ShadowPrice
	gpus     float64                                 // of all sites
	taken    [RoomHours]float64                      // part of all GPUs
	cheapest [RoomHours]struct{ p, c, mean float64 } // least price and carbon of a site, mean price
	rates    []float64                               // of all sites' next 24 hours, sorted
	waiting  float64                                 // GPU-hours of the called jobs that can wait, per GPU
	several  float64                                 // part of them that takes several GPUs
}

// rateOf returns what a megawatt-hour costs with its carbon at an hour of a forecast.
func (w *roomRound) rateOf(g *protocol.GridForecast, hour int) float64 {
	return valueAt(g.Price, hour) + float64(w.round.Weights.CarbonCost(protocol.Milligrams(valueAt(g.Carbon, hour))))
}

// readRoom reads what all pools have in common.
func (b *RoomRule) readRoom(r *auction.Round) (w roomRound) {
	w.round, w.shadow = r, b.market.ShadowPrices()
	for h := range RoomHours {
		at, sum := hourStart(r.Now, h), 0.0
		for i := range r.Sites {
			s := &r.Sites[i]
			price, carbon := valueAt(s.Forecast.Price, h), valueAt(s.Forecast.Carbon, h)
			least := &w.cheapest[h]
			if i == 0 {
				least.p, least.c = price, carbon
			}
			least.p, least.c, sum = min(least.p, price), min(least.c, carbon), sum+price
			for k := range s.Capacity {
				p := &s.Capacity[k]
				w.taken[h] += float64(float64(p.Total) * (1 - shareAt(p, p.Free, max(at, r.Now))))
				if h == 0 {
					w.gpus += float64(p.Total)
				}
			}
			if h < 24 {
				w.rates = append(w.rates, w.rateOf(&s.Forecast, h))
			}
		}
		w.cheapest[h].mean = ratioOf(sum, float64(len(r.Sites)))
	}
	slices.Sort(w.rates)
	for i := range r.Lots {
		j := &r.Lots[i].Job
		if !j.MayWait() {
			continue
		}
		size := gpuTimeOf(j).gpuHours()
		if w.waiting += size; j.TotalGPUMilli() > 1000 {
			w.several += size
		}
	}
	w.several = ratioOf(w.several, w.waiting)
	return w
}

// observeHour fills the row of one hour of a pool.
func (b *RoomRule) observeHour(w *roomRound, f features, pool, h int, site *auction.Site, p *protocol.CapacityProfile) {
	at, g := hourStart(w.round.Now, h), &site.Forecast
	from := max(at, w.round.Now)
	price, carbon := valueAt(g.Price, h), valueAt(g.Carbon, h)
	free := shareAt(p, p.Free, from)
	open := free
	if len(p.ForDeferrable) > 0 {
		open = shareAt(p, p.ForDeferrable, from)
	}
	rank, _ := slices.BinarySearch(w.rates, w.rateOf(g, h))
	f.put(float64(h) / RoomHours)
	f.put(triangleWave(at, 0))
	f.put(triangleWave(at, 6*time.Hour))
	f.put(1 - free)
	f.put(open)
	f.put(ratioOf(w.taken[h], w.gpus))
	f.put(levelAt(g.Price, h))
	f.put(levelAt(g.Carbon, h))
	f.put(ratioOf(price-w.cheapest[h].p, absolute(w.cheapest[h].mean)))
	f.put(ratioOf(carbon-w.cheapest[h].c, w.cheapest[h].c))
	f.put(ratioOf(valueAt(g.PriceOff, h), absolute(price)))
	f.put(ratioOf(valueAt(g.CarbonOff, h), carbon))
	f.put(ratioOf(float64(rank), float64(len(w.rates))))
	f.putFlag(h < len(g.PriceOff) && g.PriceOff[h] == 0)
	f.put(squash(ratioOf(announcedAt(w.shadow, site.Name, p.Model, from), float64(b.rate)), 1))
	f.put(ratioOf(b.priceAt(pool, from), float64(b.rate)))
	f.put(ratioOf(float64(p.Total), w.gpus))
	f.put(squash(ratioOf(1000*b.arrivedSum.gpuHours(), w.gpus), 1))
	f.put(squash(ratioOf(1000*w.waiting, w.gpus), 2))
	f.put(w.several)
}
