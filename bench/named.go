package bench

import (
	"fmt"
	"strings"
)

// A NamedPolicy is a policy that comes with the package.
type NamedPolicy struct {
	Name string
	// About says in a few words what it prefers.
	About string
	// New makes one for a Session. Only a policy that draws uses the seed.
	New func(seed int64) Policy
}

// Policies lists the policies that come with the package, the simplest first.
func Policies() []NamedPolicy {
	plain := func(make func() Policy) func(int64) Policy {
		return func(int64) Policy { return make() }
	}
	return []NamedPolicy{
		{"random", "any node", Random},
		{"first-fit", "the first node", plain(FirstFit)},
		{"dot-product", "the node whose rest points away from the request", plain(DotProduct)},
		{"gpu-clustering", "the node with tasks of as many GPUs", plain(GPUClustering)},
		{"gpu-packing", "GPUs in use, then nodes in use", plain(GPUPacking)},
		{"best-fit", "the node with the least left", plain(BestFit)},
		{"buddy", "the smallest free cell of 1, 2, 4 or 8 GPUs", plain(Buddy)},
		{"gang", "what the scheduling core does before it knows what is asked for", plain(Gang)},
		{"fgd", "the node that loses the least for typical requests", plain(FGD)},
		{"berth", "the node that leaves the most capacity for expected work", plain(Berth)},
	}
}

// justCore is the name of the scheduling core as a policy, and inCore goes before the name of a
// policy that is its scorer.
const (
	justCore = "core"
	inCore   = "core-"
)

// InCore is the scheduling core as it comes, which learns what is asked for as tasks arrive (see
// CoreWith).
func InCore() NamedPolicy {
	return NamedPolicy{justCore, "the scheduling core", func(seed int64) Policy { return CoreWith(NamedPolicy{}, seed) }}
}

// Find returns a policy of Policies by its name, by "core" the scheduling core, and by "core-" and
// a name the core with that policy (see CoreWith). ErrUnknown for another name.
func Find(name string) (NamedPolicy, error) {
	if name == justCore {
		return InCore(), nil
	}
	names := []string{justCore}
	rule, in := strings.CutPrefix(name, inCore)
	for _, p := range Policies() {
		switch {
		case p.Name == name:
			return p, nil
		case in && p.Name == rule:
			return NamedPolicy{name, "the scheduling core with " + rule + " as its scorer", func(seed int64) Policy { return CoreWith(p, seed) }}, nil
		}
		names = append(names, p.Name)
	}
	return NamedPolicy{}, &Error{Subject: fmt.Sprintf("policy %q", name), Reason: "there are " + strings.Join(names, ", "), Kind: ErrUnknown}
}
