package quota

import (
	"cmp"
	"math/bits"
	"slices"
)

// A SizeCount says how many charges are of one size.
type SizeCount struct{ Size, Count int64 }

// fillUnits bounds the size of a share, in the largest unit that divides it and all charges, up to
// which Fill is exact.
const fillUnits = 1 << 16

// Fill is the most of an amount that charges fill, each whole or not at all: the largest sum of
// some of them that does not exceed it. The sizes are put in order of size.
//
// It is exact where the amount is at most 65,536 times the largest number that divides it and
// every size; so it is for whole GPUs. Beyond that it is what comes of filling in the largest
// charges first. O(sizes) where those fill the amount exactly or all of them fit, and otherwise, by
// dynamic programming over a bit set (the subset sum of Bellman), O(sizes x log count x units/64).
func Fill(amount int64, sizes []SizeCount) int64 {
	slices.SortFunc(sizes, func(a, b SizeCount) int { return cmp.Compare(b.Size, a.Size) })
	if amount <= 0 {
		return 0
	}
	sum, all, unit := int64(0), true, amount
	for _, l := range sizes {
		if l.Size <= 0 || l.Count <= 0 {
			continue
		}
		n := min(l.Count, (amount-sum)/l.Size)
		sum, all, unit = sum+n*l.Size, all && n == l.Count, divisor(unit, l.Size)
	}
	if all || sum >= amount || amount/unit > fillUnits {
		return sum
	}
	return unit * fillExactly(amount/unit, unit, sizes)
}

// fillExactly is Fill in units.
func fillExactly(amount, unit int64, sizes []SizeCount) int64 {
	sums := make([]uint64, amount/64+1) // a bit for each sum that some of the charges so far have
	sums[0] = 1
	for _, l := range sizes {
		if l.Size <= 0 || l.Count <= 0 {
			continue
		}
		size := l.Size / unit
		for left, n := min(l.Count, amount/size), int64(1); left > 0; n *= 2 {
			n = min(n, left)
			left -= n
			addShifted(sums, n*size)
		}
	}
	for most := amount; most > 0; most-- {
		if sums[most/64]>>(most%64)&1 != 0 {
			return most
		}
	}
	return 0
}

// addShifted adds to a bit set itself, shifted up.
func addShifted(sums []uint64, by int64) {
	words, rest := int(by/64), uint(by%64)
	for at := len(sums) - 1; at >= words; at-- {
		moved := sums[at-words] << rest
		if rest > 0 && at > words {
			moved |= sums[at-words-1] >> (64 - rest)
		}
		sums[at] |= moved
	}
}

// divisor is the greatest that two numbers above zero have in common (Stein, 1967).
func divisor(a, b int64) int64 {
	x, y := uint64(a), uint64(b)
	shift := bits.TrailingZeros64(x | y)
	x >>= bits.TrailingZeros64(x)
	for y != 0 {
		y >>= bits.TrailingZeros64(y)
		if x > y {
			x, y = y, x
		}
		y -= x
	}
	return int64(x << shift)
}
