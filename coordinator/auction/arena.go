package auction

// An arena keeps the large arrays of a round for the next one: they are some ten kilobytes for each
// pool, and most rounds are about one job, and would spend more on fresh memory than on the
// decision. The zero arena keeps nothing yet.
type arena struct {
	poolMemory []pool
	sumMemory  []prefixSum
	unused     []*remainingCapacity
	series     [3][]slotSeries // of the price search
}

// reusePools returns room for n pools and their sums. What it returned before must not be used any
// more: of a round everything is read before the next begins.
func (m *arena) reusePools(n int) ([]pool, []prefixSum) {
	if cap(m.poolMemory) < n {
		m.poolMemory, m.sumMemory = make([]pool, 0, n), make([]prefixSum, n)
	}
	return m.poolMemory[:0], m.sumMemory[:0]
}

// reuseCapacity returns a remainingCapacity of n pools with any content.
func (m *arena) reuseCapacity(n int) (r *remainingCapacity) {
	if last := len(m.unused) - 1; last >= 0 {
		r, m.unused = m.unused[last], m.unused[:last]
	} else {
		r = new(remainingCapacity)
	}
	if cap(r.free) < n {
		*r = remainingCapacity{bare: make([]slotSeries, n), planned: make([]slotSeries, n), free: make([]float64, n), open: make([]float64, n)}
	}
	r.bare, r.planned, r.free, r.open = r.bare[:n], r.planned[:n], r.free[:n], r.open[:n]
	return r
}

// releaseCapacity keeps r for another use. Its owner must not use it any more.
func (m *arena) releaseCapacity(r *remainingCapacity) { m.unused = append(m.unused, r) }

// reuseSeries returns n series of zeros. What it returned before under the same number must not be
// used any more.
func (m *arena) reuseSeries(number, n int) []slotSeries {
	s := &m.series[number]
	if cap(*s) < n {
		*s = make([]slotSeries, n)
	}
	*s = (*s)[:n]
	clear(*s)
	return *s
}
