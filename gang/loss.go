package gang

import (
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// SetLoss has single members go where the caller loses the least, as SetScorer has them go where
// the score is highest; but the caller is asked about each [Stock], not each node, and answers are
// remembered. So a decision costs O(stocks), and few nanoseconds for each that was asked about.
// Where both are set, the scorer decides.
//
// Of an equal loss the rule of the package comment decides, and a share goes to a GPU with less
// left. nil: that rule alone.
//
// What is remembered is bounded: for at most 256 claims, and some million numbers.
func (f *Fleet) SetLoss(l Losses) {
	f.losses.of = l
	f.takeStock()
}

// Losses say what is lost by taking a place.
type Losses interface {
	// Loss of a member with a claim on a node with a stock: of a share on a GPU with so much left,
	// else left is -1. It is below [math.MaxInt64], and a pure function of its arguments as long
	// as Version is the same.
	Loss(c *Claim, s *Stock, left int16) int64
	// Version changes with what Loss answers. It is not 0.
	Version() uint32
}

// Stocks calls a function for each stock, in no order.
func (f *Fleet) Stocks(use func(*Stock)) {
	f.takeStock()
	k := f.stocktake()
	for _, list := range k.lists {
		for _, i := range list {
			use(&k.list[i])
		}
	}
}

const (
	// knownClaims and knownLosses bound what is remembered.
	knownClaims = 256
	knownLosses = 1 << 20
)

// losses are what a caller's function has answered.
type losses struct {
	of      Losses
	version uint32
	claims  []claimLosses
	byClaim map[claimKey]int
	clock   uint64
	lefts   []int16
	asked   int // how often the function was asked, and looked how many stocks were looked at: for tests
	looked  int
}

// A claimKey is what a loss depends on.
type claimKey struct {
	gpus  int
	share Share
	host  countable.Amounts
	// declared is the same pointer in claims of one caller's request: equal ones beside it are but
	// asked about again.
	declared *countable.Declared
}

// claimLosses are the losses by one claim, by the number of the stock.
type claimLosses struct {
	key   claimKey
	used  uint64
	known []loss
}

// A loss is the least of a claim on a stock, and what the GPU has left that a share gets then. It
// is of the stock with that birth, and of that version of the function.
type loss struct {
	birth, version uint32
	left           int16
	least          int64
}

// claim finds what is remembered for a claim, and forgets the one that was not asked about for
// longest if there are too many.
func (l *losses) claim(c *Claim, stocks int) *claimLosses {
	key := claimKey{c.GPUs, c.Share, c.Host, c.Declared}
	l.clock++
	i, known := l.byClaim[key]
	if !known {
		if l.byClaim == nil {
			l.byClaim = map[claimKey]int{}
		}
		if most := min(knownClaims, max(8, knownLosses/(stocks+1))); len(l.claims) < most {
			i = len(l.claims)
			l.claims = append(l.claims, claimLosses{})
		} else {
			for _, cut := range l.claims[most:] { // there are more stocks than when these were asked about
				delete(l.byClaim, cut.key)
			}
			clear(l.claims[most:])
			l.claims = l.claims[:most]
			for j := range l.claims {
				if l.claims[j].used < l.claims[i].used {
					i = j
				}
			}
			delete(l.byClaim, l.claims[i].key)
			clear(l.claims[i].known)
		}
		l.claims[i].key, l.byClaim[key] = key, i
	}
	found := &l.claims[i]
	found.used = l.clock
	if short := stocks - len(found.known); short > 0 {
		found.known = append(found.known, make([]loss, short)...)
	}
	return found
}

// pickByLoss leaves one member of a group the nodes with the stocks of the least loss.
func (f *Fleet) pickByLoss(d topology.DomainIndex, group int) {
	s, k := &f.search, f.stocktake()
	f.losses.version = f.losses.of.Version()
	g, p := &s.request.Groups[group], &s.picks
	known := f.losses.claim(&g.Claim, len(k.list))
	s.group, s.scope, p.best = group, nil, p.best[:0]
	least, all := int64(math.MaxInt64), d == topology.RootDomain && g.Match == nil && g.RailLevel == 0
	for _, c := range g.Classes {
		if int(c) >= len(k.lists) {
			continue
		}
		f.losses.looked += len(k.lists[c])
		for _, i := range k.lists[c] {
			stock := &k.list[i]
			if !stock.mayHold(&g.Claim) {
				continue
			}
			at := &known.known[i]
			if at.birth != stock.birth || at.version != f.losses.version {
				f.lose(&g.Claim, stock, at)
			}
			if at.least > least || at.least == math.MaxInt64 || !all && !f.anyServes(d, group, stock) {
				continue
			}
			if at.least < least {
				least, p.best = at.least, p.best[:0]
			}
			p.best = append(p.best, i)
		}
	}
	if len(p.best) > 0 {
		p.chooseStocks(k, known)
	}
}

// LossOn is the least that is lost by a member with a claim on a node, which a share does on a GPU
// with so much left, else -1. False: it has no place there, or nobody says what is lost.
func (f *Fleet) LossOn(c *Claim, n topology.NodeIndex) (least int64, left int16, ok bool) {
	if f.losses.of == nil {
		return 0, -1, false
	}
	k := f.stocktake()
	i := k.of[n].stock
	if i < 0 || !k.list[i].mayHold(c) {
		return 0, -1, false
	}
	f.losses.version = f.losses.of.Version()
	at := &f.losses.claim(c, len(k.list)).known[i]
	if at.birth != k.list[i].birth || at.version != f.losses.version {
		f.lose(c, &k.list[i], at)
	}
	return at.least, at.left, at.least < math.MaxInt64
}

// StockOf is the stock of a node that takes work, good until the fleet changes; else nil.
func (f *Fleet) StockOf(n topology.NodeIndex) *Stock {
	f.takeStock()
	k := f.stocktake()
	if i := k.of[n].stock; i >= 0 {
		return &k.list[i]
	}
	return nil
}

// mayHold reports whether a node with a stock has room for a claim, but for what is left of the
// memory of GPUs, and of the tenants that share them.
func (s *Stock) mayHold(c *Claim) bool {
	for r := range c.Host {
		if c.Host[r] > s.Host[r] && c.Host[r] > 0 {
			return false
		}
	}
	if !c.Declared.Within(s.Declared.Floor()) {
		return false
	}
	switch {
	case c.GPUs > 0:
		return c.GPUs <= len(s.Left) && s.Left[len(s.Left)-c.GPUs] == wholeMilli
	case c.Share.GPUMilli > 0:
		return len(s.Left) > 0 && int32(s.Left[len(s.Left)-1]) >= c.Share.GPUMilli
	}
	return true
}

// lose finds the least loss of a claim on a stock; [math.MaxInt64] where it has no room.
func (f *Fleet) lose(c *Claim, s *Stock, at *loss) {
	*at = loss{birth: s.birth, version: f.losses.version, left: -1, least: math.MaxInt64}
	if c.Share.GPUMilli == 0 {
		at.least = f.losses.of.Loss(c, s, -1)
		f.losses.asked++
		return
	}
	state := &f.nodes[s.nodes[0]]
	f.losses.lefts = f.losses.lefts[:0]
	for gpu := range state.slots {
		left := state.leftFor(gpu, &c.Share)
		if left < 0 || slices.Contains(f.losses.lefts, left) {
			continue
		}
		f.losses.lefts = append(f.losses.lefts, left)
		least := f.losses.of.Loss(c, s, left)
		f.losses.asked++
		if least < at.least || least == at.least && left < at.left {
			at.least, at.left = least, left
		}
	}
}

// leftFor is what a GPU has left for a share that it has room for, else -1.
func (s *nodeState) leftFor(gpu int, share *Share) int16 {
	if s.sharesIn(gpu, share) == 0 {
		return -1
	}
	return int16(wholeMilli - s.slots[gpu].milli)
}

// anyServes reports whether a node at or below a domain, with a stock, is for a group.
func (f *Fleet) anyServes(d topology.DomainIndex, group int, s *Stock) bool {
	level := f.tree.DomainLevel(d)
	return slices.ContainsFunc(s.nodes, func(n topology.NodeIndex) bool {
		return f.tree.DomainOf(n, level) == d && f.admits(group, n)
	})
}

// A stockMark says that a stock is chosen, if it has the epoch, and for a share a GPU with so much
// left.
type stockMark struct {
	epoch uint64
	left  int16
}

// chooseStocks marks the stocks that are best.
func (p *picks) chooseStocks(k *stocks, known *claimLosses) {
	p.on, p.stocks, p.only, p.least = true, k, -1, wholeMilli
	p.epoch++
	if short := len(k.list) - len(p.stockMarks); short > 0 {
		p.stockMarks = append(p.stockMarks, make([]stockMark, short)...)
	}
	for _, i := range p.best {
		left := known.known[i].left
		p.stockMarks[i] = stockMark{p.epoch, left}
		p.least = min(p.least, left)
	}
	if one := &k.list[p.best[0]]; len(p.best) == 1 && len(one.nodes) == 1 {
		p.only = one.nodes[0]
	}
}

// maySee reports whether any node of a class with so many GPUs free is left.
func (p *picks) maySee(c topology.NodeClass, free int) bool {
	if !p.on || p.stocks == nil || len(p.best) > maxLooked {
		return true
	}
	return slices.ContainsFunc(p.best, func(i int32) bool {
		s := &p.stocks.list[i]
		return s.Class == c && s.free() == free
	})
}

// free is how many GPUs of a node with the stock are free.
func (s *Stock) free() int {
	i, _ := slices.BinarySearch(s.Left, wholeMilli)
	return len(s.Left) - i
}

// one is the only node that a choice leaves; false: there are more, or there was no choice.
func (p *picks) one() (topology.NodeIndex, bool) {
	if !p.on || p.stocks == nil || p.only < 0 {
		return -1, false
	}
	return p.only, true
}

// leastLeft is the least that a GPU for a share may have left.
func (p *picks) leastLeft(share int32) int32 {
	if !p.on || p.stocks == nil {
		return share
	}
	return max(share, int32(p.least))
}

// markOf is the mark of the stock of a node, if that is chosen.
func (p *picks) markOf(n topology.NodeIndex) (stockMark, bool) {
	at := p.stocks.of[n].stock
	if at < 0 || p.stockMarks[at].epoch != p.epoch {
		return stockMark{}, false
	}
	return p.stockMarks[at], true
}

// putOnlyShare places a share on the only node that is left.
func (f *Fleet) putOnlyShare(n topology.NodeIndex, group int) {
	state, share := &f.nodes[n], &f.search.request.Groups[group].Claim.Share
	mark, _ := f.search.picks.markOf(n)
	for gpus := state.shared | state.free(); gpus != 0; gpus &= gpus - 1 {
		if gpu := bits.TrailingZeros64(gpus); state.leftFor(gpu, share) == mark.left {
			f.putShare(n, gpu, group)
			return
		}
	}
}
