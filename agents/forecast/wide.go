package forecast

import (
	"math"
	"math/bits"
)

// Sums of price x PUE x time x power do not fit into 64 bits. These are the two
// exact products that need 128.

// scaledTotal returns (hours x msPerHour + ms) x factor / unit, rounded to the nearest,
// halves away from zero, and clamped to the range of int64. factor and unit are
// positive.
func scaledTotal(hours, ms, factor, unit int64) int64 {
	hours, ms = hours+ms/msPerHour, ms%msPerHour
	switch { // give both parts the same sign
	case hours > 0 && ms < 0:
		hours, ms = hours-1, ms+msPerHour
	case hours < 0 && ms > 0:
		hours, ms = hours+1, ms-msPerHour
	}
	hi, lo := bits.Mul64(absValue(hours), uint64(msPerHour))
	lo, carry := bits.Add64(lo, absValue(ms), 0)
	hi += carry

	over, top := bits.Mul64(hi, uint64(factor))
	carried, low := bits.Mul64(lo, uint64(factor))
	top, carry = bits.Add64(top, carried, 0)
	if over+carry != 0 {
		top = math.MaxUint64
	}
	return divideRounded(top, low, uint64(unit), hours < 0 || ms < 0)
}

// mulDiv returns a x b / c, rounded and clamped as by total. c is positive.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(absValue(a), absValue(b))
	return divideRounded(hi, lo, uint64(c), (a < 0) != (b < 0))
}

// divideRounded returns the 128-bit number hi:lo divided by c, rounded to the nearest,
// with a sign and clamped.
func divideRounded(hi, lo, c uint64, negative bool) int64 {
	lo, carry := bits.Add64(lo, c/2, 0)
	hi, carry = bits.Add64(hi, 0, carry)
	q := uint64(math.MaxInt64)
	if carry == 0 && hi < c {
		q, _ = bits.Div64(hi, lo, c)
		q = min(q, math.MaxInt64)
	}
	if negative {
		return -int64(q)
	}
	return int64(q)
}

// absValue returns the absolute value of v, which fits even for the smallest int64.
func absValue(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
