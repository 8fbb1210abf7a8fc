package auction

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// priceMemory keeps the capacity prices of the last rounds, by wall-clock slot.
type priceMemory struct {
	slot  time.Duration // length of a slot; 0: nothing is kept yet
	from  protocol.Time
	lines map[poolKey]slotSeries // by pool; slots count from from
}

// pricesFrom returns the prices of a pool from a slot on. Slots beyond the known ones get price 0.
func (k *priceMemory) pricesFrom(key poolKey, from protocol.Time) (out slotSeries) {
	k.readPrices(&out, key, from)
	return out
}

// readPrices sets out to pricesFrom, and reports whether the pool has prices at all.
func (k *priceMemory) readPrices(out *slotSeries, key poolKey, from protocol.Time) bool {
	clear(out[:])
	old, ok := k.lines[key]
	if !ok {
		return false
	}
	shift := int(from.Sub(k.from) / k.slot)
	for i := range out {
		if j := i + shift; j >= 0 && j < len(old) {
			out[i] = old[j]
		}
	}
	return true
}

// rememberPrices replaces the prices by those of p. A site that did not answer keeps its former
// prices; models that a site no longer reports lose theirs. Pools whose capacity costs nothing are
// left out.
func (k *priceMemory) rememberPrices(p *problem) {
	lines, answered := make(map[poolKey]slotSeries), make(map[string]bool)
	for i := range p.pools {
		answered[p.pools[i].key.site] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(k.lines), comparePools) {
		if answered[key.site] {
			continue
		}
		if l := k.pricesFrom(key, p.from); !isFree(&l) {
			lines[key] = l
		}
	}
	for i := range p.pools {
		if q := &p.pools[i]; !isFree(&q.price) {
			lines[q.key] = q.price
		}
	}
	k.slot, k.from, k.lines = p.slot, p.from, lines
}

// isFree reports whether all prices are zero.
func isFree(l *slotSeries) bool {
	for _, price := range l {
		if price != 0 {
			return false
		}
	}
	return true
}

// shadowPrices returns the prices for the next call, in whole microdollars, without trailing
// zeros.
func (k *priceMemory) shadowPrices() []protocol.ShadowPrice {
	var out []protocol.ShadowPrice
	for _, key := range slices.SortedFunc(maps.Keys(k.lines), comparePools) {
		l := k.lines[key]
		last := len(l)
		for last > 0 && l[last-1] < 1 {
			last--
		}
		if last == 0 {
			continue // nothing is scarce there
		}
		v := make([]protocol.Microdollars, last)
		for i := range v {
			v[i] = protocol.Microdollars(l[i])
		}
		out = append(out, protocol.ShadowPrice{Site: key.site, Model: key.model, From: k.from, Slot: k.slot, Values: v})
	}
	return out
}

// comparePools orders pools by site, then model.
func comparePools(x, y poolKey) int {
	if c := strings.Compare(x.site, y.site); c != 0 {
		return c
	}
	return strings.Compare(x.model, y.model)
}
