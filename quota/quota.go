package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
)

// Bounds that keep every sum inside an int64: MaxQueues guarantees of MaxAmount
// each add up to 2^60.
const (
	// MaxAmount is the most that one guarantee, limit, weight or charge may say.
	MaxAmount = 1 << 40
	// MaxQueues is the most queues in one tree.
	MaxQueues = 1 << 20
	// MaxProducts is the most GPU products that one tree tells apart at one time.
	MaxProducts = 1 << 12
	// MaxNameBytes is the longest name of a queue or a product.
	MaxNameBytes = 1024
)

// A Resource is something a queue may be promised or denied. It fixes the unit.
type Resource string

const (
	// GPUMilli is GPUs of whatever product, in thousandths of a GPU.
	GPUMilli Resource = "gpuMilli"
	// CPUMilli is host CPU, in thousandths of a core.
	CPUMilli Resource = "cpuMilli"
	// MemoryMiB is host memory, in MiB.
	MemoryMiB Resource = "memoryMiB"
)

const productPrefix = "gpuMilli:"

// GPUMilliOf is the resource of the GPUs of one product, in thousandths of a GPU.
// They count as GPU as well.
func GPUMilliOf(product string) Resource { return Resource(productPrefix + product) }

// HostOf is the resource of quotas that counts a resource of hosts, in the same unit.
func HostOf(r countable.Resource) Resource { return Resource(r.Field()) }

// Host returns the resource of hosts that r counts, if it is one.
func (r Resource) Host() (countable.Resource, bool) { return countable.ResourceByField(string(r)) }

// product returns the product of a resource that GPUMilliOf made.
func (r Resource) product() (string, bool) {
	return strings.CutPrefix(string(r), productPrefix)
}

// checkResource returns why r is not a resource, or "".
func (t *Tree) checkResource(r Resource) string {
	if _, ok := r.Host(); ok || r == GPUMilli {
		return ""
	}
	if _, ok := t.declared.Find(string(r)); ok {
		return ""
	}
	product, ok := r.product()
	if !ok {
		known := string(GPUMilli)
		for h := range countable.Resource(countable.NumResources) {
			known += ", " + h.Field()
		}
		for _, d := range t.declared {
			known += ", " + d.Name
		}
		return "is none of " + known + " and " + productPrefix + "PRODUCT"
	}
	if reason := checkName(product); reason != "" {
		return "the product " + reason
	}
	return ""
}

// Amounts says how much of each resource, in the resource's unit. A resource
// that is absent is not spoken of, which is not the same as an amount of zero: a
// limit of zero forbids, an absent limit allows.
type Amounts map[Resource]int64

// A QueueID is the name of a queue: 1 to MaxNameBytes bytes of UTF-8 without control characters.
type QueueID string

// A Queue is the configuration of one node of the tree.
type Queue struct {
	// Name is unique in the whole tree.
	Name QueueID `json:"name"`
	// Parent is the name of the queue above, empty below the root. It cannot be
	// changed later.
	Parent QueueID `json:"parent,omitempty"`
	// Guarantee is what the queue is always entitled to. Whatever the queues below
	// it are guaranteed comes out of it, so it may not be less than their sum.
	// Where it is absent, the sum of theirs stands in for it upwards.
	Guarantee Amounts `json:"guarantee,omitempty"`
	// Limit is what the queue and all below it may use together at the most. It
	// may not be less than what is guaranteed; it may be less than what is used,
	// and then nothing more fits until usage has fallen below it.
	Limit Amounts `json:"limit,omitempty"`
	// Weight is the queue's share, against its siblings', of what is used over the
	// guarantees. Zero means 1.
	Weight int64 `json:"weight,omitempty"`
	// Priority sets queues with the same parent apart, higher first: while several
	// of them want what is over the guarantees, all of it goes to the highest. A
	// queue that shall only have what nobody else wants has a lower one than its
	// siblings. It takes nothing from a guarantee.
	Priority int32 `json:"priority,omitempty"`
	// LendingLimit is the most of its guarantee that others may use while the queue
	// does not: the rest of the guarantee stays free for it. Where it is absent, all
	// is lent. It holds as far as limits above the queue reach and, if the tree is
	// told the capacity (SetCapacity), in the whole fleet.
	LendingLimit Amounts `json:"lendingLimit,omitempty"`
	// BorrowingLimit is the most that the queue and all below it may use together
	// above its guarantee; where the guarantee is absent, above the sum of those
	// below it.
	BorrowingLimit Amounts `json:"borrowingLimit,omitempty"`
	// GuaranteeShare is a Guarantee that follows what there is: so many thousandths of what the
	// nearest queue above is guaranteed that states a guarantee of the resource, or of what the
	// fleet has where none does ([Tree.SetFleet]). GPUs are rounded down to whole ones, the rest to
	// its unit. Those of one whole come to at most 1000.
	//
	// A resource has a guarantee or a share in a queue, not both. Shares and amounts do not mix
	// where one has to hold the other: within a guarantee that is a share, guarantees are shares,
	// and within one that is an amount they are all amounts or all shares. A limit of guarantees
	// that are shares is a LimitShare.
	GuaranteeShare Thousandths `json:"guaranteeShare,omitempty"`
	// LimitShare is a Limit that follows what there is, of the same whole: at least as much as the
	// shares that are guaranteed in and below the queue. It keeps further jobs out, and is no cause
	// to stop what runs: [Tree.Exceeded] leaves it out, as it leaves out a BorrowingLimit above
	// guarantees that are shares. Else a node that is drained would cost jobs on others.
	LimitShare Thousandths `json:"limitShare,omitempty"`
}

// stated returns what a queue states, with the fields' names, in their order.
func (q *Queue) stated() [6]statement {
	return [6]statement{
		{"guarantee", q.Guarantee, checkAmount},
		{"guaranteeShare", Amounts(q.GuaranteeShare), checkShare},
		{"limit", q.Limit, checkAmount},
		{"limitShare", Amounts(q.LimitShare), checkShare},
		{"lendingLimit", q.LendingLimit, checkAmount},
		{"borrowingLimit", q.BorrowingLimit, checkAmount},
	}
}

type statement struct {
	field   string
	amounts Amounts
	check   func(int64) string // why one of them cannot be, or ""
}

// A ProductIndex stands for a GPU product in charges, while the tree has that
// product; see Tree.RetainProduct. No decision depends on it. The zero value is [NoProduct].
type ProductIndex int32

// NoProduct is the product of a charge without GPUs, or with GPUs of a product
// that nobody limits or that is not known yet: what a charge that names none has.
const NoProduct ProductIndex = 0

// A Charge is what something takes from the queue it runs in. The zero value
// takes nothing, and GPUs without a product are of none. Without GPUs the product is
// not looked at.
type Charge struct {
	GPUMilli int64
	Host     countable.Amounts
	// Declared amounts are of the resources that the tree was told with Declare; nil: none. Equal
	// looks at what is pointed to, and == does not.
	Declared *countable.Declared
	Product  ProductIndex
	// NonPreemptible: what is charged is never reclaimed. Its GPUs have to fit into the guarantee
	// of their queue beside all others that are so, whatever else the queue uses.
	NonPreemptible bool
}

// GPUs is an amount of n whole GPUs, for the limits and guarantees of a [Queue].
func GPUs(n int64) Amounts { return Amounts{GPUMilli: 1000 * n} }

// Times is the charge of n of the same, as of the members of a gang.
func (c Charge) Times(n int64) Charge {
	c.GPUMilli, c.Host, c.Declared = n*c.GPUMilli, c.Host.Times(n), c.Declared.Times(n)
	return c
}

// Equal reports whether two take the same.
func (c Charge) Equal(d Charge) bool {
	same := c.Declared.Equal(d.Declared)
	c.Declared, d.Declared = nil, nil
	return same && c == d
}

// Plus is the charge of two that are of one product, and both reclaimable or neither.
func (c Charge) Plus(d Charge) Charge {
	c.GPUMilli, c.Host, c.Declared = c.GPUMilli+d.GPUMilli, c.Host.Plus(d.Host), c.Declared.Plus(d.Declared)
	return c
}

// A VerdictKind says what stands in the way.
type VerdictKind uint8

const (
	// VerdictUnset, the zero value: nothing was found in the way, or nothing was asked.
	VerdictUnset VerdictKind = iota
	// VerdictLimit: the queue's Limit.
	VerdictLimit
	// VerdictBorrowingLimit: its guarantee and its BorrowingLimit together.
	VerdictBorrowingLimit
	// VerdictLendingLimit: what is left below the limit of the queue, or of the fleet if
	// it is the Root, is not lent by those it is kept for: see KeptFor. No more than
	// Kept needs to be lent besides.
	VerdictLendingLimit
	// VerdictNonPreemptible: what is never reclaimed would not fit into the guarantee of its
	// queue, which is the Limit. Used is what of that is in use.
	VerdictNonPreemptible
)

const verdictKindNames enum.Names = "VerdictKind: unset|limit|borrowing-limit|lending-limit|non-preemptible"

// String returns "limit", "borrowing-limit", "lending-limit" or "non-preemptible".
func (k VerdictKind) String() string { return enum.Text(verdictKindNames, k) }

func (k VerdictKind) MarshalText() ([]byte, error) {
	return enum.Marshal(verdictKindNames, k, invalidText)
}

func (k *VerdictKind) UnmarshalText(b []byte) error {
	return enum.Unmarshal(verdictKindNames, k, b, invalidText)
}

// A Verdict names a limit that stands in the way.
type Verdict struct {
	// At is the queue whose limit it is: the charged one or one above it; the Root
	// for the capacity of the fleet.
	At QueueIndex
	// Resource that is limited; it fixes the unit of the amounts.
	Resource Resource
	// Limit, what is used of it, and how much more was asked for. The limit of
	// VerdictBorrowingLimit is guarantee and borrowing limit together.
	Limit, Used, Asked int64
	// Kind of what is in the way.
	Kind VerdictKind
	// Withheld is how much would be kept for others below the limit if the charge were
	// made and something has to be left for them: the limit that is needed is Used,
	// Asked and Kept together.
	Withheld int64
}

// check refuses a queue that makes no sense by itself, in a tree.
func (q *Queue) check(t *Tree) *Error {
	if reason := checkName(string(q.Name)); reason != "" {
		return q.refuse(ErrInvalid, "name", reason)
	}
	for _, f := range q.stated() {
		if len(f.amounts) == 0 {
			continue
		}
		for _, r := range slices.Sorted(maps.Keys(f.amounts)) {
			if reason := t.checkResource(r); reason != "" {
				return q.refuse(ErrInvalid, element(f.field, r), reason)
			}
			if reason := f.check(f.amounts[r]); reason != "" {
				return q.refuse(ErrInvalid, element(f.field, r), reason)
			}
		}
	}
	if reason := checkAmount(q.Weight); reason != "" {
		return q.refuse(ErrInvalid, "weight", reason)
	}
	return nil
}

func (q *Queue) refuse(kind error, field, reason string) *Error {
	return &Error{Queue: q.Name, Field: field, Reason: reason, Kind: kind}
}

// clone copies q, so that no map is shared with the caller. Empty maps become
// nil: they say the same.
func (q *Queue) clone() Queue {
	c := *q
	for _, amounts := range []*Amounts{&c.Guarantee, &c.Limit, &c.LendingLimit, &c.BorrowingLimit} {
		if *amounts = maps.Clone(*amounts); len(*amounts) == 0 {
			*amounts = nil
		}
	}
	for _, shares := range []*Thousandths{&c.GuaranteeShare, &c.LimitShare} {
		if *shares = maps.Clone(*shares); len(*shares) == 0 {
			*shares = nil
		}
	}
	return c
}

// element is the field path of one amount, as in guarantee["gpuMilli"].
func element(field string, r Resource) string {
	return fmt.Sprintf("%s[%q]", field, errtext.Short(string(r)))
}

// checkName returns why s cannot be a name, or "".
func checkName(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > MaxNameBytes:
		return fmt.Sprintf("has %d bytes; the most is %d", len(s), MaxNameBytes)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Sprintf("has the control character %U", r)
		}
	}
	return ""
}

// checkAmount returns why v cannot be an amount, or "".
func checkAmount(v int64) string {
	switch {
	case v < 0:
		return fmt.Sprintf("is negative: %d", v)
	case v > MaxAmount:
		return fmt.Sprintf("%d exceeds %d", v, int64(MaxAmount))
	}
	return ""
}
