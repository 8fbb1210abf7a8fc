package serviceday

import (
	"cmp"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A Row is a rule by which the replicas are divided.
type Row struct {
	Name  string
	About string
	// set says how the service is divided from a minute on; it is asked once, or every hour if hourly.
	set func(d *Day, minute int, s *protocol.Service)
	// hourly divides all replicas anew five minutes into each hour, by the rule as it is then.
	hourly bool
	margin float64 // of the load, beyond which the schedule is sized
	// FirstDraw says that the row runs on the first draw of each day alone: rules of others, of which nothing is judged.
	FirstDraw bool
}

// EvenSplit is the row that others are compared with.
const EvenSplit = "even split"

// Ours are our rows.
const (
	OursSteady = "ours, steady"
	OursHourly = "ours, rebalanced hourly"
)

// NoService is the row of the jobs alone: what the service costs them.
const NoService = "no service"

// Rows returns all rows: the first is the reference.
func Rows() []Row {
	weigh := func(weight func(d *Day, i int) int) func(*Day, int, *protocol.Service) {
		return func(d *Day, _ int, s *protocol.Service) {
			s.Division.Rule = protocol.DivideByWeights
			for i, site := range d.Scenario.Sites {
				s.Division.Weights = append(s.Division.Weights, protocol.SiteWeight{Site: site.Name, Weight: weight(d, i)})
			}
		}
	}
	byKnown := func(of protocol.Quantity) func(*Day, int, *protocol.Service) {
		return func(d *Day, minute int, s *protocol.Service) {
			s.Division.Rule = protocol.DivideByCapacity
			for _, name := range d.sitesByKnown(minute, of) {
				s.Division.Tiers = append(s.Division.Tiers, protocol.SiteTier{Sites: []string{name}})
			}
		}
	}
	return []Row{
		{Name: EvenSplit, About: "the same weight for each site, as far as it has room", set: weigh(func(*Day, int) int { return 1 })},
		{Name: "Karmada static weight", FirstDraw: true, About: "weights are the H100s of the site", set: weigh(func(d *Day, i int) int { return placesAt(d.Scenario.Sites[i]) })},
		{Name: "Karmada dynamic weight", FirstDraw: true, About: "in proportion to the replicas that fit", set: func(_ *Day, _ int, s *protocol.Service) { s.Division.Rule = protocol.DivideByCapacity }},
		{Name: "nearest", FirstDraw: true, About: "weights are the requests to which the site is nearest", set: weigh((*Day).nearestShare)},
		{Name: "cheapest", FirstDraw: true, About: "sites are filled by the price of the hour before, anew each hour", set: byKnown(protocol.GridPrice), hourly: true},
		{Name: "greenest", FirstDraw: true, About: "sites are filled by the carbon of the hour before, anew each hour", set: byKnown(protocol.GridCarbon), hourly: true},
		{Name: OursSteady, About: "by cost; what runs stays", margin: distanceMargin, set: func(_ *Day, _ int, s *protocol.Service) { s.Move.Cost = moveCost }},
		{Name: OursHourly, About: "by cost; each hour all that pays moves", margin: distanceMargin, hourly: true, set: func(_ *Day, _ int, s *protocol.Service) {
			s.Move = protocol.MoveSettings{Cost: moveCost, Horizon: rebalanceEvery}
		}},
		{Name: NoService},
	}
}

// distanceMargin is by how much more load the rows by cost are sized: their requests travel farther, and distance
// is paid in replicas. It was chosen on draws apart from those that are judged.
const distanceMargin = 0.01

// moveCost is what a move costs: a replica runs twice for two minutes of start and one of draining.
const moveCost = protocol.Microdollars(2_500)

// rebalanceEvery is how long a replica is expected to stay where all are divided anew each hour.
const rebalanceEvery = 6 * time.Hour

// nearestShare returns which part of the requests, in ten-thousandths, has a site as its nearest.
func (d *Day) nearestShare(site int) int {
	sum := 0.0
	for o := range origins {
		if slices.Index(d.rtt[o], slices.Min(d.rtt[o])) == site {
			sum += origins[o].Share
		}
	}
	return int(10_000*sum + 0.5)
}

// sitesByKnown returns the sites by a quantity of the facility's kWh in the hour before, which is known: the
// lowest first.
func (d *Day) sitesByKnown(minute int, of protocol.Quantity) (names []string) {
	at := d.minuteAt(minute).Add(-time.Hour)
	values := make(map[string]float64)
	for _, site := range d.Scenario.Sites {
		values[site.Name] = valueAt(site, of, at) * pueAt(site, at)
		names = append(names, site.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
	return names
}

// valueAt returns a signal of a site in the hour of an instant, in its protocol's unit.
func valueAt(site spec.Site, of protocol.Quantity, at protocol.Time) float64 {
	points := site.Signals[of]
	i, found := slices.BinarySearchFunc(points, at, func(p protocol.Point, t protocol.Time) int { return cmp.Compare(p.At, t) })
	switch {
	case len(points) == 0:
		return 0
	case !found:
		i = max(i-1, 0)
	}
	return float64(points[min(i, len(points)-1)].Value)
}

// pueAt returns the overhead of a site in the hour of an instant.
func pueAt(site spec.Site, at protocol.Time) float64 {
	if v := valueAt(site, protocol.GridPUE, at); v > 0 {
		return v / 1000
	}
	return 1
}

// rebalanceMinute is the minute of each hour in which an hourly row divides anew: after the hour's count.
const rebalanceMinute = 5

// scenario returns the day with the service under a row.
func (d *Day) scenario(row Row) spec.Scenario {
	s := d.Scenario
	if row.set == nil {
		return s
	}
	s.Events, s.Services = slices.Clone(s.Events), nil
	counts := d.schedule(row.margin)
	submit := func(minute int) {
		x := d.service(counts[minute])
		row.set(d, minute, &x)
		s.Services = append(s.Services, spec.ListedService{At: d.minuteAt(minute), Service: x})
	}
	submit(0)
	for m := 1; m < len(counts); m++ {
		if counts[m] != counts[m-1] {
			s.Events = append(s.Events, spec.Event{At: d.minuteAt(m), Kind: spec.ScaleService, Name: serviceID, Replicas: counts[m]})
		}
		if row.hourly && m%60 == rebalanceMinute {
			s.Events = append(s.Events, spec.Event{At: d.minuteAt(m), Kind: spec.RebalanceService, Name: serviceID})
			submit(m)
		}
	}
	s.Events = append(s.Events, spec.Event{At: d.minuteAt(len(counts)), Kind: spec.DeleteService, Name: serviceID})
	slices.SortStableFunc(s.Events, func(a, b spec.Event) int { return cmp.Compare(a.At, b.At) })
	return s
}
