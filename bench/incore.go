package bench

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
)

// AsScorer makes a policy the scorer of a scheduling core (berth.Config.Scorer) with these nodes,
// by name. Whatever the policy chooses of the nodes that the core allows has the highest score; a
// share goes to a GPU with as much left as the one that it chose. Whole GPUs of a node are chosen
// by the core, and so is the place of a member with an instance.
//
// The policy knows the mix of all that was submitted to the core, told each time there is an eighth
// more of it.
func AsScorer(nodes []NodeSpec, p NamedPolicy, seed int64) (berth.BookkeepingScorer, error) {
	s := &policyScorer{named: p, seed: seed, nodes: nodes, index: map[string]Node{}}
	for n := range nodes {
		s.index[nodes[n].Name] = Node(n)
	}
	return s.fresh()
}

// A policyScorer follows what a core holds in a Session of its own.
type policyScorer struct {
	named   NamedPolicy
	seed    int64
	nodes   []NodeSpec
	index   map[string]Node
	session *Session
	policyBooks
	feasible []Node
	was      []shownNode
}

// policyBooks are what a policyScorer saves; the tasks are those of the session.
type policyBooks struct {
	// Requests by kind, and how often each was submitted.
	Requests []Request `json:"requests,omitempty"`
	Seen     []int64   `json:"seen,omitempty"`
	// Arrived is the sum of Seen, and Next at how many the policy learns of it. Known is what it
	// has learned.
	Arrived int64 `json:"arrived,omitempty"`
	Next    int64 `json:"next,omitempty"`
	Known   Mix   `json:"known,omitempty"`
	// Steps counts what was held and released.
	Steps  int64           `json:"steps,omitempty"`
	Tasks  [][]Task        `json:"tasks,omitempty"`
	Policy json.RawMessage `json:"policy,omitempty"`
}

// A settler is a Policy with a state of its own, beside the fleet and the mix. The state changes
// when settle is called, after each change of these; it is saved and restored.
type settler interface {
	settle(f *Fleet)
	saved() any
	restore(f *Fleet, b []byte) error
}

// A drawer is a Policy that draws: what it draws next depends on how much has happened.
type drawer interface{ reseed(seed int64) }

func (s *policyScorer) fresh() (*policyScorer, error) {
	session, err := NewSession(s.nodes, s.named.New(s.seed))
	if err != nil {
		return nil, err
	}
	return &policyScorer{named: s.named, seed: s.seed, nodes: s.nodes, index: s.index, session: session}, nil
}

func (s *policyScorer) Name() string { return fmt.Sprintf("bench/%s seed %d", s.named.Name, s.seed) }

// request is what members of a group ask for; false: it is not for a policy.
func request(g *berth.Group) (Request, bool) {
	c := &g.Claim
	r := Request{CPUMilli: c.CPUMilli, MemoryMiB: c.MemoryMiB, GPUs: c.GPUs, Models: strings.Join(g.Selector.Products, "|")}
	switch {
	case c.WantsInstance():
		return r, false
	case c.Share != nil:
		r.GPUs, r.Milli = 1, c.Share.GPUMilli
	case c.GPUs > 0:
		r.Milli = WholeGPU
	}
	return r, r.check() == ""
}

// kind is the kind of a request, which is noted if it is new.
func (s *policyScorer) kind(g *berth.Group) (Kind, bool) {
	r, ok := request(g)
	if !ok {
		return 0, false
	}
	k, err := s.session.Kind(r)
	must(err)
	if int(k) == len(s.Requests) {
		s.Requests, s.Seen = append(s.Requests, r), append(s.Seen, 0)
	}
	return k, true
}

// Score asks the policy. A kind that was never submitted, and so is not known, is scored by nobody.
func (s *policyScorer) Score(g *berth.Group, places []berth.Place) {
	r, ok := request(g)
	k, known := s.session.fleet.kinds[r]
	if !ok || !known {
		return
	}
	f := s.session.fleet
	s.feasible = s.feasible[:0]
	for i := range places {
		n, known := s.index[string(places[i].Node.ID)]
		if !known || i > 0 && places[i-1].Node == places[i].Node {
			continue
		}
		s.show(n, &places[i])
		if f.Fits(k, n) {
			s.feasible = append(s.feasible, n)
		}
	}
	slices.Sort(s.feasible)
	if d, draws := s.session.policy.(drawer); draws {
		d.reseed(s.seed + s.Steps)
	}
	if choice, ok, err := s.session.chooseFrom(k, s.feasible); ok {
		s.mark(choice.Place, r.Share(), places)
	} else {
		must(err)
	}
	s.unshow()
}

// mark gives the highest score to the places that the policy chose.
func (s *policyScorer) mark(chosen Place, share bool, places []berth.Place) {
	gpu := bits.TrailingZeros64(uint64(chosen.GPUs))
	for i := range places {
		p := &places[i]
		if s.index[string(p.Node.ID)] == chosen.Node && (!share || p.Left[p.GPU] == p.Left[gpu]) {
			p.Score = 1
		}
	}
}

// A shownNode is a node as it was before another state of it was shown: a core also asks about what
// it imagines.
type shownNode struct {
	node        Node
	cpu, memory int64
	left        []int16
}

func (s *policyScorer) show(n Node, p *berth.Place) {
	f := s.session.fleet
	left := f.Left(n)
	same := f.cpu[n] == p.HostLeft[countable.CPUMilli] && f.memory[n] == p.HostLeft[countable.MemoryMiB]
	for g := range left {
		same = same && left[g] == int16(p.Left[g])
	}
	if same {
		return
	}
	s.was = append(s.was, shownNode{n, f.cpu[n], f.memory[n], slices.Clone(left)})
	f.cpu[n], f.memory[n] = p.HostLeft[countable.CPUMilli], p.HostLeft[countable.MemoryMiB]
	for g := range left {
		left[g] = int16(p.Left[g])
	}
	f.sum(n)
}

func (s *policyScorer) unshow() {
	f := s.session.fleet
	for i := range s.was {
		was := &s.was[i]
		f.cpu[was.node], f.memory[was.node] = was.cpu, was.memory
		copy(f.Left(was.node), was.left)
		f.sum(was.node)
	}
	s.was = s.was[:0]
}

// Submitted counts what was asked for.
func (s *policyScorer) Submitted(j *berth.Job) {
	for i := range j.Groups {
		g := &j.Groups[i]
		many := int64(g.Members)
		if j.Service != nil {
			many *= int64(j.Service.Replicas)
		}
		if k, ok := s.kind(g); ok {
			s.Seen[k] += many
			s.Arrived += many
		}
	}
	if s.Arrived < s.Next || s.Arrived == 0 {
		return
	}
	s.Next = s.Arrived + (s.Arrived+7)/8
	s.Known = nil
	for k, count := range s.Seen {
		if count > 0 {
			s.Known = append(s.Known, KindCount{Kind: Kind(k), Count: count})
		}
	}
	must(s.session.Know(s.Known))
	s.settle()
}

func (s *policyScorer) settle() {
	if p, ok := s.session.policy.(settler); ok {
		p.settle(s.session.fleet)
	}
}

// Held and Released follow the core.
func (s *policyScorer) Held(h berth.Holding) { s.follow(h, s.session.Hold) }

func (s *policyScorer) Released(h berth.Holding) { s.follow(h, s.session.Release) }

func (s *policyScorer) follow(h berth.Holding, change func(Kind, Place) error) {
	s.Steps++
	n, known := s.index[string(h.Node.ID)]
	if !known {
		return
	}
	if k, ok := s.kind(h.Group); ok && change(k, Place{Node: n, GPUs: h.GPUs}) == nil {
		s.settle()
	}
}

func (s *policyScorer) Save() []byte {
	books := s.policyBooks
	f := s.session.fleet
	for n := range Node(f.Nodes()) {
		books.Tasks = append(books.Tasks, append([]Task{}, f.Tasks(n)...)) // never nil
	}
	if p, ok := s.session.policy.(settler); ok {
		books.Policy = marshal(p.saved())
	}
	return marshal(&books)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	must(err)
	return b
}

func (s *policyScorer) Restore(saved []byte) (berth.BookkeepingScorer, error) {
	own, err := s.fresh()
	if err != nil || saved == nil {
		return own, err
	}
	if err := json.Unmarshal(saved, &own.policyBooks); err != nil {
		return nil, err
	}
	if err := own.replay(); err != nil {
		return nil, err
	}
	own.Tasks, own.Policy = nil, nil
	return own, nil
}

// replay has the session of a restored scorer know what its books say.
func (s *policyScorer) replay() error {
	for _, r := range s.Requests {
		if _, err := s.session.Kind(r); err != nil {
			return err
		}
	}
	if len(s.Tasks) > len(s.nodes) || len(s.Seen) != len(s.Requests) || s.session.fleet.Kinds() != len(s.Requests) {
		return fmt.Errorf("they are of another fleet")
	}
	for n, tasks := range s.Tasks {
		for _, t := range tasks {
			if err := s.session.Hold(t.Kind, Place{Node: Node(n), GPUs: t.GPUs}); err != nil {
				return err
			}
		}
	}
	if s.Known != nil {
		if err := s.session.Know(s.Known); err != nil {
			return err
		}
	}
	if p, ok := s.session.policy.(settler); ok {
		return p.restore(s.session.fleet, s.Policy)
	}
	return nil
}
