package catalogue

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/mig"
)

// A table plans as package mig does, works out each plan once, and does not remember without end.
func TestPlansAreRemembered(t *testing.T) {
	product, _ := mig.Lookup("H100-80GB")
	table, err := New().NewTable(product, false)
	require.NoError(t, err)
	l := table.Lattice
	for seed := range drawn.Seeds(200) {
		random := rand.New(rand.NewPCG(8, seed))
		var layout mig.Layout
		exist := mig.State(0)
		for range random.IntN(5) {
			p := random.IntN(l.Profiles())
			if next, _, ok := l.PlanFor(exist, exist, oneOf(l, p)); ok {
				exist = next
			}
		}
		layout = l.Layout(exist)
		held := exist
		for _, p := range layout {
			if random.IntN(2) == 0 {
				held, err = l.Remove(held, p)
				require.NoError(t, err)
			}
		}
		profile, count := random.IntN(l.Profiles()), 1+random.IntN(3)
		counts := make([]int, l.Profiles())
		counts[profile] = count
		to, steps, ok := l.PlanFor(exist, held, counts)
		plan := table.Plan(exist, held, profile, count)
		known := len(table.plans)
		require.Equal(t, plan, table.Plan(exist, held, profile, count))
		require.Len(t, table.plans, known)
		if require.Equal(t, ok && len(steps) > 0, plan.Steps > 0); plan.Steps > 0 {
			require.Equal(t, to, plan.To)
			require.Len(t, steps, plan.Steps)
			require.Positive(t, plan.Touched)
		}
	}
}

func oneOf(l *mig.Lattice, profile int) []int {
	counts := make([]int, l.Profiles())
	counts[profile] = 1
	return counts
}

// Check finds a plan that is not the one of its layout, and uses that are not those that were
// counted.
func TestCheckFindsWhatIsKeptAndWrong(t *testing.T) {
	product, _ := mig.Lookup("H100-80GB")
	for name, spoil := range map[string]func(c *Catalogue, t *Table){
		"a plan": func(_ *Catalogue, t *Table) {
			for key, plan := range t.plans {
				plan.Steps++
				t.plans[key] = plan
			}
		},
		"nodes of a table":         func(_ *Catalogue, t *Table) { t.Nodes++ },
		"the name of a table":      func(_ *Catalogue, t *Table) { t.Product.Name = "other" },
		"uses of an owner":         func(c *Catalogue, _ *Table) { c.Owners.Uses[1]++ },
		"the key of an owner":      func(c *Catalogue, _ *Table) { c.Owners.Keys[1].TrustDomain.Tenant = "other" },
		"a graph that no node has": func(c *Catalogue, _ *Table) { c.Graphs.ByKey["none"] = &GraphEntry{key: "none", uses: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			c := New()
			table, err := c.NewTable(product, false)
			require.NoError(t, err)
			c.Tables[product.Name] = table
			table.Plan(0, 0, 0, 1)
			owner := c.Owners.Retain(OwnerKey{TrustDomain: TrustDomain{Tenant: "t"}, Mode: berth.ShareMPS})
			check := func() error { return c.Check(map[gang.Owner]int{owner: 1}, nil, nil) }
			require.NoError(t, check())
			spoil(c, table)
			require.Error(t, check())
		})
	}
}
