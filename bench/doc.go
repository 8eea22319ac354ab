// Package bench compares policies of placement: the same tasks arrive at the same fleet,
// and a policy says for each of them on which node and which GPUs it goes.
//
// # A policy
//
// A [Policy] is one method. It is shown the fleet, which it can read and not change, the
// request, and the nodes on which the request fits, and returns its [Choice]. What fits is
// decided here, and what is chosen is checked here: a policy cannot give a GPU twice, and one
// that tries is named in an error. The example of [ByScore] adds one.
//
// Most policies look at one node at a time. Those are a [Scorer], from which [ByScore] makes
// a Policy: the highest score wins, ties go to the node that comes first, and what was
// computed for a node is kept until the node changes.
//
// Every policy runs in the scheduling core, too: [AsScorer] makes a berth.Scorer of it, and
// [CoreWith] places as a core that has it does. [CoreScoredBy] does so with a scorer of one's own:
// examples/ownscorer.
//
// [Policies] lists the ones that come with the package, from a random draw to berth's own,
// and the rule of the scheduling core among them. Each says in its comment what it is,
// exactly, and its source.
//
// # A session
//
// A [Session] is a fleet with a policy. It places tasks, releases them, and tells the policy
// what the mix of requests is, as far as that is to be known:
//
//	policy, err := bench.Find("fgd")
//	s, err := bench.NewSession(nodes, policy.New(42))
//	kind, err := s.Kind(bench.Request{CPUMilli: 4000, GPUs: 1, Milli: 500})
//	s.Know(mix)
//	choice, ok, err := s.Place(kind)
//
// It has neither goroutines nor a clock; the same calls give the same answers.
//
// # Words and units
//
// CPU is in thousandths of a core, memory in MiB, GPUs in thousandths of a GPU (milli). A
// request with one GPU and less than 1000 milli is a share: it goes on one GPU beside other
// shares. Everything else is whole GPUs, or none. The order of the nodes given to NewSession is
// the order in which ties are broken, and nodes are named by their place in it.
//
// Package bench/openb plays a published trace with it.
package bench
