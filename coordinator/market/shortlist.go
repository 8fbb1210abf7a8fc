package market

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

const (
	// exploring is which part of the sites that are asked for a job are chosen in turn, whatever they bid before:
	// one in exploring, or more if fewer have bid.
	exploring = 4
	// ratesLast is how long the market goes by what a site bid.
	ratesLast = time.Hour
	// staysAwake is for how long the nodes of a site are taken to be awake after its last run was to end: sites let
	// them sleep ten minutes after it ended, unless they say otherwise.
	staysAwake = 15 * time.Minute
	// asksPerGPU is for how many GPUs of jobs a site may be asked in a call, for each GPU that it has, however few
	// jobs are called; and twice its share of what the call asks for, if that is more.
	asksPerGPU = 8
)

// A modelRate is what a site asked when it bid last for jobs on a GPU model, in microdollars for a GPU-hour of run
// time at the reference clock; model is "" of jobs without GPUs.
type modelRate struct {
	model string
	rate  float64
	at    protocol.Time // when it bid
}

// A shortlist chooses the sites that a call asks for each of its jobs, where more are registered than are asked
// for one (Config.MostSites): those that bid least for such jobs before, and others in turn (decision 0408).
type shortlist struct {
	now    protocol.Time
	names  []string // of all sites, sorted
	sites  []*site  // by names
	most   int
	budget []protocol.Milli // by site: for how many more GPUs of jobs it is asked as one of the cheapest
	orders map[string][]int // byRate, by models
}

// newShortlist returns what chooses the sites for the lots of a round; nil: all sites are asked for all of them.
func (k *Market) newShortlist(now protocol.Time, lots []*lot) *shortlist {
	if k.asksAll() {
		return nil
	}
	s := &shortlist{now: now, names: k.siteNames, most: k.cfg.MostSites, orders: make(map[string][]int)}
	var have, want protocol.Milli
	for _, name := range s.names {
		site := k.sites[name]
		gpus := max(site.gpusOf(nil), 1000) // the cores of a site without GPUs count as one
		s.sites, s.budget, have = append(s.sites, site), append(s.budget, gpus), have+gpus
	}
	for _, l := range lots {
		want += l.job.PricedGPUs()
	}
	share := max(asksPerGPU, 2*float64(want)*float64(s.most)/float64(have))
	for i := range s.budget {
		s.budget[i] = protocol.Milli(float64(s.budget[i]) * share)
	}
	return s
}

// asksAll reports whether all sites are asked for all jobs: there are no more than are asked for one.
func (k *Market) asksAll() bool { return len(k.sites) <= k.cfg.MostSites }

// mayRun reports whether a site may run a job, by its regions, by the site's GPUs and by what the site said of it
// since it registered.
func (s *site) mayRun(l *lot) bool {
	name := s.registration.Site
	if len(l.job.Regions) > 0 && !slices.Contains(l.job.Regions, name) || l.ruledOut[name] > s.registeredAfter {
		return false
	}
	return l.job.GPUs == 0 || len(l.job.Models) == 0 || slices.ContainsFunc(s.registration.Pools, func(p protocol.Pool) bool { return slices.Contains(l.job.Models, p.Model) })
}

// sitesFor returns the positions of the sites that are asked for a lot, in rising order.
func (s *shortlist) sitesFor(l *lot) []int {
	j, size := &l.job, l.job.PricedGPUs()
	var asked []int
	chosen := make([]bool, len(s.names))
	ask := func(i int) {
		if !chosen[i] {
			chosen[i] = true
			asked = append(asked, i)
			s.budget[i] -= size
		}
	}
	// Where it is planned, where it was submitted, and where its data is. Until a site that may start it by itself
	// has answered, nobody gets it (awaitsHome).
	for _, name := range []string{l.plannedAt, l.from.SiteName(), j.Home} {
		if i, ok := slices.BinarySearch(s.names, name); ok && (s.sites[i].mayRun(l) || l.alone && name == l.from.SiteName()) {
			ask(i)
		}
	}
	// The cheapest of those that run something, whose nodes are awake, and the cheapest of all.
	cheapest := s.most - s.most/exploring
	askCheapest := func(upTo int, running bool) {
		for _, i := range s.byRate(j.Models) {
			if len(asked) >= upTo {
				break
			}
			if s.budget[i] >= size && (!running || s.sites[i].runsUntil.Add(staysAwake) > s.now) && s.sites[i].mayRun(l) {
				ask(i)
			}
		}
	}
	askCheapest(cheapest/2, true)
	askCheapest(cheapest, false)
	// The others in turn, from one that differs by job and by call.
	h := fnv.New32a()
	_, _ = h.Write([]byte(j.ID)) // never fails
	first := (int(h.Sum32()%uint32(len(s.names))) + l.tries*s.most) % len(s.names)
	for n := 0; n < len(s.names) && len(asked) < s.most; n++ {
		if i := (first + n) % len(s.sites); s.sites[i].mayRun(l) {
			ask(i)
		}
	}
	slices.Sort(asked)
	return asked
}

// byRate returns the positions of the sites whose last bids tell what they ask for a job of some models, those
// that ask least first; without models any will do.
func (s *shortlist) byRate(models []string) []int {
	key := strings.Join(models, "\x00")
	if order, ok := s.orders[key]; ok {
		return order
	}
	rates := make([]float64, len(s.sites))
	order := make([]int, 0, len(s.sites))
	for i, site := range s.sites {
		if rate, ok := site.rateOf(models, s.now.Add(-ratesLast)); ok {
			rates[i] = rate
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rates[x], rates[y]) })
	s.orders[key] = order
	return order
}

// rateOf returns the lowest rate of some models that the site bid since an instant; without models, of all.
func (s *site) rateOf(models []string, since protocol.Time) (rate float64, ok bool) {
	for _, m := range s.rates {
		if m.at >= since && (len(models) == 0 || slices.Contains(models, m.model)) && (!ok || m.rate < rate) {
			rate, ok = m.rate, true
		}
	}
	return rate, ok
}

// observeRate takes in what a site asks: for each model the mean of its jobs, each by its cheapest option. It counts
// money, carbon, tariff, and the wait until the start as that of a standard job of an hour: so urgent and short jobs,
// for which a minute costs more than their energy, make no site look dear. It leaves out transfer and what it would
// cost to wake a node. A site without room for a job has no rate of its models.
func (k *Market) observeRate(now protocol.Time, s *site, r *round) {
	if k.asksAll() {
		return
	}
	var heard []modelRate // sums of the rates of jobs, by model
	jobs := make(map[string]float64)
	for _, m := range r.offers[s.registration.Site].Jobs {
		j := &r.lots[r.index[m.Job]].job
		hours := j.Run.Hours() * float64(j.PricedGPUs()) / 1000
		switch {
		case len(m.Options) == 0 && !isPermanentReason(m.Why.Code):
			s.rates = slices.DeleteFunc(s.rates, func(x modelRate) bool {
				return (x.model == "") == (j.GPUs == 0) && (len(j.Models) == 0 || slices.Contains(j.Models, x.model))
			})
			continue
		case len(m.Options) == 0 || hours <= 0:
			continue
		}
		pricing := k.cfg.Terms.ForJob(j)
		var best []modelRate // in the order of the options
		for i := range m.Options {
			x := &m.Options[i]
			terms := pricing.PriceOption(x, protocol.PricingBasis{})
			rate := float64(terms.Money+terms.Carbon+terms.Tariff)/hours + float64(float64(k.cfg.Terms.WaitStandard)*max(x.Start.Sub(r.call.opened), 0).Hours())
			if at := rateIndex(&best, x.Model, rate); rate < best[at].rate {
				best[at].rate = rate
			}
		}
		for _, b := range best {
			heard[rateIndex(&heard, b.model, 0)].rate += b.rate
			jobs[b.model]++
		}
	}
	for _, h := range heard {
		s.rates[rateIndex(&s.rates, h.model, 0)] = modelRate{h.model, h.rate / jobs[h.model], now}
	}
}

// rateIndex returns where the rate of a model stands in a list, to which it adds a model that is not there.
func rateIndex(all *[]modelRate, model string, first float64) int {
	i := slices.IndexFunc(*all, func(m modelRate) bool { return m.model == model })
	if i < 0 {
		i, *all = len(*all), append(*all, modelRate{model: model, rate: first})
	}
	return i
}

// askSites sets which sites a call asks for which jobs, where more are registered than are asked for one. All
// are asked for gangs, for jobs in parts and for jobs that may have others stopped: which of them have room for
// such jobs, no rate tells.
func (k *Market) askSites(now protocol.Time, r *round, call *protocol.CallForBids) {
	s := k.newShortlist(now, r.lots)
	if s == nil {
		return
	}
	r.asked = 0
	everyone := false // is asked for some lot
	some := make([]bool, len(s.names))
	for _, l := range r.lots {
		var asked []int
		if preempts := slices.ContainsFunc(call.Preemptable, func(set protocol.PreemptionSet) bool { return set.Job == l.job.ID }); !l.job.IsGang() && l.whole == nil && !preempts {
			asked = s.sitesFor(l)
		}
		call.Asked = append(call.Asked, asked)
		r.asked += len(asked)
		if len(asked) == 0 {
			everyone = true
			r.asked += len(s.names)
		}
		for _, i := range asked {
			some[i] = true
		}
	}
	if call.Sites = s.names; !everyone {
		call.NameAsked(some)
	}
}

// ruleOut notes that a site said that it can never run a lot, if not all sites are asked: it is not asked again
// until it registers anew. All that were asked may say so, and others are asked in the next gathering interval.
func (k *Market) ruleOut(l *lot, site string) {
	if k.asksAll() {
		return
	}
	if l.ruledOut == nil {
		l.ruledOut = make(map[string]uint64)
	}
	l.ruledOut[site] = k.rounds
	l.failedCalls = 0
}

// noSiteCanRun reports whether no site can ever run a lot, of which so many said so in this round.
func (k *Market) noSiteCanRun(l *lot, said int) bool {
	if said == 0 || k.asksAll() {
		return said > 0 && said == len(k.sites)
	}
	for _, name := range k.siteNames {
		if k.sites[name].mayRun(l) {
			return false
		}
	}
	return true
}
