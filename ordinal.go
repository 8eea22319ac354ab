package berth

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/berth-sched/berth/internal/limits"
)

// An Ordinal is a number that counts from 0 and may not be known, such as that of a NUMA node or
// of a rail. The zero value is: not known. In JSON it is the number, and null or left out where
// it is not known. Ordinals can be compared with ==.
type Ordinal struct{ next int32 } // the number and one; 0: not known

// OrdinalOf is the ordinal of a number. A number outside 0..1000000, such as the -1 of the
// kernel, is not known.
func OrdinalOf(n int) Ordinal {
	if n < 0 || n > limits.MaxOrdinal {
		return Ordinal{}
	}
	return Ordinal{int32(n) + 1}
}

// Number is the number, and whether it is known.
func (o Ordinal) Number() (int, bool) { return int(o.next) - 1, o.next != 0 }

// String prints the number, or "unknown".
func (o Ordinal) String() string {
	if o.next == 0 {
		return "unknown"
	}
	return strconv.Itoa(int(o.next) - 1)
}

// MarshalJSON implements json.Marshaler.
func (o Ordinal) MarshalJSON() ([]byte, error) {
	if o.next == 0 {
		return []byte("null"), nil
	}
	return []byte(o.String()), nil
}

// UnmarshalJSON implements json.Unmarshaler. It refuses what is not a number from 0 on: one that
// is not known is left out.
func (o *Ordinal) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = Ordinal{}
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil || n < 0 || n > limits.MaxOrdinal {
		return &Error{Event: "ordinal", Kind: ErrInvalid, Reason: fmt.Sprintf("is not a number in 0..%d; leave out what is not known", limits.MaxOrdinal)}
	}
	*o = OrdinalOf(n)
	return nil
}
