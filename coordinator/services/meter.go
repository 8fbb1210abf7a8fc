package services

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Replicas are paid for by the hour, as their sites read their meters: docs/quotas.md, decision 0430.

// A siteMeter is what is known of the meter of a service at a site.
type siteMeter struct {
	settled protocol.ReplicaMeter // the reading that was paid for last
	hourly  protocol.Usage        // of one replica in an hour: as it was read or bid last
	from    uint64                // the revision by which the site was told first; a reading of before is of a deleted service of this id
}

// maxMeterSkew is how far the clock of a site may be from ours for its readings to count.
const maxMeterSkew = time.Minute

// beginMeter notes when and by which revision a site is told for the first time to hold replicas: nothing that is
// older is paid for.
func (s *service) beginMeter(now protocol.Time, site string, revision uint64) {
	x := s.meters[site]
	if x.settled.IsZero() {
		x.settled.Until = now.Add(-maxMeterSkew)
	}
	if x.from == 0 {
		x.from = revision
	}
	s.meters[site] = x
}

// settleMeter pays for what the replicas of a service took at a site since the reading before. A reading counts if it
// goes on from that one, or if the meter began anew after it, and if so many replicas could run there. It is that of a
// status.
func (k *Services) settleMeter(now protocol.Time, s *service, site *Site, of protocol.ReplicaStatus) {
	m, x := of.Meter, s.meters[site.Name]
	last := x.settled
	if x.from == 0 || of.Revision < x.from || m.Until <= last.Until || m.Until > now.Add(maxMeterSkew) {
		return
	}
	from, before := m.Since, protocol.ReplicaMeter{}
	if m.Since == last.Since {
		from, before = last.Until, last
	}
	ran, used := m.Ran-before.Ran, m.Used.Usage().Minus(before.Used.Usage())
	if from < last.Until || ran < 0 || min(used.IT, used.Energy) < 0 || used.Carbon < 0 || ran > time.Duration(mostReplicas(site, &s.spec))*m.Until.Sub(from) {
		k.counts["impossible-meter"]++
		return
	}
	s.meters[site.Name] = siteMeter{settled: m, hourly: hourlyOf(used, ran, x.hourly), from: x.from}
	k.send("", protocol.ServiceSettlement{Service: s.spec.ID, Site: site.Name, Payer: s.spec.Tenant, From: from, Ran: ran, Counted: used, Meter: m}, true)
}

// hourlyOf returns what a replica takes in an hour, by what replicas took in a time; if that is too short to tell, what
// was known before.
func hourlyOf(used protocol.Usage, ran time.Duration, before protocol.Usage) protocol.Usage {
	if ran < time.Minute {
		return before
	}
	return scaledUsage(used, float64(time.Hour)/float64(ran))
}

// scaledUsage returns a multiple of the energy at the meter, the carbon and the money of u.
func scaledUsage(u protocol.Usage, by float64) protocol.Usage {
	return protocol.Usage{
		Energy: protocol.Millijoules(float64(u.Energy) * by), Carbon: protocol.Milligrams(float64(u.Carbon) * by), Money: protocol.Microdollars(float64(u.Money) * by),
	}
}

// Foreseen is what replicas of a service take at a site, but is not paid for: what they took since the last reading of
// their meter, or what they will take in the hour to come.
type Foreseen struct {
	Service  *protocol.Service
	From, To protocol.Time
	Usage    protocol.Usage
}

// EachForeseen calls do with what the replicas of each service took and were not paid for, and with what they will take
// in the hour to come, as they are divided now.
func (k *Services) EachForeseen(now protocol.Time, do func(f Foreseen)) {
	for _, s := range k.inOrder() {
		for _, site := range slices.Sorted(maps.Keys(s.target)) {
			m := s.meters[site]
			if m.settled.Until != 0 && m.settled.Until < now {
				do(Foreseen{&s.spec, m.settled.Until, now, replicasFor(m.hourly, s.target[site], now.Sub(m.settled.Until))})
			}
		}
		do(Foreseen{&s.spec, now, now.Add(time.Hour), s.nextHour()})
	}
}

// nextHour returns what the replicas of a service, as they are divided now, will take in the hour to come.
func (s *service) nextHour() (sum protocol.Usage) {
	for _, site := range slices.Sorted(maps.Keys(s.target)) {
		sum = sum.Plus(replicasFor(s.meters[site].hourly, s.target[site], time.Hour))
	}
	return sum
}

// replicasFor returns what so many replicas take in a time.
func replicasFor(hourly protocol.Usage, count int, d time.Duration) protocol.Usage {
	return scaledUsage(hourly, float64(count)*(float64(d)/float64(time.Hour)))
}

// dearestHour returns what a replica of a service takes in an hour where that is most, of the sites that bid for it or
// have some: the most money, and the most carbon.
func (s *service) dearestHour(c *call) (u protocol.Usage) {
	for _, site := range slices.Sorted(maps.Keys(s.meters)) {
		if _, bids := c.bids[site]; bids || s.target[site] > 0 {
			h := s.meters[site].hourly
			u.Energy, u.Money, u.Carbon = max(u.Energy, h.Energy), max(u.Money, h.Money), max(u.Carbon, h.Carbon)
		}
	}
	return u
}

// DivideSoon has a service divided soon, by what quotas leave it now.
func (k *Services) DivideSoon(now protocol.Time, id protocol.ServiceID) {
	if s := k.all[id]; s != nil && !s.deleted {
		k.callFor(now, s, "")
	}
}

// siteOf returns a site by its name; nil if it is not registered.
func siteOf(sites []Site, name string) *Site {
	if i := slices.IndexFunc(sites, func(x Site) bool { return x.Name == name }); i >= 0 {
		return &sites[i]
	}
	return nil
}
