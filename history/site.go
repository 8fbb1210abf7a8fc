package history

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// An Inventory is what a site consists of from an instant on, as it reported.
type Inventory struct {
	At             protocol.Time
	Pools          []protocol.Pool
	Decommissioned bool // an operator declared the site gone: it has nothing
}

// A Forecast is a site's grid as it was sent with a bid.
type Forecast struct {
	At protocol.Time
	protocol.GridForecast
}

// A MeterReport is a report of one hour of a site.
type MeterReport struct {
	At protocol.Time
	protocol.SiteUsage
}

// A PublishedSignal is what a site's signal source told its agent. The ledger of a coordinator has
// none.
type PublishedSignal struct {
	At protocol.Time
	protocol.Signal
}

// SignalsOf returns what a site's signal source told its agent, as it came. The slice is the
// History's own.
func (b *History) SignalsOf(site string) []PublishedSignal { return b.signals[site] }

// PublishedAt returns what a site's signal source last published of the hour of an instant, until the
// instant known, and when; false if it had not published it by then. A service's forecast is not
// published.
func (b *History) PublishedAt(site string, what protocol.Quantity, at, known protocol.Time) (value int64, said protocol.Time, ok bool) {
	hour := at.Floor(time.Hour)
	for _, s := range slices.Backward(b.signals[site]) {
		if s.What != what || s.Guess || s.At > known {
			continue
		}
		for _, p := range slices.Backward(s.Points) {
			if p.At.Floor(time.Hour) == hour {
				return p.Value, s.At, true
			}
		}
	}
	return 0, 0, false
}

// MeanPower returns the mean draw of the hour, before the facility's share: an hour's millijoules
// over 3,600 seconds.
func (m MeterReport) MeanPower() protocol.Milliwatts {
	return protocol.Milliwatts(int64(m.Total) / 3600)
}

// NewestMeter returns the newest reading of an hour; false if there was none.
func (s *SiteRecord) NewestMeter() (MeterReport, bool) {
	for _, m := range slices.Backward(s.Meters) {
		if m.IsMeterReading() {
			return m, true
		}
	}
	return MeterReport{}, false
}

// IdleGPUs is what a site reported of its idle GPUs, in thousandths.
type IdleGPUs struct {
	At             protocol.Time
	Idle, Unusable protocol.Milli // Unusable: of Idle, those that typical jobs could not have used
}

// A LastBid is the state of a site as its newest bid reports it. Values of the grid that
// the bid left out are those of the bid before.
type LastBid struct {
	Grid protocol.GridForecast
}

// applyBid keeps the state of the site that a bid reports. A series of the grid that the
// message leaves out stays as it was.
func (s *SiteRecord) applyBid(m protocol.Bids) {
	s.answered, s.SilentRounds, s.standing.missedSince = true, 0, 0
	s.Bid.Grid.From = m.Grid.From
	if len(m.Grid.Price) > 0 {
		s.Bid.Grid.Price = m.Grid.Price
	}
	if len(m.Grid.Carbon) > 0 {
		s.Bid.Grid.Carbon = m.Grid.Carbon
	}
	if len(m.Grid.PUE) > 0 {
		s.Bid.Grid.PUE = m.Grid.PUE
	}
}

// LastMessage returns when the newest message of the site's agent was sent; 0 without any.
func (s *SiteRecord) LastMessage() protocol.Time {
	if s == nil || len(s.MessageTimes) == 0 {
		return 0
	}
	return s.MessageTimes[len(s.MessageTimes)-1]
}

// PoolsAt returns what a site consisted of at an instant, by its newest report until
// then, or else by its first.
func (s *SiteRecord) PoolsAt(at protocol.Time) (all []protocol.Pool) {
	for i, x := range s.Inventories {
		if i == 0 || x.At <= at {
			all = x.Pools
		}
	}
	return all
}

// ForecastAt returns the newest forecast that a site had sent at an instant.
func (s *SiteRecord) ForecastAt(at protocol.Time) (Forecast, bool) {
	for _, f := range slices.Backward(s.Forecasts) { // a site's clock may have been set back
		if f.At <= at {
			return f, true
		}
	}
	return Forecast{}, false
}

// A GridHour is a site's grid in one hour, per kWh, as the site expects it.
type GridHour struct {
	Price  protocol.Microdollars
	Carbon protocol.Milligrams
	PUE    protocol.Milli        // 0: not said
	Ahead  []protocol.Milligrams // Carbon of the hours after
}

// GridAt returns the grid of a site in the hour of an instant, as its newest bid until then
// expects it; false if that does not reach so far.
func (b *History) GridAt(site string, at protocol.Time) (h GridHour, ok bool) {
	s := b.sites[site]
	if s == nil {
		return h, false
	}
	f := Forecast{GridForecast: s.Bid.Grid}
	if !b.cfg.Live { // which keeps the newest alone
		if f, ok = s.ForecastAt(at); !ok {
			return h, false
		}
	}
	i := int(at.Sub(f.From) / time.Hour)
	if i < 0 || i >= len(f.Carbon) || i >= len(f.Price) {
		return h, false
	}
	h = GridHour{Price: f.Price[i], Carbon: f.Carbon[i], Ahead: f.Carbon[i+1:]}
	if i < len(f.PUE) {
		h.PUE = f.PUE[i]
	}
	return h, true
}

// IdleGPUsAt returns the newest report of idle GPUs until an instant; false if the site
// never reports them, as agents of earlier versions do not.
func (s *SiteRecord) IdleGPUsAt(at protocol.Time) (last IdleGPUs, ok bool) {
	for _, x := range s.Idles {
		if x.At <= at {
			last, ok = x, s.reportsIdle
		}
	}
	return last, ok
}

// ReportingSite returns what is known of a site that sent a message; nil of any other. It is the
// History's own and must not be changed.
func (b *History) ReportingSite(name string) *SiteRecord {
	if s := b.sites[name]; s != nil && len(s.MessageTimes) > 0 {
		return s
	}
	return nil
}

// ReportingSiteNames returns the sites that sent a message, by name.
func (b *History) ReportingSiteNames() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(b.sites)) {
		if name != "" && len(b.sites[name].MessageTimes) > 0 {
			all = append(all, name)
		}
	}
	return all
}

// noteMessageTime notes when a site's agent sent a message. A live view keeps the newest alone.
func (b *History) noteMessageTime(m protocol.Message) {
	name := m.From.SiteName()
	if m.From != protocol.AgentParty(name) {
		return
	}
	s := b.siteRecord(name)
	if b.cfg.Live {
		s.MessageTimes = append(s.MessageTimes[:0], max(s.LastMessage(), m.At))
		return
	}
	s.MessageTimes = append(s.MessageTimes, m.At)
}

// foldRegisterSite records what a site consists of. A site may register many times; an
// inventory is listed only where it differs from the one before.
func (b *History) foldRegisterSite(from MessageRef, m protocol.RegisterSite) {
	s := b.siteRecord(m.Site)
	s.Pools, s.registeredAt, s.decommissioned = m.Pools, from.At, false
	s.Registered, s.answered, s.SilentRounds = true, true, 0
	s.standing.gone, s.standing.revoked = SiteCondition{}, SiteCondition{}
	if s.standing.registered.State == "" {
		s.standing.registered = SiteCondition{State: protocol.SiteOK, Since: from.At}
	}
	b.noteCondition(s, from.At, false)
	if b.cfg.Live {
		return
	}
	if n := len(s.Inventories); n == 0 || s.Inventories[n-1].Decommissioned || !slices.Equal(s.Inventories[n-1].Pools, m.Pools) {
		s.Inventories = append(s.Inventories, Inventory{At: from.At, Pools: m.Pools})
	}
}

// IsDecommissioned reports whether an operator declared the site gone, and it has not registered since.
func (s *SiteRecord) IsDecommissioned() bool { return s.decommissioned }

// decommission notes that an operator declared the site gone, by its condition from now on. A registration with a later time
// counts, in whichever order the two were written; a live view has them in order.
// Should the site come back, it begins anew.
func (s *SiteRecord) decommission(c SiteCondition, live bool) {
	at := c.Since
	if live || s.registeredAt < at {
		s.decommissioned, s.Drained = true, false
		s.standing = siteStanding{changes: s.standing.changes, monitor: s.standing.monitor, gone: c}
	}
	if n := len(s.Inventories); n > 0 && s.Inventories[n-1].At < at {
		s.Inventories = append(s.Inventories, Inventory{At: at, Decommissioned: true})
	}
}

// addForecast keeps the first and the last forecast of an hour; those between are
// replaced.
func (s *SiteRecord) addForecast(f Forecast) {
	n := len(s.Forecasts)
	if n >= 2 && s.Forecasts[n-1].From == f.From && s.Forecasts[n-2].From == f.From {
		s.Forecasts[n-1] = f
		return
	}
	s.Forecasts = append(s.Forecasts, f)
}

// addIdle keeps a report of idle GPUs where it differs from the one before. An agent of an
// earlier version sends zeros only, which reportsIdle tells from a site that is full.
func (s *SiteRecord) addIdle(x IdleGPUs) {
	if x.Idle < 0 || x.Unusable < 0 || x.Unusable > x.Idle {
		return // it cannot be true
	}
	if n := len(s.Idles); n > 0 && s.Idles[n-1].Idle == x.Idle && s.Idles[n-1].Unusable == x.Unusable {
		return
	}
	s.Idles = append(s.Idles, x)
	s.reportsIdle = s.reportsIdle || x.Idle > 0
}

// foldSiteUsage adds the report of one hour: idle draw and corrections of bills to the site's
// sums, and both meters to the hour, for checkSums.
func (b *History) foldSiteUsage(from MessageRef, m protocol.SiteUsage) {
	s := b.siteRecord(from.From.SiteName())
	s.Idle = s.Idle.Plus(m.Idle)
	s.Jobs, s.Corrections = s.Jobs.Plus(m.Jobs), s.Corrections.Plus(m.Jobs)
	s.Metered += m.Total
	if b.cfg.Live {
		if m.IsMeterReading() {
			s.Meters = append(s.Meters[:0], MeterReport{from.At, m})
		}
		return
	}
	h := s.meteredHour(m.Hour)
	h.idle += m.Idle.IT
	h.total += m.Total
	s.Meters = append(s.Meters, MeterReport{from.At, m})
	b.addCost(from.At, m.Idle.Plus(m.Jobs), 1, false)
}

// A CostSoFar is what the run had cost when something was added to it: bills of ended
// jobs, and idle draw as far as it was metered.
type CostSoFar struct {
	At     protocol.Time
	Energy protocol.Millijoules
	Carbon protocol.Milligrams
	Money  protocol.Microdollars
	Late   int // jobs that ended after their deadline
}

// RunningCosts returns the running sums, by time. The slice is the History's own.
func (b *History) RunningCosts() []CostSoFar { return b.spent }

// addCost appends to the running sums, or takes a bill back: times is 1 or -1. Times never
// decrease, and none is later than the covered span, so that one wrong clock does not put off
// the sums after it.
func (b *History) addCost(at protocol.Time, bill protocol.Usage, times int64, late bool) {
	if b.cfg.Live {
		return
	}
	var s CostSoFar
	if n := len(b.spent); n > 0 {
		s = b.spent[n-1]
	}
	s.At = max(s.At, min(at, b.span.Last))
	s.Energy += bill.Energy * protocol.Millijoules(times)
	s.Carbon += bill.Carbon * protocol.Milligrams(times)
	s.Money += bill.Money * protocol.Microdollars(times)
	if late {
		s.Late += int(times)
	}
	b.spent = append(b.spent, s)
}
