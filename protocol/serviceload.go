package protocol

import (
	"fmt"
	"slices"
	"time"
)

// A ServiceClass is a service level objective: of each thousand requests, Percentile are to be answered in
// time. Times are seen by who asks: the way to the replica and back counts. A zero time is no bound.
type ServiceClass struct {
	Name       string        `msgpack:"n"`
	Percentile Milli         `msgpack:"p"`            // 950: of a hundred requests 95
	TTFT       time.Duration `msgpack:"ft,omitempty"` // to the first token
	TPOT       time.Duration `msgpack:"pt,omitempty"` // for each further token
	Total      time.Duration `msgpack:"tt,omitempty"` // for the whole answer
	Output     int           `msgpack:"o,omitempty"`  // tokens of an answer, for Total
}

// A ServedRate is how fast a replica answers at a load, as somebody measured or simulated.
type ServedRate struct {
	Rate       Milli         `msgpack:"r"` // thousandths of a request per second
	Percentile Milli         `msgpack:"p"` // so many of a thousand requests are as fast
	TTFT       time.Duration `msgpack:"ft,omitempty"`
	TPOT       time.Duration `msgpack:"pt,omitempty"`
}

// A SiteRTT is how long the way to a site and back takes.
type SiteRTT struct {
	Site string        `msgpack:"s"`
	RTT  time.Duration `msgpack:"t"`
}

// Bounds of classes, rates and round trips.
const (
	maxServiceClasses = 16
	maxRates          = 64
	maxLatency        = 24 * time.Hour
	maxOutput         = 10_000_000
)

// IsServed reports whether the class is kept at a rate, for requesters so far away.
func (c *ServiceClass) IsServed(r ServedRate, rtt time.Duration) bool {
	within := func(took, most time.Duration) bool { return most == 0 || took <= most }
	return r.Percentile >= c.Percentile && within(r.TTFT+rtt, c.TTFT) && within(r.TPOT, c.TPOT) &&
		within(r.TTFT+rtt+time.Duration(c.Output)*r.TPOT, c.Total)
}

// GoodputAt returns what a replica of s serves on a GPU model at a site with all its classes kept, in
// thousandths of a request per second; 0: none, or not known. Distance is paid in replicas: where the way is
// long, only a lower rate leaves time enough.
func (s *Service) GoodputAt(site, model string) Milli {
	v := s.VariantOn(model)
	if len(s.Classes) == 0 || len(v.Rates) == 0 {
		return v.Goodput
	}
	rtt := time.Duration(0)
	for _, x := range s.RTT {
		if x.Site == site {
			rtt = x.RTT
		}
	}
	goodput := maxGoodput
	for i := range s.Classes {
		most := Milli(0)
		for _, r := range v.Rates {
			if s.Classes[i].IsServed(r, rtt) {
				most = max(most, r.Rate)
			}
		}
		goodput = min(goodput, most)
	}
	return goodput
}

// BestGoodput returns what a replica of s serves at its best, wherever that is.
func (s *Service) BestGoodput() (best Milli) {
	for _, v := range s.Variants {
		best = max(best, v.Goodput)
		for _, r := range v.Rates {
			best = max(best, r.Rate)
		}
	}
	return best
}

// ReplicaAt is Replica for a site: on GPU models alone that keep the classes of s there. It reports false, and
// returns Replica, if none does.
func (s *Service) ReplicaAt(site string) (Job, bool) {
	j := s.Replica()
	if s.Load == 0 && len(s.Classes) == 0 {
		return j, true
	}
	var serving []string
	for _, v := range s.Variants {
		if (len(s.Models) == 0 || slices.Contains(s.Models, v.Model)) && s.GoodputAt(site, v.Model) > 0 {
			serving = append(serving, v.Model)
		}
	}
	if len(serving) == 0 {
		return j, false
	}
	j.Models = serving
	return j, true
}

// invalidLoad returns what is wrong with the load, the classes and the round trips of s, or "".
func (s *Service) invalidLoad() string {
	d := &s.Division
	switch {
	case s.Load < 0 || s.Load > maxGoodput:
		return "load: want 0..1000000 requests per second"
	case s.Failover < 0 || s.Failover > 1000:
		return "failover: want 0..1, the part of the load that is served still when a site is lost"
	case s.Failover > 0 && s.Load == 0:
		return "failover: it is a part of the load: name that"
	case s.Load > 0 && (s.Wanted > 0 || s.Min > 0):
		return "load: it says how many replicas there are: leave replicas and min out"
	case s.Load > 0 && (d.Rule != DivideByCost || len(d.Tiers) > 0 || d.MinPerSite > 0 || d.spread() != [6]int{}):
		return "load: it is divided by cost: leave division, tiers, min_per_site and the bounds of sites, regions and providers out; failover spreads it"
	case s.Load > 0 && s.GPUs == 0:
		return "load: what a replica serves is known by its GPU model: ask for gpus"
	case s.Load > 0 && s.BestGoodput() == 0:
		return "load: no variant says what a replica serves: give one a goodput or rates"
	case s.Load > 0 && s.BestGoodput()*MaxReplicas < s.Load:
		return "load: more than 10000 replicas would be needed: divide it among several services"
	case len(s.Classes) > 0 && len(s.Variants) == 0:
		return "classes: no variant says how fast a replica answers: give one rates"
	case len(s.Classes) > maxServiceClasses || len(s.RTT) > maxServiceWeights:
		return "classes or rtt: more than 16 classes, or 1024 sites"
	}
	names := make(map[string]bool)
	for _, c := range s.Classes {
		switch {
		case c.Name == "" || nameTooLong(c.Name) || names[c.Name]:
			return "classes: no name, or one twice"
		case c.Percentile < 1 || c.Percentile > 1000:
			return fmt.Sprintf("classes: %s: percentile: want above 0 and at most 100", c.Name)
		case !isLatency(c.TTFT) || !isLatency(c.TPOT) || !isLatency(c.Total) || c.Output < 0 || c.Output > maxOutput:
			return fmt.Sprintf("classes: %s: want times of 0..24h, and 0..10000000 output tokens", c.Name)
		case c.TTFT == 0 && c.TPOT == 0 && c.Total == 0:
			return fmt.Sprintf("classes: %s: bounds nothing: give it ttft, tpot or total", c.Name)
		case c.Output > 0 && c.Total == 0:
			return fmt.Sprintf("classes: %s: output_tokens without total: they count for that alone", c.Name)
		}
		names[c.Name] = true
	}
	sites := make(map[string]bool)
	for _, x := range s.RTT {
		if x.Site == "" || nameTooLong(x.Site) || sites[x.Site] || !isLatency(x.RTT) {
			return "rtt: no site, one twice, or a time outside of 0..24h"
		}
		sites[x.Site] = true
	}
	return ""
}

// isLatency reports whether a time is within bounds.
func isLatency(d time.Duration) bool { return d >= 0 && d <= maxLatency }

// invalidRates returns what is wrong with the rates of a variant, or "".
func (v *Variant) invalidRates() string {
	if len(v.Rates) > maxRates {
		return fmt.Sprintf("variants: %s: more than 64 rates", v.Model)
	}
	for _, r := range v.Rates {
		if r.Rate < 1 || r.Rate > maxGoodput || r.Percentile < 1 || r.Percentile > 1000 || !isLatency(r.TTFT) || !isLatency(r.TPOT) {
			return fmt.Sprintf("variants: %s: rates: want up to 1000000 requests per second, a percentile up to 100 and times of 0..24h", v.Model)
		}
	}
	return ""
}
