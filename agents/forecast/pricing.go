package forecast

import "github.com/gridbid/gridbid/protocol"

// milliPerKWh is the number of millijoules in one kWh.
const milliPerKWh = 3_600_000_000

// PriceEnergy prices energy that a run drew (without the facility's overhead) at the
// received values of its hours. It rounds each slice by itself, to the nearest
// unit, so that bills add up. For an hour without a published value it uses the
// service's forecast, or else the last value before it, or else the first after
// it, or else the default; guessed counts the slices that needed one of these.
func (k *GridState) PriceEnergy(slices []protocol.HourlyEnergy) (b protocol.Usage, guessed int) {
	for _, s := range slices {
		h := hourOf(s.Hour)
		price, toldPrice, anyPrice := k.price.nearestValue(h)
		carbon, toldCarbon, anyCarbon := k.carbon.nearestValue(h)
		if d := k.cfg.Default; d != nil && !anyPrice {
			price = int64(d.Price)
		}
		if d := k.cfg.Default; d != nil && !anyCarbon {
			carbon = int64(d.Carbon)
		}
		pue, toldPUE, anyPUE := k.pue.nearestValue(h)
		if !anyPUE {
			// A site without a building meter uses its configured PUE; that is
			// not a missing value.
			pue, toldPUE = int64(k.cfg.NoPUE), true
		}
		energy := mulDiv(int64(s.Energy), pue, 1000)
		b.IT += s.Energy
		b.Energy += protocol.Millijoules(energy)
		b.Carbon += protocol.Milligrams(mulDiv(energy, carbon, milliPerKWh))
		b.Money += protocol.Microdollars(mulDiv(energy, price, milliPerKWh))
		if !toldPrice || !toldCarbon || !toldPUE {
			guessed++
		}
	}
	return b, guessed
}

// HasFacts reports whether price and carbon of the hour of t were published. PUE is left out:
// a site without a building meter has it configured.
func (k *GridState) HasFacts(t protocol.Time) bool {
	_, price := k.price.factAt(hourOf(t))
	_, carbon := k.carbon.factAt(hourOf(t))
	return price && carbon
}

// CanPrice reports whether PriceEnergy can price the slices at all. It cannot before a
// price and a carbon intensity were received, unless a default is configured.
func (k *GridState) CanPrice(slices []protocol.HourlyEnergy) bool {
	for _, s := range slices {
		_, _, price := k.price.nearestValue(hourOf(s.Hour))
		_, _, carbon := k.carbon.nearestValue(hourOf(s.Hour))
		if k.cfg.Default == nil && !(price && carbon) {
			return false
		}
	}
	return true
}
