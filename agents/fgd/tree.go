package fgd

import "math/bits"

// block is the number of slots that share a bound.
const block = 32

const (
	lanes = 4 // of a word, each a bound
	ones  = 0x0001_0001_0001_0001
	highs = 0x8000_8000_8000_8000
	fan   = 32 // entries under one of the level above: one cache line
)

// tree holds an upper bound for each block of slots, and finds the lowest block
// of the highest bound. mid is the highest of 32 of them and top of 32 such, or
// more: they are lowered only when a search is misled by them.
type tree struct {
	leaf []uint64 // four bounds to a word
	mid  []uint64 // four to a word
	top  []uint16
}

// reset makes room for n blocks and sets all bounds to 0.
func (t *tree) reset(n int) {
	groups := n/(fan*fan) + 1
	t.leaf = zeroed(t.leaf, (n+fan-1)/fan*fan/lanes)
	t.mid = zeroed(t.mid, groups*fan/lanes)
	t.top = zeroed(t.top, groups)
}

// holds says whether there is room for n blocks.
func (t *tree) holds(n int) bool { return n <= len(t.leaf)*lanes }

func zeroed[T uint16 | uint64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	s = s[:n]
	clear(s)
	return s
}

// raise makes the bound of block b at least v.
func (t *tree) raise(b int, v uint16) {
	if v <= lane(t.leaf, b) {
		return
	}
	put(t.leaf, b, v)
	if m := b / fan; v > lane(t.mid, m) {
		put(t.mid, m, v)
		if g := m / fan; v > t.top[g] {
			t.top[g] = v
		}
	}
}

// lower makes the bound of block b v, which is not more.
func (t *tree) lower(b int, v uint16) { put(t.leaf, b, v) }

// best is the lowest block of those with the highest bound, and that.
func (t *tree) best() (b int, bound uint16) {
	for {
		g, v := 0, t.top[0]
		for i, u := range t.top[1:] {
			if u > v {
				g, v = i+1, u
			}
		}
		if v == 0 {
			return 0, 0
		}
		at := g * fan / lanes
		mids := t.mid[at : at+fan/lanes]
		m := find(mids, v)
		if m < 0 {
			t.top[g] = highest(mids)
			continue
		}
		m += g * fan
		leaves := t.leaf[m*fan/lanes : (m+1)*fan/lanes]
		if b := find(leaves, v); b >= 0 {
			return m*fan + b, v
		}
		put(t.mid, m, highest(leaves))
	}
}

func lane(w []uint64, i int) uint16 { return uint16(w[i/lanes] >> (i % lanes * 16)) }

func put(w []uint64, i int, v uint16) {
	sh := i % lanes * 16
	w[i/lanes] = w[i/lanes]&^(0xffff<<sh) | uint64(v)<<sh
}

// find is the first lane that holds v, or -1. The lowest zero lane of a word is
// found exactly; only lanes above it may be taken for zero wrongly.
func find(w []uint64, v uint16) int {
	want := uint64(v) * ones
	for i, x := range w {
		x ^= want
		if z := (x - ones) & ^x & highs; z != 0 {
			return i*lanes + bits.TrailingZeros64(z)/16
		}
	}
	return -1
}

func highest(w []uint64) uint16 {
	var m uint64
	for _, x := range w { // lanes below 1<<15, so each compares by itself
		larger := ((x | highs) - m) & highs >> 15 * 0xffff
		m = x&larger | m&^larger
	}
	return max(uint16(m), uint16(m>>16), uint16(m>>32), uint16(m>>48))
}
