// Package countable has the countable resources of a host beside its GPUs: CPU and memory.
// It is the one place that tells them apart; all packages that decide count them by number,
// and nothing there names one.
//
// A further countable resource is a constant and a line of the table here, and a field of
// berth.Node and berth.Claim, which Node.Host and Claim.Host turn into Amounts. Resources that an
// embedder declares are in a [Register], and their amounts in [Declared].
package countable

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/berth-sched/berth/internal/errtext"
)

// A Resource is something countable of a host. It fixes the unit. Where several are looked
// at, it is in the order of these constants.
type Resource uint8

const (
	// CPUMilli in thousandths of a core.
	CPUMilli Resource = iota
	// MemoryMiB in MiB.
	MemoryMiB

	// NumResources is how many there are.
	NumResources = iota
)

// table has what differs by resource.
var table = [NumResources]struct {
	name, field, unit string
	milli             bool
}{
	CPUMilli:  {name: "host CPU", field: "cpuMilli", unit: "CPU", milli: true},
	MemoryMiB: {name: "host memory", field: "memoryMiB", unit: "MiB"},
}

// String returns the name of the field with an amount of it, such as "cpuMilli", which is its
// name in quotas and in text too.
func (r Resource) String() string {
	if r >= NumResources {
		return "Resource(" + strconv.Itoa(int(r)) + ")"
	}
	return table[r].field
}

// Field is String.
func (r Resource) Field() string { return r.String() }

// Words is the resource as sentences name it, such as "host CPU".
func (r Resource) Words() string {
	if r >= NumResources {
		return r.String()
	}
	return table[r].name
}

// Unit is what an amount counts: MiB, say, or thousandths (milli) of a CPU.
func (r Resource) Unit() (unit string, milli bool) {
	if r >= NumResources {
		return r.String(), false
	}
	return table[r].unit, table[r].milli
}

// MarshalText returns String, and an error for what is none of the resources.
func (r Resource) MarshalText() ([]byte, error) {
	if r >= NumResources {
		return nil, errors.New("countable: " + r.String() + " is out of range")
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (r *Resource) UnmarshalText(text []byte) error {
	found, ok := ResourceByField(string(text))
	if !ok {
		return fmt.Errorf("countable: Resource: %q is no resource of a host", errtext.Short(string(text)))
	}
	*r = found
	return nil
}

// ResourceByField finds a resource by the name of its field, which is its name in quotas too.
func ResourceByField(field string) (Resource, bool) {
	for r := range table {
		if table[r].field == field {
			return Resource(r), true
		}
	}
	return 0, false
}

// Amounts says how much of each resource, in its unit. The zero value is nothing. Sums do
// not overflow as long as amounts are within 2^40.
type Amounts [NumResources]int64

// Plus is the sum of two.
func (a Amounts) Plus(b Amounts) Amounts {
	a.Add(&b)
	return a
}

// Minus is what is left of a without b; below zero where b has more.
func (a Amounts) Minus(b Amounts) Amounts {
	a.Subtract(&b)
	return a
}

// Add adds b to a in place. An array is copied through memory wherever it goes by value: where
// that counts, Add and Subtract take the place of Plus and Minus.
func (a *Amounts) Add(b *Amounts) {
	for r := range a {
		a[r] += b[r]
	}
}

// Subtract takes b from a in place; a is below zero then where b has more.
func (a *Amounts) Subtract(b *Amounts) {
	for r := range a {
		a[r] -= b[r]
	}
}

// Times is n times as much.
func (a Amounts) Times(n int64) Amounts {
	for r := range a {
		a[r] *= n
	}
	return a
}

// DividedBy is the n-th part of each, rounded towards zero. n is not 0.
func (a Amounts) DividedBy(n int64) Amounts {
	for r := range a {
		a[r] /= n
	}
	return a
}

// Floor is a with nothing below zero.
func (a Amounts) Floor() Amounts {
	for r := range a {
		a[r] = max(0, a[r])
	}
	return a
}

// Beyond returns the first resource of which a has more than b, if there is one.
func (a Amounts) Beyond(b Amounts) (Resource, bool) {
	for r := range a {
		if a[r] > b[r] {
			return Resource(r), true
		}
	}
	return 0, false
}

// Within reports whether b has as much of each resource as a.
func (a Amounts) Within(b Amounts) bool {
	_, beyond := a.Beyond(b)
	return !beyond
}

// Compare orders amounts by the first resource in which they differ.
func (a Amounts) Compare(b Amounts) int {
	for r := range a {
		if d := cmp.Compare(a[r], b[r]); d != 0 {
			return d
		}
	}
	return 0
}
