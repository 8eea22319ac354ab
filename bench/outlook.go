package bench

import (
	"cmp"
	"slices"
)

// The constants of Berth. Nothing else in it is tuned.
const (
	// outlookFills is how many sequences of tasks a room is filled with, outlookTasks how long
	// each is.
	outlookFills = 60
	outlookTasks = 30
	// outlookKinds bounds how many kinds are looked at, for fleets on which hardly two tasks
	// are alike.
	outlookKinds = 256
)

// An outlook is what is expected to be asked for: the typical kinds of a mix, and sequences of
// them as they may arrive.
type outlook struct {
	mix     Mix
	total   int64 // tasks of the mix
	typical []expected
	// fills are sequences of typical kinds, as places in typical, by model of GPU; each is
	// outlookFills times outlookTasks, one after the other.
	fills [][]int16
}

// An expected is a typical kind.
type expected struct {
	Request
	kind   Kind
	demand int64  // milli-GPU that a task of the mix asks for in this kind on average, times 1<<priceBits
	models []bool // that will do; nil: any
}

func (e *expected) acceptsModel(m int16) bool { return e.models == nil || e.models[m] }

// newOutlook takes the kinds of the mix that are asked for most and together make up 95 % of its
// tasks, and draws sequences from them: for each model from those that accept it.
func newOutlook(f *Fleet, mix Mix) *outlook {
	o := &outlook{mix: mix}
	list := slices.Clone(mix)
	for _, c := range mix {
		o.total += c.Count
	}
	slices.SortFunc(list, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	covered, counts := int64(0), []int64(nil)
	for _, c := range list {
		if covered*100 >= o.total*typicalPercent || len(o.typical) == outlookKinds {
			break
		}
		r := f.Request(c.Kind)
		o.typical = append(o.typical, expected{Request: *r, kind: c.Kind, demand: demand(c.Count, o.total, r), models: f.accepts[c.Kind]})
		counts = append(counts, c.Count)
		covered += c.Count
	}
	for m := range f.models {
		o.fills = append(o.fills, o.draw(int16(m), counts))
	}
	return o
}

// demand is the demand of a kind that count of total tasks are of.
func demand(count, total int64, r *Request) int64 {
	const demandBits = 24
	for ; total >= 1<<32; total >>= 1 {
		count >>= 1
	}
	return (count << demandBits / total) * r.TotalMilli() << (priceBits - demandBits)
}

// draw makes the sequences for a model. A deck of typical tasks, with each kind that the model
// accepts as often as it is asked for, is shuffled and dealt. Shares change places with each other
// until the largest comes first: as on a fleet of many nodes, where a large share has a node to go
// to before what is left of it is filled up.
func (o *outlook) draw(model int16, counts []int64) []int16 {
	deck := o.deck(model, counts)
	shuffle(deck)
	for hand := range slices.Chunk(deck, outlookTasks) {
		var shares []int16
		for _, i := range hand {
			if o.typical[i].Share() {
				shares = append(shares, i)
			}
		}
		slices.SortStableFunc(shares, func(a, b int16) int { return cmp.Compare(o.typical[b].Milli, o.typical[a].Milli) })
		for at, i := range hand {
			if o.typical[i].Share() {
				hand[at], shares = shares[0], shares[1:]
			}
		}
	}
	return deck
}

// deck lists the kinds that a model accepts, each as often as its part of their tasks is of the
// deck. It is empty where there is none.
func (o *outlook) deck(model int16, counts []int64) []int16 {
	sums, sum := make([]int64, len(counts)), int64(0)
	for i := range o.typical {
		if o.typical[i].acceptsModel(model) {
			sum += counts[i]
		}
		sums[i] = sum
	}
	var deck []int16
	const size = outlookFills * outlookTasks
	for i := int16(0); sum > 0 && len(deck) < size; {
		if sums[i]*size > sum*int64(len(deck))+sum/2 {
			deck = append(deck, i)
		} else {
			i++
		}
	}
	return deck
}

// shuffle shuffles (Fisher and Yates) with SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from a
// fixed state, so that a deck is shuffled alike everywhere.
func shuffle(deck []int16) {
	state := uint64(0)
	for i := len(deck) - 1; i > 0; i-- {
		state += 0x9e3779b97f4a7c15
		x := state
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
		j := x % uint64(i+1)
		deck[i], deck[j] = deck[j], deck[i]
	}
}

// grown reports whether a mix is that of the outlook with more tasks, but not twice as many.
func (o *outlook) grown(mix Mix) bool {
	total, known := int64(0), 0
	for _, c := range mix {
		total += c.Count
		if known < len(o.mix) && c.Kind == o.mix[known].Kind {
			if c.Count < o.mix[known].Count {
				return false
			}
			known++
		}
	}
	return known == len(o.mix) && total < 2*o.total
}
