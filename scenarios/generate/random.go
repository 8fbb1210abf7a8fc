package generate

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// SeededRand returns a random source for a seed and names. The same seed and names give the
// same numbers on every machine, independent of other draws.
func SeededRand(seed uint64, names ...string) *rand.Rand {
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

// drawNormal draws from an approximate standard normal distribution: the sum of twelve
// uniform draws minus six (Irwin-Hall). It avoids logarithms and roots, whose last
// digit may differ between processors.
func drawNormal(d *rand.Rand) float64 {
	sum := -6.0
	for range 12 {
		sum += d.Float64()
	}
	return sum
}

// stratifiedDraws returns n stratified draws over [0, 1), one in each interval of width 1/n,
// in random order. Its quantiles match the uniform distribution for every seed, so a
// day of a few hundred jobs has the requested load in spite of the heavy tail of run
// times.
func stratifiedDraws(d *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i, at := range d.Perm(n) {
		out[i] = (float64(at) + d.Float64()) / float64(n)
	}
	return out
}

// drawWithProbability returns true with a probability of share thousandths.
func drawWithProbability(d *rand.Rand, share int64) bool { return d.Int64N(1000) < share }
