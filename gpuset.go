package berth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A GPUSet is a set of GPU indexes of one node: bit i stands for GPU i. In JSON
// it is the ascending list of the indexes.
type GPUSet uint64

// GPUSetOf builds a set from indexes. It panics where one is outside 0..63, as an array does: a
// set that lacks a GPU is worse. Indexes from outside the program are for NewGPUSet.
func GPUSetOf(indexes ...int) GPUSet {
	s, err := NewGPUSet(indexes...)
	if err != nil {
		panic(err.Error())
	}
	return s
}

// NewGPUSet builds a set from indexes. It refuses those outside 0..63 with an [*Error].
func NewGPUSet(indexes ...int) (GPUSet, error) {
	var s GPUSet
	for _, i := range indexes {
		if i < 0 || i >= MaxGPUs {
			return 0, &Error{Event: "gpus", Kind: ErrInvalid, Reason: fmt.Sprintf("index %d is outside 0..%d", i, MaxGPUs-1)}
		}
		s |= 1 << i
	}
	return s, nil
}

// Len is the number of GPUs in the set.
func (s GPUSet) Len() int { return bits.OnesCount64(uint64(s)) }

// Has reports whether GPU i is in the set.
func (s GPUSet) Has(i int) bool { return i >= 0 && i < MaxGPUs && s>>i&1 == 1 }

// Indexes lists the set in ascending order.
func (s GPUSet) Indexes() []int {
	list := make([]int, 0, s.Len())
	for rest := uint64(s); rest != 0; rest &= rest - 1 {
		list = append(list, bits.TrailingZeros64(rest))
	}
	return list
}

// String prints ranges, as in "0-3,6".
func (s GPUSet) String() string {
	var b strings.Builder
	for rest := uint64(s); rest != 0; {
		first := bits.TrailingZeros64(rest)
		n := bits.TrailingZeros64(^(rest >> first))
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, first)
		if n > 1 {
			fmt.Fprintf(&b, "-%d", first+n-1)
		}
		if first+n >= MaxGPUs {
			break
		}
		rest &^= 1<<(first+n) - 1
	}
	return b.String()
}

// MarshalJSON implements json.Marshaler.
func (s GPUSet) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 2+3*s.Len()), '[')
	for rest := uint64(s); rest != 0; rest &= rest - 1 {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(bits.TrailingZeros64(rest)), 10)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler. It refuses indexes that are out of
// range or doubled.
func (s *GPUSet) UnmarshalJSON(b []byte) error {
	if set, ok := plainGPUs(b); ok {
		*s = set
		return nil
	}
	text := string(bytes.Trim(b, " \t\r\n"))
	set := GPUSet(0)
	switch list := strings.Trim(text, "[] \t\r\n"); {
	case !json.Valid(b) || text != "null" && text[0] != '[':
		return &Error{Event: "gpus", Kind: ErrInvalid, Reason: notIndexes}
	case text != "null" && list != "":
		for index := range strings.SplitSeq(list, ",") { // no list is made of it: it may be long
			i, err := strconv.Atoi(strings.Trim(index, " \t\r\n"))
			if err != nil {
				return &Error{Event: "gpus", Kind: ErrInvalid, Reason: notIndexes}
			}
			if i < 0 || i >= MaxGPUs || set.Has(i) {
				return &Error{Event: "gpus", Kind: ErrInvalid, Reason: fmt.Sprintf("index %d is out of range or doubled", i)}
			}
			set |= 1 << i
		}
	}
	*s = set
	return nil
}

const notIndexes = "is not a list of GPU indexes"

// plainGPUs reads a list of indexes without blanks, as it is written. False: it is another, or is
// wrong.
func plainGPUs(b []byte) (set GPUSet, ok bool) {
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return 0, false
	}
	for list := b[1:]; len(list) > 1; {
		i, digits := 0, 0
		for ; digits < 2 && isDigit(list[digits]); digits++ {
			i = 10*i + int(list[digits]-'0')
		}
		after := list[digits:]
		ends := len(after) == 1
		if digits == 0 || digits == 2 && i < 10 || i >= MaxGPUs || set.Has(i) || !ends && (after[0] != ',' || len(after) == 2) {
			return 0, false
		}
		set |= 1 << i
		list = after[1:]
	}
	return set, true
}
