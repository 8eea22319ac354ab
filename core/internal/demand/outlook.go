package demand

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/countable"
)

// The constants of the rule. Package bench has them too, and says how they were chosen.
const (
	// fills is how many sequences of members a node is filled with, hand how long each is.
	fills = 60
	hand  = 30
	// typicalPercent of the members are of typical kinds.
	typicalPercent = 95
	gpuPercent     = 85

	wholeMilli = 1000
	// Prices are fixed-point numbers with so many bits after the point. With maxPrice, and maxTake
	// of each of 256 kinds, no sum overflows.
	priceBits = 28
	maxPrice  = 1 << 41
	maxTake   = 1<<12 - 1
)

// An outlook is what is expected to be asked for: the typical kinds of a mix, and sequences of
// them as they may arrive.
type outlook struct {
	time    int64 // of the mix
	kinds   []Kind
	typical []expected
	// models are the kinds of hardware that were met since.
	models []model
	byKey  map[hardware.Key]int
}

// An expected is a typical kind.
type expected struct {
	group  berth.Group
	gpus   int
	milli  int16 // of a share
	host   countable.Amounts
	name   uint64 // tells it from others, or nearly so
	demand int64  // milli-GPU of this kind that a member of the mix holds on average, by time
}

// A model is what the hardware of nodes is to typical kinds.
type model struct {
	key     hardware.Key
	accepts []bool    // by typical kind
	hands   [][]int16 // sequences of typical kinds that it accepts
	checked checksum  // of what Check has worked out
}

// begin takes the kinds of a mix that are asked for most.
func (o *outlook) begin(m *mix) {
	kinds := m.timedKinds()
	slices.SortStableFunc(kinds, func(a, b Kind) int { return cmp.Compare(b.Weight, a.Weight) })
	covered, gpus, all, time := int64(0), int64(0), int64(0), int64(0)
	for i := range kinds {
		all += kinds[i].Weight * kinds[i].milli()
		time += kinds[i].Time
	}
	for i := range kinds {
		if covered*100 >= m.total*typicalPercent && gpus*100 >= all*gpuPercent {
			kinds = kinds[:i]
			break
		}
		covered += kinds[i].Weight
		gpus += kinds[i].Weight * kinds[i].milli()
	}
	o.expect(kinds, time)
}

// expect takes typical kinds, of a mix that runs for so many seconds.
func (o *outlook) expect(kinds []Kind, time int64) {
	*o = outlook{time: time, kinds: kinds, byKey: map[hardware.Key]int{}}
	for i := range kinds {
		k := &kinds[i]
		e := expectedOf(k)
		const demandBits = 24
		e.demand = (k.Time << demandBits / time) * k.milli() << (priceBits - demandBits)
		e.name = nameOf(&e.group)
		o.typical = append(o.typical, e)
	}
}

// expectedOf is what a kind asks for.
func expectedOf(k *Kind) expected {
	e := expected{group: berth.Group{Members: 1, Claim: k.Claim, Selector: k.Selector}, gpus: k.Claim.GPUs, host: k.Claim.Host()}
	if k.Claim.Share != nil {
		e.milli = int16(k.Claim.Share.GPUMilli)
	}
	return e
}

// milli is what a member of a kind takes of GPUs, in thousandths.
func (k *Kind) milli() int64 {
	if k.Claim.Share != nil {
		return int64(k.Claim.Share.GPUMilli)
	}
	return int64(k.Claim.GPUs) * wholeMilli
}

// device reports whether a kind asks for GPUs or a part of one.
func (e *expected) device() bool { return e.gpus > 0 || e.milli > 0 }

// model is the number of the model of nodes of some hardware.
func (o *outlook) model(k hardware.Key) int {
	k.Fence = ""
	i, known := o.byKey[k]
	if !known {
		i = len(o.models)
		o.byKey[k] = i
		m := model{key: k, accepts: make([]bool, len(o.typical))}
		for t := range o.typical {
			m.accepts[t] = k.Admits(&o.typical[t].group)
		}
		m.hands = o.deal(m.accepts)
		o.models = append(o.models, m)
	}
	return i
}

// deal makes the sequences for a model, as they may arrive: of each kind that the model accepts as
// many members as its part is of all, dealt round the hands from one that its name says, in an
// order that name and number say. So a kind is in all hands as often, but for one, and a mix that
// changes little has hands that change little: what was kept free for company stays of use.
//
// Shares change places with each other until the largest comes first: as on a fleet of many nodes,
// where a large share has a node to go to before what is left of it is filled up.
func (o *outlook) deal(accepts []bool) [][]int16 {
	hands, sum := make([][]dealt, fills), int64(0)
	for i := range accepts {
		if accepts[i] {
			sum += o.kinds[i].Weight
		}
	}
	for i := range accepts {
		if !accepts[i] {
			continue
		}
		const size, step = fills * hand, 37 // step and fills have no common divisor
		name := o.typical[i].name
		for n := range uint64((o.kinds[i].Weight*size + sum/2) / sum) {
			to := (name + n*step) % fills
			hands[to] = append(hands[to], dealt{scatter(name + n), int16(i)})
		}
	}
	decks := make([][]int16, fills)
	for at, cards := range hands {
		slices.SortFunc(cards, func(a, b dealt) int {
			if a.key != b.key {
				return cmp.Compare(a.key, b.key)
			}
			return cmp.Compare(a.kind, b.kind)
		})
		decks[at] = o.largestFirst(cards)
	}
	return decks
}

// A dealt is a member in a hand, and what it is ordered by.
type dealt struct {
	key  uint64
	kind int16
}

// largestFirst is a hand with the shares in order.
func (o *outlook) largestFirst(cards []dealt) []int16 {
	var list, shares []int16
	for _, c := range cards {
		if list = append(list, c.kind); o.typical[c.kind].milli > 0 {
			shares = append(shares, c.kind)
		}
	}
	slices.SortStableFunc(shares, func(a, b int16) int { return cmp.Compare(o.typical[b].milli, o.typical[a].milli) })
	for at, i := range list {
		if o.typical[i].milli > 0 {
			list[at], shares = shares[0], shares[1:]
		}
	}
	return list
}

// scatter is a number that has nothing to do with another (SplitMix64; Steele, Lea and Flood,
// OOPSLA 2014).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// nameOf is a number for a kind.
func nameOf(g *berth.Group) uint64 {
	name := uint64(0)
	for _, b := range appendKey(nil, g) {
		name = scatter(name ^ uint64(b))
	}
	return name
}
