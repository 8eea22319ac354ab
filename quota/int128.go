package quota

import "math/bits"

// An int128 is a signed number of 128 bits, in two's complement. Times of half a
// century in milliseconds and the thousandths of a hundred thousand GPUs need more
// than 64 bits for their product.
type int128 struct {
	high int64
	low  uint64
}

// product128 multiplies exactly.
func product128(a, b int64) int128 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	// The unsigned product of two's complements is too large by 2^64 times the
	// other factor for each factor that is negative.
	if a < 0 {
		high -= uint64(b)
	}
	if b < 0 {
		high -= uint64(a)
	}
	return int128{high: int64(high), low: low}
}

func (w int128) plus(v int128) int128 {
	low, carry := bits.Add64(w.low, v.low, 0)
	high, _ := bits.Add64(uint64(w.high), uint64(v.high), carry)
	return int128{high: int64(high), low: low}
}

func (w int128) minus(v int128) int128 {
	low, borrow := bits.Sub64(w.low, v.low, 0)
	high, _ := bits.Sub64(uint64(w.high), uint64(v.high), borrow)
	return int128{high: int64(high), low: low}
}

func (w int128) negative() bool { return w.high < 0 }

// over divides what is not negative by d > 0, rounding down; most where the
// quotient would exceed it. Most is below 2^63.
func (w int128) over(d uint64, most int64) int64 {
	if uint64(w.high) >= d {
		return most
	}
	if quotient, _ := bits.Div64(uint64(w.high), w.low, d); quotient < uint64(most) {
		return int64(quotient)
	}
	return most
}

// scale is a x b / c, rounded down, and the rest of it, for a < 2^63 and a quotient
// below 2^64.
func scale(a, b, c uint64) (quotient, rest uint64) {
	high, low := bits.Mul64(a, b)
	return bits.Div64(high, low, c)
}
