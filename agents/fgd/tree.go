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

// boundTree holds an upper bound for each block of slots and finds the lowest block
// with the highest bound. mid bounds the highest of 32 leaves, and top the
// highest of 32 mids. Both may be too high: lowering a leaf leaves them as they
// are, and best corrects them when they mislead its search.
type boundTree struct {
	leaf []uint64 // four bounds to a word
	mid  []uint64 // four to a word
	top  []uint16
}

// resetBounds makes room for n blocks and sets all bounds to 0.
func (t *boundTree) resetBounds(n int) {
	groups := n/(fan*fan) + 1
	t.leaf = resizeZeroed(t.leaf, (n+fan-1)/fan*fan/lanes)
	t.mid = resizeZeroed(t.mid, groups*fan/lanes)
	t.top = resizeZeroed(t.top, groups)
}

// hasBlocks reports whether the tree has room for n blocks.
func (t *boundTree) hasBlocks(n int) bool { return n <= len(t.leaf)*lanes }

func resizeZeroed[T uint16 | uint64](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	s = s[:n]
	clear(s)
	return s
}

// raiseBound makes the bound of block b at least v.
func (t *boundTree) raiseBound(b int, v uint16) {
	if v <= laneValue(t.leaf, b) {
		return
	}
	setLane(t.leaf, b, v)
	if m := b / fan; v > laneValue(t.mid, m) {
		setLane(t.mid, m, v)
		if g := m / fan; v > t.top[g] {
			t.top[g] = v
		}
	}
}

// lowerBound sets the bound of block b to v, which must not be above it.
func (t *boundTree) lowerBound(b int, v uint16) { setLane(t.leaf, b, v) }

// bestBlock returns the lowest of the blocks with the highest bound, and that bound;
// the bound is 0 if all are.
func (t *boundTree) bestBlock() (b int, bound uint16) {
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
		m := findLane(mids, v)
		if m < 0 {
			t.top[g] = highestLane(mids)
			continue
		}
		m += g * fan
		leaves := t.leaf[m*fan/lanes : (m+1)*fan/lanes]
		if b := findLane(leaves, v); b >= 0 {
			return m*fan + b, v
		}
		setLane(t.mid, m, highestLane(leaves))
	}
}

func laneValue(w []uint64, i int) uint16 { return uint16(w[i/lanes] >> (i % lanes * 16)) }

func setLane(w []uint64, i int, v uint16) {
	sh := i % lanes * 16
	w[i/lanes] = w[i/lanes]&^(0xffff<<sh) | uint64(v)<<sh
}

// findLane returns the first lane that holds v, or -1. The subtraction detects the
// lowest zero lane of a word exactly; its borrow can only mark lanes above that
// one by mistake, which TrailingZeros does not see.
func findLane(w []uint64, v uint16) int {
	want := uint64(v) * ones
	for i, x := range w {
		x ^= want
		if z := (x - ones) & ^x & highs; z != 0 {
			return i*lanes + bits.TrailingZeros64(z)/16
		}
	}
	return -1
}

func highestLane(w []uint64) uint16 {
	var m uint64
	for _, x := range w { // Invariant: lanes are below 1<<15, so the high bit of each takes the borrow of its own comparison
		larger := ((x | highs) - m) & highs >> 15 * 0xffff
		m = x&larger | m&^larger
	}
	return max(uint16(m), uint16(m>>16), uint16(m>>32), uint16(m>>48))
}
