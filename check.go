package berth

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/berth-sched/berth/host"
)

// Bounds that keep every sum of valid amounts inside an int64, however many
// members are held: 2^32 is four million cores or four pebibytes on one node.
const (
	maxAmount = 1 << 32
	// maxIncarnation is the highest that may be told, so that there is room to count
	// on from it; a snapshot may have counted on already.
	maxIncarnation = Incarnation(1 << 30)
	maxActions     = ActionID(1 << 62)
	maxAttempts    = 1 << 30
	maxOrdinal     = 1 << 16
	maxSpan        = Duration(1) << 50
	maxText        = 1024
	// maxKinds bounds the kinds of node that a caller can make. Nodes that are set aside
	// are kinds of their own, of which ends of reservations can make more, but never more
	// than there are nodes.
	maxKinds = 4096
	// maxReservedGangs bounds the work of a pass for gangs with a reservation.
	maxReservedGangs = 256
)

// index builds the field path of one element, as in "gpus[3]".
func index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// checkName refuses what cannot be a name: names are compared, printed and
// journalled, so they are short, non-empty, valid UTF-8 without control characters.
func checkName(s string) *Error {
	if s == "" {
		return refuse(ErrInvalid, "", "is empty")
	}
	return checkText(s)
}

// checkText is checkName for optional text.
func checkText(s string) *Error {
	if len(s) > maxText {
		return refuse(ErrInvalid, "", fmt.Sprintf("has %d bytes; the most is %d", len(s), maxText))
	}
	if !utf8.ValidString(s) {
		return refuse(ErrInvalid, "", "is not valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return refuse(ErrInvalid, "", fmt.Sprintf("has the control character %U", r))
		}
	}
	return nil
}

// checkHost refuses amounts of a host out of range.
func checkHost(a host.Amounts) *Error {
	for r, v := range a {
		if err := checkAmount(v); err != nil {
			return err.in(host.Resource(r).Field())
		}
	}
	return nil
}

func checkAmount(v int64) *Error {
	if v < 0 {
		return refuse(ErrInvalid, "", fmt.Sprintf("is negative: %d", v))
	}
	if v > maxAmount {
		return refuse(ErrLimit, "", fmt.Sprintf("%d exceeds %d", v, int64(maxAmount)))
	}
	return nil
}

func checkSpan(d Duration) *Error {
	if d < 0 {
		return refuse(ErrInvalid, "", fmt.Sprintf("is negative: %d ms", int64(d)))
	}
	if d > maxSpan {
		return refuse(ErrLimit, "", fmt.Sprintf("%d ms exceeds %d", int64(d), int64(maxSpan)))
	}
	return nil
}

func checkLabels(labels map[string]string) *Error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := checkName(key); err != nil {
			return err.in("key " + strconv.Quote(key))
		}
		if err := checkText(labels[key]); err != nil {
			return err.in("[" + strconv.Quote(key) + "]")
		}
	}
	return nil
}

// must is for what the core has made sure of before: the packages below check
// what they are told all the same, and if one of them refuses, the core's own
// books are wrong and nothing that it would decide can be trusted. No event can
// bring that about.
func must(err error) {
	if err != nil {
		panic("berth: broken invariant: " + err.Error())
	}
}
