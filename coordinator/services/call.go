package services

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// A call is a call for capacity that is open, with the bids so far.
type call struct {
	round    uint64
	closes   protocol.Time
	services []*service
	awaited  map[string]bool     // sites that have not answered
	places   map[*service]int    // how many of its replicas all sites could hold if they were empty; see ownPart
	bids     map[string]*siteBid // by site
	compared int                 // decisions that say what else would have been decided
	room     QuotaRoom           // once it is divided; nil: no quotas are in force
}

// A siteBid is a site's answer, and what it was told before and had not acknowledged when it answered.
type siteBid struct {
	rows     map[protocol.ServiceID]protocol.ReplicaBid
	inFlight []inFlight
}

// An inFlight is further replicas that a site was told to hold, and that its bid may not know of.
type inFlight struct {
	spec  protocol.Service
	count int
}

// maxCalled bounds the services of one call, so that call and bids stay small.
const maxCalled = 1000

// openCall calls all sites for capacity for the services that are due.
func (k *Services) openCall(now protocol.Time, sites []Site) {
	c := &call{round: uint64(now), closes: now.Add(k.cfg.Window), awaited: make(map[string]bool), places: make(map[*service]int), bids: make(map[string]*siteBid)}
	b := protocol.CallForCapacity{Round: c.round, Closes: c.closes, Weights: k.cfg.Weights}
	for _, s := range k.inOrder() {
		if s.due != 0 && s.due <= now && len(c.services) < maxCalled {
			c.services = append(c.services, s)
			spec := s.spec
			spec.Task = "" // what it runs says nothing of what it needs, and may be long
			b.Services = append(b.Services, spec)
			s.due = 0
		}
	}
	if len(c.services) == 0 {
		return
	}
	for _, site := range sites {
		if !site.Suspect {
			c.awaited[site.Name] = true
		}
	}
	k.call = c
	k.send("", b, false)
	if len(c.awaited) == 0 {
		k.closeCall(now, sites)
	}
}

// handleBid takes in a site's answer to the open call: the first one of each site. When all have answered,
// the call closes.
func (k *Services) handleBid(now protocol.Time, m protocol.Message, b protocol.CapacityBid, sites []Site) {
	name := m.From.SiteName()
	site := siteOf(sites, name)
	c := k.call
	switch {
	case site == nil || m.From != protocol.AgentParty(name) || !m.IsPlausible():
		k.counts["impossible-capacity-bid"]++
		return
	case c == nil || b.Round != c.round || now > c.closes:
		k.counts["capacity-bid-too-late"]++
		return
	case c.bids[name] != nil:
		k.counts["capacity-bid-twice"]++
		return
	}
	bid := &siteBid{rows: make(map[protocol.ServiceID]protocol.ReplicaBid, len(b.Services))}
	for _, row := range b.Services {
		s := k.all[row.Service]
		if s == nil {
			continue
		}
		k.settleMeter(now, s, site, row.Held)
		k.observe(now, s, name, row.Held) // a site that says too much of its room is heard on what runs
		most := mostReplicas(site, &s.spec)
		if row.Available > most || !s.canServe(&row) {
			k.counts["impossible-capacity-bid"]++
			continue // more than the site has GPUs or cores for: for this service it has not answered
		}
		if x := s.meters[name]; row.Hourly != (protocol.ReplicaUse{}) {
			x.hourly = row.Hourly.Usage()
			s.meters[name] = x
		}
		if row.Beyond > 0 {
			row.Beyond = min(row.Beyond, max(row.Held.Assigned+row.Available-c.ownPart(s, most, sites), 0))
		}
		bid.rows[row.Service] = row
	}
	for _, s := range k.inOrder() {
		if w := s.wish[name]; w.revision > s.status[name].Revision && w.count > s.status[name].Assigned {
			bid.addInFlight(s.spec, w.count-s.status[name].Assigned)
		}
	}
	c.bids[name] = bid
	delete(c.awaited, name)
	if len(c.awaited) == 0 {
		k.closeCall(now, sites)
	}
}

// canServe reports whether replicas of s may serve what a row says, if s has a load.
func (s *service) canServe(row *protocol.ReplicaBid) bool {
	best := s.spec.BestGoodput()
	return s.spec.Load == 0 || row.HeldServes <= best && !slices.ContainsFunc(row.Steps, func(x protocol.CostStep) bool { return x.Serves < 1 || x.Serves > best })
}

// leastGoodput returns the least that a replica of s may serve at a site, by the GPU models that the site has.
func (s *service) leastGoodput(site *Site) (least protocol.Milli) {
	for _, p := range site.Pools {
		if v := s.spec.GoodputAt(site.Name, p.Model); v > 0 && (least == 0 || v < least) {
			least = v
		}
	}
	return least
}

// ofEvenShare is how many times its even share of a site's GPUs a service may have, in thousandths, though jobs ask
// for them: so a small service leaves most of a cheap site to jobs, and a large one is not sent to the dearest.
const ofEvenShare = 1750

// ownPart returns that many replicas of a service at a site that could hold so many at most.
func (c *call) ownPart(s *service, most int, sites []Site) int {
	all, known := c.places[s]
	if !known {
		for i := range sites {
			all += mostReplicas(&sites[i], &s.spec)
		}
		c.places[s] = all
	}
	return s.wanted() * most * ofEvenShare / (1000 * max(all, 1))
}

// mostReplicas returns how many replicas of a service a site could hold if it were empty and its nodes
// one: no bid can be above it.
func mostReplicas(site *Site, s *protocol.Service) int {
	most := 0
	for _, p := range site.Pools {
		if s.GPUs > 0 && len(s.Models) > 0 && !slices.Contains(s.Models, p.Model) {
			continue
		}
		n := protocol.MaxReplicas
		if s.GPUs > 0 {
			n = min(n, p.GPUs*1000/int(max(protocol.Milli(s.GPUs)*s.Share, 1)))
		}
		if s.CPU > 0 && p.CPU > 0 {
			n = min(n, int(p.CPU/s.CPU))
		}
		most += n
	}
	return min(most, protocol.MaxReplicas)
}

// lossOf returns by how many replicas of t at most one more replica of s lessens the room: they share a
// node, and no resource of t goes more often into what s takes.
func lossOf(s, t *protocol.Service) int {
	loss := int64(0)
	of := func(taken, each int64) {
		if each > 0 && taken > 0 {
			loss = max(loss, (taken+each-1)/each)
		}
	}
	of(int64(s.CPU), int64(t.CPU))
	of(int64(s.Memory), int64(t.Memory))
	switch {
	case s.GPUs == 0 || t.GPUs == 0:
	case t.GPUs > 1: // it needs whole devices, and s takes or breaks so many
		of(int64(s.GPUs), int64(t.GPUs))
	default:
		of(int64(s.GPUs)*int64(max(s.Share, min(t.Share, 1000))), int64(max(t.Share, 1)))
	}
	return int(min(loss, protocol.MaxReplicas))
}

// addInFlight adds replicas that the site was told to hold, and that its bid does not know of.
func (b *siteBid) addInFlight(spec protocol.Service, count int) {
	for i := range b.inFlight {
		if x := &b.inFlight[i]; x.spec.SameReplica(&spec) {
			x.count += count
			return
		}
	}
	b.inFlight = append(b.inFlight, inFlight{spec, count})
}

// available returns a row of a bid less what the bid did not know of.
func (b *siteBid) available(id protocol.ServiceID, spec *protocol.Service) (row protocol.ReplicaBid, ok bool) {
	row, ok = b.rows[id]
	left := row.Available
	for i := range b.inFlight {
		left -= b.inFlight[i].count * lossOf(&b.inFlight[i].spec, spec)
	}
	row.Available = max(left, 0)
	row.Steps = firstSteps(row.Steps, row.Available)
	return row, ok
}

// firstSteps returns the steps of the first replicas.
func firstSteps(steps []protocol.CostStep, count int) (out []protocol.CostStep) {
	for _, s := range steps {
		if s.Count = min(s.Count, count); s.Count == 0 {
			break
		}
		out = append(out, s)
		count -= s.Count
	}
	return out
}
