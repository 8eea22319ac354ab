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
		{"spread", "the node with the most left", plain(Spread)},
		{"dot-product", "the node whose rest points away from the request", plain(DotProduct)},
		{"gpu-clustering", "the node with tasks of as many GPUs", plain(GPUClustering)},
		{"gpu-packing", "GPUs in use, then nodes in use", plain(GPUPacking)},
		{"best-fit", "the node with the least left", plain(BestFit)},
		{"buddy", "the smallest free cell of 1, 2, 4 or 8 GPUs", plain(Buddy)},
		{"core", "what the scheduling core does", plain(Core)},
		{"fgd", "the node that loses the least for typical requests", plain(FGD)},
		{"berth", "the node that leaves the most capacity for expected work", plain(Berth)},
	}
}

// New makes a policy of Policies by its name. ErrUnknown for another name.
func New(name string, seed int64) (Policy, error) {
	var names []string
	for _, p := range Policies() {
		if p.Name == name {
			return p.New(seed), nil
		}
		names = append(names, p.Name)
	}
	return nil, &Error{Subject: fmt.Sprintf("policy %q", name), Reason: "there are " + strings.Join(names, ", "), Kind: ErrUnknown}
}
