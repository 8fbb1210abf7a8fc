package protocol

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A ServiceID identifies a service in the whole federation.
type ServiceID string

// A Service is a long-running workload of equal replicas, such as an inference server, which the
// market divides among sites (docs/services.md). The zero of a field that limits something means no
// limit.
type Service struct {
	ID       ServiceID `msgpack:"id"`
	Tenant   string    `msgpack:"tn,omitempty"`
	Priority int       `msgpack:"p,omitempty"` // higher is divided first

	Wanted int `msgpack:"w"` // replicas
	Min    int `msgpack:"mn,omitempty"`
	Max    int `msgpack:"mx,omitempty"` // 0: no bound

	// What one replica asks for, on one node.
	GPUs      int      `msgpack:"g,omitempty"`
	Share     Milli    `msgpack:"s,omitempty"` // of each device, 1..1000; below 1000 only with one device
	GPUMemory MiB      `msgpack:"gm,omitempty"`
	CPU       Milli    `msgpack:"c,omitempty"`
	Memory    MiB      `msgpack:"m,omitempty"`
	Models    []string `msgpack:"md,omitempty"` // acceptable GPU models; empty: any
	Sites     []string `msgpack:"st,omitempty"` // that may run it; empty: any

	// Groups of services of one tenant, by name. Replicas start only at sites where another service of
	// Affinity is, unless none is anywhere, and at none where another service of AntiAffinity is.
	Affinity     string `msgpack:"af,omitempty"`
	AntiAffinity string `msgpack:"aa,omitempty"`

	Variants []Variant    `msgpack:"vr,omitempty"` // how a replica does on GPU models
	Division Division     `msgpack:"dv,omitempty"`
	Move     MoveSettings `msgpack:"mv,omitempty"`

	CarbonWeight Milli `msgpack:"cw,omitempty"` // how many times the federation's price of carbon counts where it is divided by cost; 0: once

	// What the replicas are to serve, in thousandths of a request per second, in place of Wanted and Min; and the part
	// of it, in thousandths, that is to be served still if any one site is lost.
	Load     Milli `msgpack:"ld,omitempty"`
	Failover Milli `msgpack:"fo,omitempty"`

	Classes []ServiceClass `msgpack:"sl,omitempty"` // service level objectives
	RTT     []SiteRTT      `msgpack:"rt,omitempty"` // between requesters and sites; none: not far

	Task Task `msgpack:"tk,omitempty"` // what a replica runs; left out of calls for capacity
}

// A Division says by which rule the replicas of a service are divided among sites.
type Division struct {
	Rule       DivisionRule `msgpack:"r,omitempty"`
	Tiers      []SiteTier   `msgpack:"t,omitempty"`  // first to last; of a plain rule without tiers none
	Exclusive  bool         `msgpack:"x,omitempty"`  // tiers are groups of which one holds all replicas, instead of spilling over
	Weights    []SiteWeight `msgpack:"w,omitempty"`  // of rule static
	MinPerSite int          `msgpack:"n,omitempty"`  // each site that may run it holds at least so many, if it has room
	MinSites   int          `msgpack:"ns,omitempty"` // it is at this many sites at least, if as many have room
	MaxSites   int          `msgpack:"xs,omitempty"` // and at this many at most; 0: no bound

	// The same of regions and of providers, by what sites say of themselves.
	MinRegions   int `msgpack:"nr,omitempty"`
	MaxRegions   int `msgpack:"xr,omitempty"`
	MinProviders int `msgpack:"np,omitempty"`
	MaxProviders int `msgpack:"xp,omitempty"`
}

// A Location says where a site is, and whose it is; empty: not said.
type Location struct {
	Region   string `msgpack:"r,omitempty" json:",omitempty"`
	Provider string `msgpack:"p,omitempty" json:",omitempty"`
}

// IsZero reports whether l says nothing; encoders leave it out by this.
func (l Location) IsZero() bool { return l == (Location{}) }

// A DivisionRule is how replicas are divided among sites that are equal before the tiers.
type DivisionRule string

// Rules of division.
const (
	DivideByCost      DivisionRule = ""           // each replica where it costs least
	DivideByCapacity  DivisionRule = "dynamic"    // in proportion to the replicas that fit now
	DivideByWeights   DivisionRule = "static"     // in proportion to given weights, as far as they fit
	DivideAmongFewest DivisionRule = "aggregated" // among the fewest sites that have room, in proportion to what fits there
)

// A SiteTier is sites of equal rank. A site that is in several counts in the first.
type SiteTier struct {
	Sites []string `msgpack:"s,omitempty"`
}

// A SiteWeight is the weight of a site.
type SiteWeight struct {
	Site   string `msgpack:"s"`
	Weight int    `msgpack:"w"`
}

// MoveSettings say what moving a replica costs, so that a rebalance of rule cost moves only what pays.
type MoveSettings struct {
	Cost    Microdollars  `msgpack:"c,omitempty"` // of one move: double run, transfer
	Horizon time.Duration `msgpack:"h,omitempty"` // for how long a replica is expected to stay; 0: 6 hours
}

// MoveHorizon returns for how long a replica of s is expected to stay where it is: its setting, or the
// default.
func (s *Service) MoveHorizon() time.Duration {
	if s.Move.Horizon == 0 {
		return DefaultMoveHorizon
	}
	return s.Move.Horizon
}

// CarbonFactor returns how many times the price of carbon counts for s, in thousandths.
func (s *Service) CarbonFactor() Milli {
	if s.CarbonWeight == 0 {
		return 1000
	}
	return s.CarbonWeight
}

// DefaultMoveHorizon is how long a replica is expected to stay where it is.
const DefaultMoveHorizon = 6 * time.Hour

// IsZero reports whether d is the default, by cost; encoders leave it out by this.
func (d Division) IsZero() bool {
	return d.Rule == "" && len(d.Tiers) == 0 && !d.Exclusive && len(d.Weights) == 0 && d.MinPerSite == 0 && d.spread() == [6]int{}
}

// spread returns the bounds of sites, regions and providers: the least and the most of each.
func (d Division) spread() [6]int {
	return [6]int{d.MinSites, d.MaxSites, d.MinRegions, d.MaxRegions, d.MinProviders, d.MaxProviders}
}

// IsZero reports whether m says nothing; encoders leave it out by this.
func (m MoveSettings) IsZero() bool { return m == (MoveSettings{}) }

// Bounds of a service.
const (
	MaxReplicas       = 10_000
	maxServiceTiers   = 16
	maxServiceWeights = 1024
	maxWeight         = 1_000_000
	maxCarbonWeight   = 1_000_000 // a thousand times
)

// Replica returns one replica as a job, for all that reckons with jobs' demand. It never ends by plan.
func (s *Service) Replica() Job {
	return Job{ID: JobID(s.ID), Tenant: s.Tenant, GPUs: s.GPUs, Share: s.Share, GPUMemory: s.GPUMemory, CPU: s.CPU, Memory: s.Memory,
		Models: s.Models, Regions: s.Sites, Priority: s.Priority, Urgency: UrgencyNow, Arrival: 1, Deadline: 1, Run: MaxRun}
}

// GPUMilli returns what one replica takes, in thousandths of a GPU.
func (s *Service) GPUMilli() Milli { return Milli(s.GPUs) * s.Share }

// replicaPrefix begins the names of replicas, and of no job.
const replicaPrefix = "service "

// ReplicaName returns the name of a replica where replicas are counted beside jobs.
func ReplicaName(id ServiceID, number int) JobID {
	return JobID(fmt.Sprintf("%s%s #%d", replicaPrefix, id, number))
}

// ServiceOfReplica returns the service of a name that ReplicaName made; "" of a job's name.
func ServiceOfReplica(name JobID) ServiceID {
	rest, ok := strings.CutPrefix(string(name), replicaPrefix)
	if end := strings.LastIndex(rest, " #"); ok && end >= 0 {
		return ServiceID(rest[:end])
	}
	return ""
}

// InvalidReason returns what is wrong with the service, for its submitter, or "".
func (s *Service) InvalidReason() string {
	j := s.Replica()
	switch why := j.InvalidReason(); {
	case why != "":
		return why
	case s.Wanted < 0 || s.Wanted > MaxReplicas:
		return "replicas: want 0..10000"
	case s.Min < 0 || s.Max < 0 || s.Max > MaxReplicas || s.Max > 0 && s.Min > s.Max:
		return "min or max: want 0..10000, and min at most max"
	case s.Load == 0 && (s.Wanted < s.Min || s.Max > 0 && s.Wanted > s.Max):
		return "replicas: outside of min and max"
	case s.Move.Cost < 0 || s.Move.Cost > MaxMoney || s.Move.Horizon < 0 || s.Move.Horizon > MaxRun:
		return "move: a negative or absurd cost or horizon"
	case s.CarbonWeight < 0 || s.CarbonWeight > maxCarbonWeight:
		return "carbon_weight: want 0..1000"
	case s.CarbonWeight != 0 && s.Division.Rule != DivideByCost:
		return "carbon_weight: only division by cost weighs carbon: leave it out, or divide by cost"
	case nameTooLong(s.Affinity) || nameTooLong(s.AntiAffinity):
		return "affinity or anti_affinity: a name longer than 128 bytes"
	case s.Affinity != "" && s.Affinity == s.AntiAffinity:
		return "affinity and anti_affinity: the same group, so it could be nowhere: name two groups, or one of them"
	}
	if why := s.invalidVariants(); why != "" {
		return why
	}
	if why := s.invalidLoad(); why != "" {
		return why
	}
	return s.Division.invalidReason(s.Sites)
}

// invalidReason is InvalidReason for the division of a service that may run at sites.
func (d *Division) invalidReason(sites []string) string {
	switch {
	case d.Rule != DivideByCost && d.Rule != DivideByCapacity && d.Rule != DivideByWeights && d.Rule != DivideAmongFewest:
		return "division: want cost, dynamic, aggregated or static"
	case d.MinPerSite < 0 || d.MinPerSite > MaxReplicas:
		return "minPerSite: want 0..10000"
	case len(d.Tiers) > maxServiceTiers || len(d.Weights) > maxServiceWeights:
		return "tiers or weights: more than 16 tiers, or 1024 weights"
	case d.Rule == DivideByWeights && len(d.Tiers) > 0:
		return "tiers: static weights ignore capacity, so nothing would spill over to the next tier: use cost, dynamic or aggregated"
	case d.Exclusive && len(d.Tiers) == 0:
		return "exclusive: name the groups as tiers"
	case d.Rule != DivideByWeights && len(d.Weights) > 0:
		return "weights: only rule static has them"
	}
	for i, of := range []string{"sites", "regions", "providers"} {
		if low, most := d.spread()[2*i], d.spread()[2*i+1]; low < 0 || most < 0 || low > maxServiceWeights || most > maxServiceWeights || most > 0 && low > most {
			return fmt.Sprintf("min_%s or max_%s: want 0..1024, and min at most max", of, of)
		}
	}
	switch {
	case len(sites) > 0 && d.MinSites > len(sites):
		return fmt.Sprintf("min_sites: is %d, and it may run at %d sites: name more, or ask for fewer", d.MinSites, len(sites))
	case d.MaxSites > 0 && max(d.MinRegions, d.MinProviders) > d.MaxSites:
		return "max_sites: fewer than the regions or providers that it asks for: each takes a site at least"
	}
	allowed := make(map[string]bool, len(sites))
	for _, name := range sites {
		allowed[name] = true
	}
	for _, t := range d.Tiers {
		if len(t.Sites) == 0 || len(t.Sites) > maxServiceWeights {
			return "tiers: each needs 1 to 1024 sites"
		}
		for _, name := range t.Sites {
			if name == "" || nameTooLong(name) || len(sites) > 0 && !allowed[name] {
				return "tiers: names no site, or one that the service may not use"
			}
		}
	}
	seen, matched := make(map[string]bool, len(d.Weights)), len(d.Weights) == 0 || len(sites) == 0
	for _, w := range d.Weights {
		switch {
		case w.Site == "" || nameTooLong(w.Site) || seen[w.Site]:
			return "weights: no site, or one twice"
		case w.Weight < 0 || w.Weight > maxWeight:
			return "weights: want 0..1000000"
		}
		seen[w.Site], matched = true, matched || allowed[w.Site]
	}
	if !matched {
		return "weights: name none of the sites that it may run at"
	}
	return ""
}

// SameReplica reports whether a replica of t is one of s: it asks for the same, and runs the same.
func (s *Service) SameReplica(t *Service) bool {
	return s.GPUs == t.GPUs && s.Share == t.Share && s.GPUMemory == t.GPUMemory && s.CPU == t.CPU && s.Memory == t.Memory && slices.Equal(s.Models, t.Models) && s.Task == t.Task
}

// TierOf returns the tier of a site for s, from 0; false if s may not run there.
func (s *Service) TierOf(site string) (tier int, allowed bool) {
	if len(s.Sites) > 0 && !slices.Contains(s.Sites, site) {
		return 0, false
	}
	for i, t := range s.Division.Tiers {
		if slices.Contains(t.Sites, site) {
			return i, true
		}
	}
	return 0, len(s.Division.Tiers) == 0
}

// WeightOf returns the weight of a site for s; 0 if it has none.
func (s *Service) WeightOf(site string) int64 {
	for _, w := range s.Division.Weights {
		if w.Site == site {
			return int64(w.Weight)
		}
	}
	return 0
}
