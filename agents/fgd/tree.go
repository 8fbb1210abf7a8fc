package fgd

import "math/bits"

// block is the number of slots that share one bound.
const block = 32

const (
	lanes = 4 // bounds in one 64-bit word
	ones  = 0x0001_0001_0001_0001
	highs = 0x8000_8000_8000_8000
	fan   = 32 // entries under one of the level above: one cache line
)

// tree holds an upper bound for each block of slots and finds the lowest block
// with the highest bound. mid bounds the highest of 32 leaves, and top the
// highest of 32 mids. Both may be too high: lowering a leaf leaves them as they
// are, and best corrects them when they mislead its search.
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

// holds reports whether the tree has room for n blocks.
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

// lower sets the bound of block b to v, which must not be above it.
func (t *tree) lower(b int, v uint16) { put(t.leaf, b, v) }

// best returns the lowest of the blocks with the highest bound, and that bound;
// the bound is 0 if all are.
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

// find returns the first lane that holds v, or -1. The subtraction detects the
// lowest zero lane of a word exactly; its borrow can only mark lanes above that
// one by mistake, which TrailingZeros does not see.
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
	for _, x := range w { // Invariant: lanes are below 1<<15, so the high bit of each takes the borrow of its own comparison
		larger := ((x | highs) - m) & highs >> 15 * 0xffff
		m = x&larger | m&^larger
	}
	return max(uint16(m), uint16(m>>16), uint16(m>>32), uint16(m>>48))
}
