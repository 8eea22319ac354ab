package topology

import "math/bits"

// A bitset is a row of bits, one for each member of a tally. Bits past the last
// member are clear.
type bitset []uint64

func (b bitset) set(i int)   { b[i>>6] |= 1 << (i & 63) }
func (b bitset) unset(i int) { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool {
	return i>>6 < len(b) && b[i>>6]&(1<<(i&63)) != 0
}

// next returns the lowest set bit at or after i, or -1.
func (b bitset) next(i int) int {
	if i < 0 {
		i = 0
	}
	w := i >> 6
	if w >= len(b) {
		return -1
	}
	if word := b[w] >> (i & 63); word != 0 {
		return i + bits.TrailingZeros64(word)
	}
	for w++; w < len(b); w++ {
		if b[w] != 0 {
			return w<<6 + bits.TrailingZeros64(b[w])
		}
	}
	return -1
}

// insert makes room for a clear bit at i in a row of n bits.
func (b bitset) insert(i, n int) bitset {
	if n>>6 >= len(b) {
		b = append(b, 0)
	}
	w := i >> 6
	for v := n >> 6; v > w; v-- {
		b[v] = b[v]<<1 | b[v-1]>>63
	}
	low := uint64(1)<<(i&63) - 1
	b[w] = b[w]&low | b[w]&^low<<1
	return b
}

// remove closes the gap of the bit at i in a row of n bits.
func (b bitset) remove(i, n int) bitset {
	w := i >> 6
	low := uint64(1)<<(i&63) - 1
	b[w] = b[w]&low | b[w]>>1&^low
	for v := w + 1; v < len(b); v++ {
		b[v-1] |= b[v] << 63
		b[v] >>= 1
	}
	return b[:(n-1+63)>>6]
}

// vacancies are indexes to be handed out again, the lowest first.
type vacancies struct {
	free bitset
	low  int // no vacancy is below it
	n    int
}

func (v *vacancies) put(i int) {
	for i>>6 >= len(v.free) {
		v.free = append(v.free, 0)
	}
	v.free.set(i)
	v.low = min(v.low, i)
	v.n++
}

// take returns the lowest vacancy, or next if there is none.
func (v *vacancies) take(next int) int {
	if v.n == 0 {
		return next
	}
	i := v.free.next(v.low)
	v.free.unset(i)
	v.n--
	v.low = i + 1
	return i
}
