package demand

import (
	"encoding/binary"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
)

const (
	// maxKinds bounds the kinds that are known.
	maxKinds = 256
	// window is how many members are counted before their weights are halved.
	window = 1 << 14
	// fewest is how many members have to be asked for before anything is expected.
	fewest = 32
	// maxTotal bounds weights and their sum: what is beyond is not counted.
	maxTotal = 1 << 20
	// maxOnce bounds what is counted of one group.
	maxOnce = 1 << 16
	// longest is what a member counts for that runs for longer, in seconds.
	longest = 24 * 60 * 60
	// maxTime bounds the sum of what members count for, by the two bounds above.
	maxTime = maxTotal * longest
)

// A Kind is what members ask for. Weight is how many of them there were, Timed how many of these
// stated a run time, and Time the sum of these run times in seconds. Those of long ago count less.
type Kind struct {
	Claim    berth.Claim    `json:"claim"`
	Selector berth.Selector `json:"selector,omitzero"`
	Weight   int64          `json:"weight"`
	Timed    int64          `json:"timed,omitempty"`
	Time     int64          `json:"time,omitempty"`
}

// A mix is what was asked for. A kind that is new takes the place of the one with the least weight
// where there are too many, and its weight, so that weights add up to what was asked for (Metwally,
// Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams",
// ICDT 2005): a kind that is asked for often is known, whatever comes between.
type mix struct {
	kinds []Kind
	byKey map[string]int
	keys  []string
	// total is the sum of the weights.
	total int64
	// since is how many were added since it was last looked at, and next at how many that is due.
	since, next int64
	key         []byte
}

// newMix is a mix of nothing.
func newMix() mix { return mix{byKey: map[string]int{}, next: fewest} }

// add counts so many members of a group. So many of them state a run time, of so many seconds in
// all.
func (m *mix) add(g *berth.Group, many, timed, time int64) {
	if g.Claim.WantsInstance() || g.Claim.Borrow != nil || many <= 0 || many > maxTotal-m.total {
		return // a divided GPU has no room for others, and a GPU that is borrowed is taken from nobody
	}
	if len(g.Claim.Resources) > 0 && !values.WantsDevice(&g.Claim) && g.Claim.Host() == (countable.Amounts{}) {
		return // what is declared is not weighed
	}
	m.key = appendKey(m.key[:0], g)
	i, known := m.byKey[string(m.key)]
	switch {
	case known:
	case len(m.kinds) < maxKinds:
		i = len(m.kinds)
		m.kinds, m.keys = append(m.kinds, Kind{}), append(m.keys, "")
		m.name(i, g)
	default:
		for j := range m.kinds {
			if m.kinds[j].Weight < m.kinds[i].Weight {
				i = j
			}
		}
		delete(m.byKey, m.keys[i])
		m.name(i, g)
	}
	m.kinds[i].Weight += many
	m.kinds[i].Timed += timed
	m.kinds[i].Time += time
	m.total += many
	m.since += many
}

// name says what a kind is: that with the key at hand.
func (m *mix) name(i int, g *berth.Group) {
	k := &m.kinds[i]
	k.Claim, k.Selector = g.Claim, g.Selector
	k.Claim.Share, k.Claim.Resources, k.Selector.Labels = nil, nil, nil
	k.Selector = values.CloneSelector(k.Selector)
	if g.Claim.Share != nil {
		k.Claim.Share = &berth.Share{Mode: berth.ShareMPS, GPUMilli: g.Claim.Share.GPUMilli}
	}
	m.keys[i] = string(m.key)
	m.byKey[m.keys[i]] = i
}

// age notes that the mix is looked at, next when there is as much again, and halves weights where
// they have grown large.
func (m *mix) age() {
	if m.total >= window {
		kept := 0
		m.total = 0
		for i := range m.kinds {
			m.kinds[i].halve()
			if m.kinds[i].Weight == 0 {
				delete(m.byKey, m.keys[i])
				continue
			}
			m.total += m.kinds[i].Weight
			m.kinds[kept], m.keys[kept] = m.kinds[i], m.keys[i]
			m.byKey[m.keys[kept]] = kept
			kept++
		}
		clear(m.kinds[kept:])
		m.kinds, m.keys = m.kinds[:kept], m.keys[:kept]
	}
	m.since, m.next = 0, m.total
}

// halve makes a kind count half: its members run for as long, on average.
func (k *Kind) halve() {
	half := k.Timed / 2
	k.Time = k.Time * half / max(k.Timed, 1)
	k.Weight, k.Timed = k.Weight/2, half
}

// timedKinds are the kinds of a mix, with a run time for every member: a member that states none
// counts for as long as the mean of those that state one. So a service, which runs for ever, and a
// job of unknown length are neither all of the GPU time nor none of it.
func (m *mix) timedKinds() []Kind {
	kinds := slices.Clone(m.kinds)
	timed, time := int64(0), int64(0)
	for i := range kinds {
		timed += kinds[i].Timed
		time += kinds[i].Time
	}
	mean := int64(1)
	if timed > 0 {
		mean = time / timed
	}
	for i := range kinds {
		k := &kinds[i]
		k.Time += (k.Weight - k.Timed) * mean
		k.Timed = k.Weight
	}
	return kinds
}

// appendKey appends what tells a kind from all others. Hands are dealt by it: a field that came
// later adds nothing where it is not used, so that decisions are as before.
func appendKey(b []byte, g *berth.Group) []byte {
	c, s := &g.Claim, &g.Selector
	b = binary.AppendUvarint(b, uint64(c.GPUs))
	milli := 0
	if c.Share != nil {
		milli = c.Share.GPUMilli
	}
	b = binary.AppendUvarint(b, uint64(milli))
	host := c.Host()
	for _, amount := range host[:firstResources] {
		b = binary.AppendVarint(b, amount)
	}
	links := byte(0)
	if c.NVLink {
		links = 1
	}
	b = append(b, links, byte(s.MinComputeCapability.Major), byte(s.MinComputeCapability.Minor))
	b = binary.AppendVarint(b, s.MinGPUMemoryMiB)
	for _, list := range [...][]string{s.Pools, s.Products} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, name := range list {
			b = binary.AppendUvarint(b, uint64(len(name)))
			b = append(b, name...)
		}
	}
	for _, t := range s.Tolerations {
		b = append(b, 1) // one more
		b = append(b, byte(t.Operator), byte(t.Effect))
		for _, text := range [...]string{t.Key, t.Value} {
			b = binary.AppendUvarint(b, uint64(len(text)))
			b = append(b, text...)
		}
	}
	return appendLater(b, host[firstResources:])
}

// firstResources are the resources of which a key has each amount.
const firstResources = int(countable.MemoryMiB) + 1

// appendLater appends the amounts of resources that came later: those that are asked for.
func appendLater(b []byte, amounts []int64) []byte {
	for r, amount := range amounts {
		if amount != 0 {
			b = append(b, 2, byte(r)) // 1 is another toleration
			b = binary.AppendVarint(b, amount)
		}
	}
	return b
}
