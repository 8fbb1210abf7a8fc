package services

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/coordinator/division"
	"github.com/gridbid/gridbid/protocol"
)

// hysteresis is by which part a rebalance by cost must save more than its moves cost, in thousandths.
const hysteresis = protocol.Milli(200)

// closeCall divides the services of the call by the bids that came: together where they compete for the same
// GPUs, else one after the other. What one gets is taken off the bids for the next then.
func (k *Services) closeCall(now protocol.Time, sites []Site) {
	c := k.call
	k.call = nil
	if k.quotaRoom != nil {
		c.room = k.quotaRoom(now)
	}
	all := slices.DeleteFunc(slices.Clone(c.services), func(s *service) bool { return k.all[s.spec.ID] != s || s.deleted })
	for _, s := range all {
		k.previewRebalance(now, s, c, sites)
	}
	if k.divideTogether(now, all, c, sites) {
		return
	}
	for _, s := range all {
		k.divide(now, s, c, sites)
	}
}

// previewRebalance says what a rebalance of a service would decide by the bids of a call, if somebody asked.
func (k *Services) previewRebalance(now protocol.Time, s *service, c *call, sites []Site) {
	if !s.preview {
		return
	}
	s.preview = false
	r := k.request(now, s, c, sites)
	r.Rebalance = false
	stay, err := division.Divide(r)
	r.Rebalance = true
	d, fault := division.Divide(r)
	if err != nil || fault != nil { // bids were checked, so it is ours: nobody is answered
		k.counts["division-failed"]++
		return
	}
	b := protocol.ServiceDivision{Service: s.spec.ID, Decision: s.decision, Wanted: s.spec.Wanted, Pending: d.Pending + s.overQuota, Why: protocol.Reason{Code: protocol.Rebalanced}, Preview: true}
	if s.spec.Load > 0 {
		b.Wanted = d.Placed + d.Pending
	}
	if s.spec.Division.Rule == protocol.DivideByCost {
		b.Cost, b.Bound, b.Stay, b.Starts = d.Cost, d.LowerBound, stay.Cost, d.StartCost
	}
	for _, x := range d.Shares {
		if before := s.target[x.Site]; x.Replicas > 0 || before > 0 {
			b.Sites = append(b.Sites, protocol.SiteCount{Site: x.Site, Count: x.Replicas, Before: before})
		}
	}
	b.Move = d.Moves > 0
	k.send("", b, false)
}

// divide divides one service by the bids of a call.
func (k *Services) divide(now protocol.Time, s *service, c *call, sites []Site) {
	r := k.request(now, s, c, sites)
	cause := s.cause
	var d division.Division
	var err error
	if stuck := s.stuckReplicas(now, r.Sites); len(stuck) > 0 && cause == "" {
		d, err = division.Reschedule(r, stuck, k.cfg.Stuck)
		cause = protocol.Rescheduled
	} else {
		d, err = division.Divide(r)
	}
	if err != nil { // bids were checked, so it is ours: the service stays as it is
		k.counts["division-failed"]++
		s.lack = protocol.Reason{Code: protocol.Malformed, Note: err.Error()}
		s.due, s.cause, s.rebalance = now.Add(k.cfg.Check), "", false
		return
	}
	k.conclude(now, s, r, d, cause, c, sites)
}

// conclude decides by a division, and has a service that is not settled looked at again.
func (k *Services) conclude(now protocol.Time, s *service, r division.Request, d division.Division, cause protocol.Code, c *call, sites []Site) {
	s.due, s.cause, s.rebalance = 0, "", false
	if d.Pending += s.overQuota; s.spec.Load > 0 && r.Max < s.mostReplicas() && (d.Reason == division.AtMost || r.Max == 0) {
		s.overQuota = d.Pending // how many its load takes is known only now
	}
	k.decide(now, s, r, d, cause, c, sites)
	keeps := d.Placed > s.wanted() || s.spec.Load > 0 && slices.ContainsFunc(r.Sites, func(x division.Site) bool { return x.Silent && x.Held > 0 })
	if s.pending > 0 || keeps || d.Reason == division.TooLittleFailover || s.isUnsettled() { // a site that did not answer may keep too many
		s.due = now.Add(k.cfg.Check).Floor(k.cfg.Check)
	}
}

// isUnsettled reports whether replicas of s find no node, are on their way or have not started.
func (s *service) isUnsettled() bool {
	for _, site := range s.siteNames() {
		w, st := s.wish[site], s.status[site]
		if w.count == 0 {
			continue // it is repeated until the site is back
		}
		if st.Revision != w.revision || st.Pending > 0 || st.Ready != w.count || w.count != s.target[site] {
			return true
		}
	}
	return false
}

// request returns what is to be divided: the service, and its sites as they bid. A site that is lost or
// drained is left out; one whose bid did not come, or cannot be true, keeps what it has.
func (k *Services) request(now protocol.Time, s *service, c *call, sites []Site) division.Request {
	p := &s.spec
	r := division.Request{
		UID: string(p.ID), Kind: kindOf(p.Division.Rule), Wanted: p.Wanted, Min: p.Min, Max: p.Max, MinPerSite: p.Division.MinPerSite,
		Rebalance: s.rebalance, ExclusiveTiers: p.Division.Exclusive,
		Move: division.Move{Horizon: p.MoveHorizon(), Hysteresis: hysteresis},
	}
	if r.Wanted = c.withinQuota(s); p.Load > 0 {
		r.Wanted, r.Max = 0, r.Wanted
		r.Load, r.Failover, r.Serves = p.Load, p.Failover, p.BestGoodput()
	}
	r.Min = min(r.Min, r.Wanted)
	r.SpreadConstraints = spreadOf(p.Division)
	barred := k.barredSites(s, sites)
	s.barred = nil
	if p.Load > 0 && r.Max == 0 { // no quota allows one
		return r
	}
	for _, site := range sites {
		tier, allowed := p.TierOf(site.Name)
		if !allowed || site.Draining || k.isLost(now, site.Name) {
			continue
		}
		if barred[site.Name] || isUnplaced(&site, r.SpreadConstraints) {
			s.barred = append(s.barred, site.Name)
			if s.target[site.Name] == 0 || s.rebalance || isUnplaced(&site, r.SpreadConstraints) {
				continue
			}
		}
		x := division.Site{Name: site.Name, Region: site.Location.Region, Provider: site.Location.Provider, Tier: tier, Weight: p.WeightOf(site.Name), Held: s.target[site.Name], Start: p.Move.Cost, Silent: true, HeldServes: s.leastGoodput(&site)}
		if bid := c.bids[site.Name]; bid != nil {
			if row, ok := bid.available(p.ID, p); ok {
				back := s.heldBack(&x)
				x.Silent, x.Free = false, row.Available+back
				x.Steps = k.stepsOf(row, x.Held+back, x.HeldServes, p.GPUMilli(), p.CarbonFactor())
				if barred[site.Name] { // what runs there stays, and no more comes
					x.Free = 0
				}
			}
		}
		r.Sites = append(r.Sites, x)
	}
	return r
}

// heldBack returns how many replicas are held back at a site while their successors start: they are room
// at the cost of one that runs.
func (s *service) heldBack(x *division.Site) int { return max(s.wish[x.Name].count-x.Held, 0) }

// stepsOf returns what a site bids that replicas cost, the first so many of which it holds, with carbon at
// so many thousandths of its price. What it holds and has not placed yet is taken to serve least. Those beyond what is left to jobs cost what it costs that a job waits for
// their GPUs, as it may then: so they go elsewhere if that is not dearer yet.
func (k *Services) stepsOf(row protocol.ReplicaBid, held int, least, each, factor protocol.Milli) (steps []division.Step) {
	of := protocol.CostStep{Count: held, Cost: row.HeldCost, Carbon: row.HeldCarbon, Serves: row.HeldServes}
	if of.Cost == 0 { // it has not placed them yet
		if len(row.Steps) > 0 {
			of.Cost, of.Carbon = row.Steps[0].Cost, row.Steps[0].Carbon
		}
		of.Serves = least
	}
	waits := k.cfg.Weights.WaitNow * protocol.Microdollars(each) / 1000
	left := max(held+row.Available-row.Beyond, 0) // within what is left to replicas
	add := func(n int, cost protocol.Microdollars, serves protocol.Milli) {
		if n > 0 {
			steps = append(steps, division.Step{Replicas: n, Cost: min(cost, protocol.MaxMoney), Serves: serves})
		}
	}
	for _, x := range slices.Insert(slices.Clone(row.Steps), 0, of) {
		cost, within := k.weighCarbon(x, factor), min(x.Count, left)
		left -= within
		add(within, cost, x.Serves)
		add(x.Count-within, cost+waits, x.Serves)
	}
	return steps
}

// kindOf returns the kind of division of a rule.
func kindOf(r protocol.DivisionRule) division.Kind {
	switch r {
	case protocol.DivideByCapacity:
		return division.ByFreeReplicas
	case protocol.DivideByWeights:
		return division.ByWeight
	case protocol.DivideAmongFewest:
		return division.FewestSites
	}
	return division.ByCost
}

// stuckReplicas returns the replicas that find no node at their sites, and since when.
func (s *service) stuckReplicas(now protocol.Time, sites []division.Site) (all []division.Stuck) {
	for i := range sites {
		if st := s.status[sites[i].Name]; st.Pending > 0 && sites[i].Held > 0 {
			all = append(all, division.Stuck{Site: sites[i].Name, Ready: st.Ready, Unschedulable: st.Pending, For: max(now.Sub(st.Since), 0)})
		}
	}
	return all
}

// decide records a division and tells the sites what changes.
func (k *Services) decide(now protocol.Time, s *service, r division.Request, d division.Division, cause protocol.Code, c *call, sites []Site) {
	counts := make(map[string]int)
	for _, x := range d.Shares {
		if x.Replicas > 0 {
			counts[x.Site] = x.Replicas
		}
	}
	if maps.Equal(counts, s.target) && d.Pending == s.pending && (cause == "" || cause == protocol.Rescheduled) && s.decision > 0 {
		return // nobody asked, and nothing changes
	}
	if cause == "" && s.overBudget.Code != "" {
		cause = s.overBudget.Code
	}
	if cause == "" {
		cause = protocol.RoomAppeared
	}
	before, placed := s.target, s.placed()
	s.target, s.pending = counts, d.Pending
	s.lack = lackOf(s, d)
	if c.room != nil { // services that are divided next have so much less room
		c.room.Take(&s.spec, protocol.Milli(s.placed()-placed)*s.spec.GPUMilli())
	}
	s.decision++
	b := protocol.ServiceDivision{Service: s.spec.ID, Decision: s.decision, Wanted: s.wanted(), Pending: d.Pending, Why: protocol.Reason{Code: cause}, Lack: s.lack}
	if s.spec.Division.Rule == protocol.DivideByCost {
		b.Cost, b.Bound = d.Cost, d.LowerBound
		k.compare(&b, s, r, d, c)
	}
	grows, shrinks := false, false
	for _, site := range namesOf(before, counts) {
		b.Sites = append(b.Sites, protocol.SiteCount{Site: site, Count: counts[site], Before: before[site]})
		if more := counts[site] - before[site]; more > 0 {
			grows = true
			if bid := c.bids[site]; bid != nil { // and at the site, too
				bid.addInFlight(s.spec, more)
			}
		} else if more < 0 {
			shrinks = true
		}
	}
	b.Move = grows && shrinks
	k.send("", b, true)
	// What is to leave a site stays until as many run elsewhere; what finds no node there does not run.
	k.assignTargets(now, s, cause != protocol.Rescheduled, k.reachable(now, sites))
	k.finishMove(now, s)
}

// reachable returns the sites that can be told to keep replicas until others run.
func (k *Services) reachable(now protocol.Time, sites []Site) map[string]bool {
	all := make(map[string]bool, len(sites))
	for _, s := range sites {
		all[s.Name] = !k.isLost(now, s.Name)
	}
	return all
}

// namesOf returns the keys of both maps, sorted.
func namesOf(x, y map[string]int) []string {
	names := slices.Concat(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y)))
	slices.Sort(names)
	return slices.Compact(names)
}

// lackOf says why replicas are pending, or are not where the service asks for them.
func lackOf(s *service, d division.Division) (why protocol.Reason) {
	switch {
	case d.Pending > 0:
	case d.Reason == division.TooFewGroups:
		return protocol.Reason{Code: protocol.TooFewReplicas, Note: "it is in fewer sites, regions or providers than it asks for: no others have room"}
	case d.Reason == division.TooLittleFailover:
		return protocol.Reason{Code: protocol.TooFewReplicas, Note: fmt.Sprintf("if a site is lost, less than %g of its load is served: no other sites have room", float64(s.spec.Failover)/1000)}
	case d.Reason == division.HeldBySilent:
		return protocol.Reason{Code: protocol.NoAnswer, Note: "a site that did not answer keeps more than are wanted"}
	default:
		return why
	}
	if s.overQuota > 0 {
		return s.lackOfQuota()
	}
	if d.Reason == division.AtMost {
		return protocol.Reason{Code: protocol.TooFewReplicas, Note: fmt.Sprintf("its load takes %d, and %d are the most that it may have", s.wanted(), s.mostReplicas())}
	}
	if len(s.barred) > 0 {
		note := fmt.Sprintf("%d wanted, %d fit; its affinities and spread bar it from %s", s.wanted(), d.Placed, strings.Join(s.barred, ", "))
		return protocol.Reason{Code: protocol.TooFewReplicas, Note: note}
	}
	switch d.Reason {
	case division.GroupsFull:
		return protocol.Reason{Code: protocol.TooFewReplicas, Note: fmt.Sprintf("%d wanted, %d fit in as few sites, regions and providers as it may use", s.wanted(), d.Placed)}
	case division.NoSites:
		return protocol.Reason{Code: protocol.NoSiteAllowed, Note: "no site that may run it has answered"}
	case division.HeldBySilent:
		return protocol.Reason{Code: protocol.NoAnswer}
	case division.NoTierFitsAll:
		return protocol.Reason{Code: protocol.TooFewReplicas, Note: fmt.Sprintf("no group has room for all %d", s.wanted())}
	}
	return protocol.Reason{Code: protocol.TooFewReplicas, Note: fmt.Sprintf("%d wanted, %d fit", s.wanted(), d.Room)}
}
