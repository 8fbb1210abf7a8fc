package auction

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// priceMemory keeps what the last rounds found room to be worth, by the clock.
type priceMemory struct {
	slot  time.Duration // 0: none are kept yet
	from  protocol.Time
	lines map[poolKey]slotSeries
}

// pricesFrom returns the prices of a pool from a slot on. Beyond what is known room is
// worth nothing yet.
func (k *priceMemory) pricesFrom(key poolKey, from protocol.Time) (out slotSeries) {
	old, ok := k.lines[key]
	if !ok {
		return out
	}
	shift := int(from.Sub(k.from) / k.slot)
	for i := range out {
		if j := i + shift; j >= 0 && j < len(old) {
			out[i] = old[j]
		}
	}
	return out
}

// rememberPrices takes over the prices of p. A site that was silent in this round keeps
// the prices that it had; of one that was not, those of models that it tells no more
// of are gone. Room that is worth nothing needs no price.
func (k *priceMemory) rememberPrices(p *problem) {
	lines, heard := make(map[poolKey]slotSeries, len(p.pools)), make(map[string]bool)
	for _, q := range p.pools {
		heard[q.key.site] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(k.lines), comparePools) {
		if !heard[key.site] {
			lines[key] = k.pricesFrom(key, p.from)
		}
	}
	for _, q := range p.pools {
		lines[q.key] = q.price
	}
	maps.DeleteFunc(lines, func(_ poolKey, l slotSeries) bool { return l == slotSeries{} })
	k.slot, k.from, k.lines = p.slot, p.from, lines
}

// shadowPrices returns the prices for the next Call, in whole microdollars.
func (k *priceMemory) shadowPrices() []protocol.ShadowPrice {
	var out []protocol.ShadowPrice
	for _, key := range slices.SortedFunc(maps.Keys(k.lines), comparePools) {
		l := k.lines[key]
		last := len(l)
		for last > 0 && l[last-1] < 1 {
			last--
		}
		if last == 0 {
			continue // nothing scarce there
		}
		v := make([]protocol.Microdollars, last)
		for i := range v {
			v[i] = protocol.Microdollars(l[i])
		}
		out = append(out, protocol.ShadowPrice{Site: key.site, Model: key.model, From: k.from, Slot: k.slot, Values: v})
	}
	return out
}

func comparePools(x, y poolKey) int {
	if c := strings.Compare(x.site, y.site); c != 0 {
		return c
	}
	return strings.Compare(x.model, y.model)
}
