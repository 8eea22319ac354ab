package countable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
)

const (
	// MaxDeclared is how many resources may be declared beside those of the table.
	MaxDeclared = 6
	// MaxNameBytes is the longest name of a declared resource, and the longest unit.
	MaxNameBytes = 64
)

// A Declaration is a resource that an embedder counts beside CPU and memory: virtual functions of
// NICs, scratch disk, FPGAs. Nodes say how much they have of it and claims how much each member
// needs, in one unit.
type Declaration struct {
	// Name in nodes, claims and quotas, such as "rdma/vf" or "scratch": 1 to MaxNameBytes letters,
	// digits, and "-", "_", ".", "/" between them; not "cpuMilli", "memoryMiB" or "gpuMilli".
	Name string `json:"name"`
	// Unit of its amounts where people read them, such as "GiB"; empty: they are pieces, as of
	// licences. Of the characters of a name.
	Unit string `json:"unit,omitempty"`
}

// Words are an amount of it, as sentences name it: "4 rdma/vf", "200 GiB of scratch".
func (d *Declaration) Words(amount int64) string {
	if d.Unit == "" {
		return fmt.Sprintf("%d %s", amount, d.Name)
	}
	return fmt.Sprintf("%d %s of %s", amount, d.Unit, d.Name)
}

// A Register has the declared resources, each at its number, from 0 on. The zero value has none.
// It is not changed once it is made.
type Register []Declaration

// Check says what is wrong with the declarations: that at an index, of a field, for a reason. The
// index is -1 where there are too many, and the reason is empty where nothing is wrong.
func (g Register) Check() (index int, field, reason string) {
	if len(g) > MaxDeclared {
		return -1, "", fmt.Sprintf("%d resources; the most is %d", len(g), MaxDeclared)
	}
	for i := range g {
		if reason := badName(g[i].Name); reason != "" {
			return i, "name", reason
		}
		if g[i].Unit != "" {
			if reason := badName(g[i].Unit); reason != "" {
				return i, "unit", reason
			}
		}
		if _, taken := ResourceByField(g[i].Name); taken || g[i].Name == "gpuMilli" {
			return i, "name", fmt.Sprintf("%q is the name of a resource that is always counted", g[i].Name)
		}
		if _, twice := g[:i].Find(g[i].Name); twice {
			return i, "name", fmt.Sprintf("%q is declared twice", g[i].Name)
		}
	}
	return 0, "", ""
}

// badName says why a name or unit is refused, or "".
func badName(s string) string {
	word := func(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' }
	switch {
	case s == "":
		return "is empty"
	case len(s) > MaxNameBytes:
		return fmt.Sprintf("has %d bytes; the most is %d", len(s), MaxNameBytes)
	case !word(s[0]) || !word(s[len(s)-1]):
		return fmt.Sprintf("%q does not begin and end with a letter or digit", errtext.Short(s))
	}
	for i := range len(s) {
		if !word(s[i]) && !strings.Contains("-_./", s[i:i+1]) {
			return fmt.Sprintf("%q has something else than letters, digits, -, _, . and /", errtext.Short(s))
		}
	}
	return ""
}

// Find returns the number of a resource by its name.
func (g Register) Find(name string) (int, bool) {
	i := slices.IndexFunc(g, func(d Declaration) bool { return d.Name == name })
	return i, i >= 0
}

// Read returns the amounts of a map by name, in the order of the declarations; nil where all are 0.
// Names that are not declared are passed over.
func (g Register) Read(named map[string]int64) *Declared {
	if len(named) == 0 {
		return nil
	}
	var d Declared
	for i := range g {
		d[i] = named[g[i].Name]
	}
	return d.shared()
}

// Declared says how much of each declared resource, by its number. It is used by pointer, and nil
// is none, as of most nodes and claims: each pays a word for it. What is pointed to never
// changes, and so is shared; the methods take nil, and return it for nothing.
//
// Amounts has no place for it: with six more numbers in there, placing on a full fleet took 15 %
// longer, and a GPU 80 bytes more.
type Declared [MaxDeclared]int64

// shared is nil for nothing.
func (d Declared) shared() *Declared {
	if d == (Declared{}) {
		return nil
	}
	return &d
}

// Of is the amount of one.
func (d *Declared) Of(i int) int64 {
	if d == nil {
		return 0
	}
	return d[i]
}

// value is what is pointed to.
func (d *Declared) value() Declared {
	if d == nil {
		return Declared{}
	}
	return *d
}

// Plus is the sum of two.
func (d *Declared) Plus(e *Declared) *Declared {
	switch {
	case e == nil || *e == (Declared{}):
		return d
	case d == nil:
		return e
	}
	sum := *d
	for i := range sum {
		sum[i] += e[i]
	}
	return sum.shared()
}

// Minus is what is left of d without e; below zero where e has more.
func (d *Declared) Minus(e *Declared) *Declared {
	if e == nil {
		return d
	}
	return d.Plus(e.Times(-1))
}

// Times is n times as much.
func (d *Declared) Times(n int64) *Declared {
	if d == nil || n == 1 {
		return d
	}
	product := *d
	for i := range product {
		product[i] *= n
	}
	return product.shared()
}

// DividedBy is the n-th part of each, rounded towards zero. n is not 0.
func (d *Declared) DividedBy(n int64) *Declared {
	if d == nil || n == 1 {
		return d
	}
	part := *d
	for i := range part {
		part[i] /= n
	}
	return part.shared()
}

// Floor is d with nothing below zero.
func (d *Declared) Floor() *Declared {
	if d == nil || slices.Min(d[:]) >= 0 {
		return d
	}
	floor := *d
	for i := range floor {
		floor[i] = max(0, floor[i])
	}
	return floor.shared()
}

// Most is the larger of each.
func (d *Declared) Most(e *Declared) *Declared {
	switch {
	case e == nil:
		return d.Floor()
	case d == nil:
		return e.Floor()
	}
	most := *d
	for i := range most {
		most[i] = max(most[i], e[i])
	}
	return most.shared()
}

// Beyond returns the first resource of which d has more than e, or -1.
func (d *Declared) Beyond(e *Declared) int {
	if d == nil && e == nil {
		return -1
	}
	for i := range MaxDeclared {
		if d.Of(i) > e.Of(i) {
			return i
		}
	}
	return -1
}

// Within reports whether e has as much of each as d.
func (d *Declared) Within(e *Declared) bool { return d.Beyond(e) < 0 }

// Equal reports whether both have as much of each.
func (d *Declared) Equal(e *Declared) bool { return d == e || d.value() == e.value() }

// Compare orders amounts by the first resource in which they differ.
func (d *Declared) Compare(e *Declared) int {
	if d == e {
		return 0
	}
	a, b := d.value(), e.value()
	return slices.Compare(a[:], b[:])
}

// First is d with the first n resources alone.
func (d *Declared) First(n int) *Declared {
	some := d.value()
	clear(some[n:])
	return some.shared()
}
