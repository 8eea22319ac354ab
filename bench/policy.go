package bench

import (
	"github.com/berth-sched/berth"
)

// A Policy decides where tasks go. It serves one Session.
type Policy interface {
	// Choose returns the place of a task. The nodes in feasible, at least one and in the order
	// of the fleet, are all those on which it fits: the model of GPU suits, and CPU, memory
	// and GPUs are left. The choice is one of them, with as many GPUs as the request has, of
	// which each has at least Request.Milli left; Free and Tightest find some. Ties
	// should go to the node that comes first.
	//
	// A Policy may keep what it has computed; Fleet.Version says when a node has changed. It
	// does not keep feasible.
	Choose(f *Fleet, k Kind, feasible []Node) Choice
}

// A Choice is a place, and how good it is in the terms of the policy: more is better. The score
// is for readers of decisions; nothing is decided by it any more.
type Choice struct {
	Place
	Score int64
}

// A Follower is a Policy that keeps books of its own. It is told of everything that changes, in
// order: Held after a task got its place, Released after it left it.
type Follower interface {
	Held(f *Fleet, k Kind, p Place)
	Released(f *Fleet, k Kind, p Place)
}

// A Scorer judges one node at a time.
type Scorer interface {
	// Score says how good it is to put a task on a node on which it fits, more being better,
	// and which GPUs it gets there. The answer may depend on the kind, on what that node is
	// and has on it, and on the mix, but on nothing else: it is asked again only when one of
	// these has changed.
	Score(f *Fleet, k Kind, n Node) (score int64, gpus berth.GPUSet)
}

// ByScore makes a Policy from a Scorer: the highest score wins, and of equals the node that
// comes first. A decision is O(feasible nodes), and a Score for each of them that has
// changed since the last task of that kind. It keeps 16 bytes for every node and each of the
// first 1,024 kinds.
func ByScore(s Scorer) Policy { return &byScore{scores: scores{scorer: s}} }

type byScore struct{ scores scores }

func (p *byScore) Choose(f *Fleet, k Kind, feasible []Node) Choice {
	row := p.scores.row(f, k)
	var best Choice
	for i, n := range feasible {
		score, gpus := p.scores.at(f, k, n, row)
		if i == 0 || score > best.Score {
			best = Choice{Place: Place{Node: n, GPUs: gpus}, Score: score}
		}
	}
	return best
}

// scores keeps what a Scorer said until it may say something else.
type scores struct {
	scorer Scorer
	rows   [][]scored // by kind and node
	mixes  uint32
}

// A scored is what a Scorer said of a node at a version; its version is one more, so that the
// zero value is of none.
type scored struct {
	score   int64
	gpus    berth.GPUSet
	version uint32
}

// maxRows bounds the memory for traces on which hardly two requests are alike, and nothing
// would be gained from it.
const maxRows = 1024

// row is what is kept for a kind, nil for nothing. It is good until the next call.
func (s *scores) row(f *Fleet, k Kind) []scored {
	if _, mixes := f.Mix(); mixes != s.mixes {
		s.mixes = mixes
		for _, row := range s.rows {
			clear(row)
		}
	}
	if k >= maxRows {
		return nil
	}
	for len(s.rows) <= int(k) {
		s.rows = append(s.rows, nil)
	}
	if s.rows[k] == nil {
		s.rows[k] = make([]scored, f.Nodes())
	}
	return s.rows[k]
}

// at is what the Scorer says of a node.
func (s *scores) at(f *Fleet, k Kind, n Node, row []scored) (int64, berth.GPUSet) {
	if row == nil {
		return s.scorer.Score(f, k, n)
	}
	known := &row[n]
	if version := f.version[n] + 1; known.version != version {
		known.version = version
		known.score, known.gpus = s.scorer.Score(f, k, n)
	}
	return known.score, known.gpus
}

// Free returns the first of the GPUs of a node that have all left, as many as a request has. It
// is for whole GPUs; a share gets none.
func Free(f *Fleet, k Kind, n Node) berth.GPUSet {
	var set berth.GPUSet
	if r := f.Request(k); r.Milli == WholeGPU {
		need := r.GPUs
		for g, milli := range f.Left(n) {
			if need == 0 {
				break
			}
			if milli == WholeGPU {
				set |= 1 << g
				need--
			}
		}
	}
	return set
}

// Tightest returns the GPUs of a node on which a task that fits there leaves the least: for
// a share the fullest GPU that has room for it, else the first free ones. Of equals the first.
func Tightest(f *Fleet, k Kind, n Node) berth.GPUSet {
	r := f.Request(k)
	if !r.Share() {
		return Free(f, k, n)
	}
	var best int16
	at := -1
	for g, milli := range f.Left(n) {
		if int(milli) >= r.Milli && (at < 0 || milli < best) {
			best, at = milli, g
		}
	}
	return berth.GPUSet(1) << at
}
