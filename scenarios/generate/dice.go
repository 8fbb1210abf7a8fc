package generate

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Dice returns a source of numbers of its own for the seed and the names: the
// same ones, the same numbers, on every machine and whatever else was drawn.
func Dice(seed uint64, names ...string) *rand.Rand {
	h := sha256.New()
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], seed)
	h.Write(word[:])
	for _, n := range names {
		// The length keeps ("ab", "c") and ("a", "bc") apart.
		binary.BigEndian.PutUint64(word[:], uint64(len(n)))
		h.Write(word[:])
		h.Write([]byte(n))
	}
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
}

// bell is a draw of mean 0 and deviation 1, as a sum of twelve even ones: no
// logarithm or root that processors may round apart.
func bell(d *rand.Rand) float64 {
	sum := -6.0
	for range 12 {
		sum += d.Float64()
	}
	return sum
}

// spread returns n draws over [0, 1), one in each n-th of it, in random order.
// Its quantiles are those of the even distribution for every seed, so a day of
// a few hundred jobs has the load that was asked for, heavy tail and all.
func spread(d *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i, at := range d.Perm(n) {
		out[i] = (float64(at) + d.Float64()) / float64(n)
	}
	return out
}

// yes reports whether a draw falls into the first share thousandths.
func yes(d *rand.Rand, share int64) bool { return d.Int64N(1000) < share }
