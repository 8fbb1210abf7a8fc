package forecast

import "github.com/gridbid/gridbid/protocol"

// A Curve prices runs by one forecast. Pricing a run takes constant time, because
// the sums up to each hour are made once; a site prices thousands of runs.
type Curve struct {
	from hour
	sums []rates // Invariant: sums[i] is the sum of the first i hours
}

// rates are what one hour of one milliwatt costs, in the unit of each field.
type rates struct {
	energy int64 // thousandths: PUE
	carbon int64 // PUE x mg/kWh
	money  int64 // PUE x microdollars/kWh
}

func (r rates) plusRates(s rates) rates {
	return rates{r.energy + s.energy, r.carbon + s.carbon, r.money + s.money}
}

func (r rates) timesScalar(n int64) rates { return rates{r.energy * n, r.carbon * n, r.money * n} }

// NewCurve returns the curve of o, or nil if o has no price or no carbon. It
// clamps values to the limits of a grid, since o may come from an untrusted party.
func NewCurve(o protocol.GridForecast) *Curve {
	n := min(len(o.Price), len(o.Carbon))
	if n == 0 {
		return nil
	}
	c := &Curve{from: hourOf(o.From), sums: make([]rates, n+1)}
	pue := int64(1200) // the default of Config.NoPUE
	for i := range n {
		if i < len(o.PUE) {
			pue = pueLimits.clampValue(int64(o.PUE[i]))
		}
		c.sums[i+1] = c.sums[i].plusRates(rates{
			energy: pue,
			carbon: pue * carbonLimits.clampValue(int64(o.Carbon[i])),
			money:  pue * priceLimits.clampValue(int64(o.Price[i])),
		})
	}
	return c
}

// CostBetween returns energy, carbon and money of power drawn from one instant to
// another. power excludes the facility's overhead and the results include it;
// they are exact and rounded once. After the forecast its last day repeats;
// before it, its first hour holds. A result too large for its unit becomes the
// largest value of the unit.
func (c *Curve) CostBetween(from, to protocol.Time, power protocol.Milliwatts) (protocol.Millijoules, protocol.Milligrams, protocol.Microdollars) {
	s := c.SpanBetween(from, to)
	return s.CostOf(power)
}

// A Span is a curve between two instants. It prices any power drawn throughout, so that the curve
// is read once for a run and for the node that the run keeps awake.
type Span struct{ hours, ms rates }

// SpanBetween returns the span from one instant to another; an empty one costs nothing.
func (c *Curve) SpanBetween(from, to protocol.Time) (s Span) {
	if to <= from {
		return s
	}
	s.hours, s.ms = c.sumUntil(to)
	hours, ms := c.sumUntil(from)
	s.hours, s.ms = s.hours.plusRates(hours.timesScalar(-1)), s.ms.plusRates(ms.timesScalar(-1))
	return s
}

// CostOf returns energy, carbon and money of power drawn throughout the span: see CostBetween.
func (s *Span) CostOf(power protocol.Milliwatts) (protocol.Millijoules, protocol.Milligrams, protocol.Microdollars) {
	if power <= 0 {
		return 0, 0, 0
	}
	p := min(int64(power), maxPower)
	return protocol.Millijoules(scaledTotal(s.hours.energy, s.ms.energy, p, energyUnits)),
		protocol.Milligrams(scaledTotal(s.hours.carbon, s.ms.carbon, p, costUnits)),
		protocol.Microdollars(scaledTotal(s.hours.money, s.ms.money, p, costUnits))
}

// CarbonAndMoneyOf is CostOf without the energy.
func (s *Span) CarbonAndMoneyOf(power protocol.Milliwatts) (protocol.Milligrams, protocol.Microdollars) {
	if power <= 0 {
		return 0, 0
	}
	p := min(int64(power), maxPower)
	return protocol.Milligrams(scaledTotal(s.hours.carbon, s.ms.carbon, p, costUnits)), protocol.Microdollars(scaledTotal(s.hours.money, s.ms.money, p, costUnits))
}

const (
	maxPower          = 1 << 40   // milliwatts: a gigawatt
	maxHoursFromStart = 1_000_000 // hours from the forecast's start: sums stay below 2^60
	usPerMJ           = 1000      // mW x ms in one millijoule
	thousands         = 1000      // PUE

	energyUnits = usPerMJ * thousands               // of mW x ms x PUE in one millijoule
	costUnits   = usPerMJ * thousands * milliPerKWh // likewise, with a value per kWh
)

// sumUntil returns the sum from the forecast's start to t: that of whole hours, and
// the rate of t's hour times the milliseconds that have passed in it.
func (c *Curve) sumUntil(t protocol.Time) (hours, ms rates) {
	t = min(max(t, (c.from-maxHoursFromStart).startTime()), (c.from + maxHoursFromStart).startTime())
	h := hourOf(t)
	gone, i := int64(t-h.startTime()), int64(h-c.from)
	n := int64(len(c.sums) - 1)
	if i < 0 {
		first := c.sums[1]
		return first.timesScalar(i), first.timesScalar(gone)
	}
	if i < n {
		return c.sums[i], c.hourRate(i).timesScalar(gone)
	}
	cycle := min(n, day)
	start := n - cycle
	rounds, rest := (i-start)/cycle, (i-start)%cycle
	whole := c.sums[n].plusRates(c.sums[start].timesScalar(-1))
	return c.sums[start+rest].plusRates(whole.timesScalar(rounds)), c.hourRate(start + rest).timesScalar(gone)
}

func (c *Curve) hourRate(i int64) rates { return c.sums[i+1].plusRates(c.sums[i].timesScalar(-1)) }
