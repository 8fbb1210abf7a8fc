package forecast

import "github.com/gridbid/gridbid/protocol"

// milliPerKWh is the millijoules of one kWh.
const milliPerKWh = 3_600_000_000

// Bill prices energy that was drawn (before the facility's share) at what was
// told of its hours, and rounds each slice by itself, to the nearest unit: so
// bills add up. A value that was not told as a fact counts as others guessed it, or
// else as the last one before it, or else the first one after it, or else the
// default; guessed is how many slices needed one.
func (k *Known) Bill(slices []protocol.Slice) (b protocol.Bill, guessed int) {
	for _, s := range slices {
		h := hourOf(s.Hour)
		price, toldPrice, anyPrice := k.price.near(h)
		carbon, toldCarbon, anyCarbon := k.carbon.near(h)
		if d := k.cfg.Default; d != nil && !anyPrice {
			price = int64(d.Price)
		}
		if d := k.cfg.Default; d != nil && !anyCarbon {
			carbon = int64(d.Carbon)
		}
		pue, toldPUE, anyPUE := k.pue.near(h)
		if !anyPUE {
			// A site without a meter for its building has its usual factor.
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

// Prices reports whether hours of energy can be priced at all: not before anything was
// told of price and carbon, where there is no default.
func (k *Known) Prices(slices []protocol.Slice) bool {
	for _, s := range slices {
		_, _, price := k.price.near(hourOf(s.Hour))
		_, _, carbon := k.carbon.near(hourOf(s.Hour))
		if k.cfg.Default == nil && !(price && carbon) {
			return false
		}
	}
	return true
}
