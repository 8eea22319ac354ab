package demand

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// Check finds what is kept of the mix, of typical kinds and of nodes and does not follow from them.
func TestCheckFindsWhatIsKeptAndWrong(t *testing.T) {
	for name, spoil := range map[string]func(d *Demand, s *gang.Stock){
		"the weight of all":          func(d *Demand, _ *gang.Stock) { d.mix.total++ },
		"the key of a kind":          func(d *Demand, _ *gang.Stock) { d.mix.keys[0] += "x" },
		"what a typical kind asks":   func(d *Demand, _ *gang.Stock) { d.outlook.typical[0].gpus++ },
		"the prices":                 func(d *Demand, _ *gang.Stock) { d.prices = d.prices[1:] },
		"what hardware accepts":      func(d *Demand, _ *gang.Stock) { d.outlook.models[0].accepts[0] = !d.outlook.models[0].accepts[0] },
		"the hands of hardware":      func(d *Demand, _ *gang.Stock) { d.outlook.models[0].hands[0] = nil },
		"what a leftover takes":      func(d *Demand, s *gang.Stock) { d.leftoverOf(s).takes = nil },
		"what a leftover is worth":   func(d *Demand, s *gang.Stock) { d.leftoverOf(s).worth++ },
		"a leftover of other nodes":  func(d *Demand, s *gang.Stock) { d.leftoverOf(s).left = []int16{0} },
		"another kind of hardware":   func(d *Demand, s *gang.Stock) { d.keyOf = keyOf(berth.GPU{Product: "Y"}) },
		"another outlook in the key": func(d *Demand, s *gang.Stock) { d.leftoverOf(s).outlook-- },
	} {
		t.Run(name, func(t *testing.T) {
			fleet, err := gang.NewFleet()
			require.NoError(t, err)
			d := New(fleet, keyOf(berth.GPU{Product: "X"}))
			_, err = fleet.AddNode(gang.NodeSpec{Name: "n", GPUs: 2})
			require.NoError(t, err)
			d.Submitted([]berth.Group{{Members: fewest, Claim: berth.WholeGPUs(1), Selector: berth.Selector{Products: []string{"X"}}}}, 1, berth.Hour)
			d.look()
			var stock *gang.Stock
			fleet.Stocks(func(s *gang.Stock) { stock = s })
			d.worth(d.leftoverOf(stock))
			require.NoError(t, d.Check())
			spoil(d, stock)
			require.Error(t, d.Check())
		})
	}
}

func keyOf(gpu berth.GPU) func(topology.NodeClass) hardware.Key {
	n := berth.Node{ID: "n", GPUs: berth.EqualGPUs(2, gpu)}
	node := spec.NodeOf(&n)
	key := hardware.KeyOf(&node, 0)
	return func(topology.NodeClass) hardware.Key { return key }
}
