package market

import (
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// Runs that prices make dearer than what is reserved for them, and budgets: docs/quotas.md, decision 0431. What a
// watched run takes is reckoned by the hour, by the forecast that its site stated with its newest bid.

// A reckoning is what a run took until an instant, and with the hour after it.
type reckoning struct {
	until         protocol.Time
	taken, toTake accounts.Amounts
}

// reckon brings the reckoning of a watched run up to now.
func (k *Market) reckon(now protocol.Time, l *lot) {
	r := &l.reckoned
	from := max(l.option.Start, l.start, r.until)
	if now <= from || l.option.Finish <= l.option.Start {
		return
	}
	r.until, r.taken = now, plus(r.taken, k.amountsBetween(l, from, now))
	r.toTake = plus(r.taken, k.amountsBetween(l, now, max(min(now.Add(time.Hour), l.plannedEnd()), now)))
}

// plus returns the sum of two amounts.
func plus(a, b accounts.Amounts) accounts.Amounts {
	return accounts.Amounts{Money: a.Money + b.Money, Carbon: a.Carbon + b.Carbon}
}

// isDearer reports whether a run takes more, by its reckoning, than was reserved for it when it was awarded.
func (l *lot) isDearer() bool {
	return l.reckoned.until != 0 && (l.reckoned.toTake.Money > l.option.Money+l.off.Money || l.reckoned.toTake.Carbon > l.option.Carbon+l.off.Carbon)
}

// amountsBetween returns what a run takes from one instant to another, by the newest forecast of its site; at the rate
// of its bid if there is none, and of money if what was bid is paid in any case.
func (k *Market) amountsBetween(l *lot, from, to protocol.Time) (sum accounts.Amounts) {
	span := float64(l.option.Finish - l.option.Start)
	part := float64(to-from) / span
	sum = accounts.Amounts{Money: protocol.Microdollars(float64(l.option.Money) * part), Carbon: protocol.Milligrams(float64(l.option.Carbon) * part)}
	s := k.sites[l.site]
	if s == nil || len(s.forecast.Price) == 0 || len(s.forecast.Carbon) != len(s.forecast.Price) {
		return sum
	}
	var money, carbon float64
	for from < to {
		end := min(from.Floor(time.Hour).Add(time.Hour), to)
		kWh := float64(l.option.Energy) / 3.6e9 * (float64(end-from) / span)
		i := min(max(int(from.Sub(s.forecast.From)/time.Hour), 0), len(s.forecast.Price)-1)
		money += float64(kWh * float64(s.forecast.Price[i]))
		carbon += float64(kWh * float64(s.forecast.Carbon[i]))
		from = end
	}
	if sum.Carbon = protocol.Milligrams(min(carbon, float64(protocol.MaxCarbon))); k.cfg.Pay.Pay != accounts.FirstPrice {
		sum.Money = protocol.Microdollars(min(max(money, -float64(accounts.MaxBalance)), float64(accounts.MaxBalance)))
	}
	return sum
}
