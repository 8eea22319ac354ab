package migsim

import (
	"slices"

	"github.com/berth-sched/berth/mig"
)

// berth ranks by what was asked for. It looks at each GPU as the core does: the least
// loss, and of equals the first GPU.
type berth struct {
	lattice *mig.Lattice
	ranking *mig.Ranking
	asked   []uint32 // how often each profile was, plus one; nil if the demand is known
	total   int
}

// Berth is the policy of mig.Ranking. With weights it ranks for that demand; without,
// it takes all profiles for alike at first and learns from what it is asked: one more
// than the counts so far (Laplace's rule, so that what was not asked for yet is not
// given up), in a new ranking whenever their sum has doubled.
func Berth(l *mig.Lattice, weights []uint32) Policy {
	b := &berth{lattice: l, ranking: mig.NewRanking(l, weights)}
	if weights == nil {
		b.asked = slices.Repeat([]uint32{1}, l.Profiles())
	}
	return b
}

func (b *berth) Choose(fleet []mig.State, profile int) (int, mig.Placement, mig.State, bool) {
	b.learn(profile)
	var (
		found bool
		gpu   int
		at    mig.Placement
		next  mig.State
		least int64
	)
	for g, s := range fleet {
		p, t, loss, ok := b.ranking.Best(s, profile)
		if ok && (!found || loss < least) {
			found, gpu, at, next, least = true, g, p, t, loss
		}
	}
	return gpu, at, next, found
}

func (b *berth) learn(profile int) {
	if b.asked == nil {
		return
	}
	b.asked[profile]++
	b.total++
	if b.total&(b.total-1) == 0 {
		b.ranking = mig.NewRanking(b.lattice, b.asked)
	}
}
