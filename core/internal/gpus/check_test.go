package gpus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// What a test breaks, the checks of the room find.
func TestChecksFindWhatIsBroken(t *testing.T) {
	for want, broken := range map[string]func(m *roomtest.Machine, n *record.Node){
		"is staged after a pass": func(_ *roomtest.Machine, n *record.Node) { n.GPUs[1].Note().Staged = &record.Partitioning{} },
		"is held for no job":     func(_ *roomtest.Machine, n *record.Node) { n.GPUs[1].Note().GPUHold = &record.GPUHold{} },
		"its order is not in the index": func(m *roomtest.Machine, _ *record.Node) {
			clear(m.GPUs.Repartitions)
		},
		"orders for GPUs": func(m *roomtest.Machine, n *record.Node) { n.GPUs[0].Note().By = nil },
		"was changed, and its node was not": func(_ *roomtest.Machine, n *record.Node) {
			n.Altered = false
		},
		"is astray: false":            func(_ *roomtest.Machine, n *record.Node) { n.GPUs[0].Note().Astray = true },
		"is undivided, and should be": func(_ *roomtest.Machine, n *record.Node) { n.Spec.GPUs[1].Mode = berth.GPUModeMIG },
		"has the layout": func(_ *roomtest.Machine, n *record.Node) {
			n.Spec.GPUs[0].Instances = n.Spec.GPUs[0].Instances[1:]
		},
		"holds it in mode whole": func(m *roomtest.Machine, n *record.Node) {
			m.Run(whole("runs"), "n1")
			n.Spec.GPUs[1].Mode = berth.GPUModeMPS
		},
		"which does not wait for it": func(m *roomtest.Machine, n *record.Node) {
			m.GPUs.HoldGPU(&record.GPUHold{Rep: m.Run(whole("runs"), "n1"), Node: n, GPUHoldPart: record.GPUHoldPart{GPU: 1}})
		},
		"is not in the list": func(m *roomtest.Machine, _ *record.Node) {
			m.Wait(whole("waits")).GPUHold = &record.GPUHold{}
		},
		"nodes, counted": func(m *roomtest.Machine, n *record.Node) { n.Table.Nodes++ },
	} {
		t.Run(want, func(t *testing.T) {
			m, _ := divided(t)
			m.Break()
			check := func() error {
				for _, check := range []func() error{m.GPUs.CheckGPUs, m.GPUs.CheckGPUHolds, m.GPUs.CheckCatalogue} {
					if err := check(); err != nil {
						return err
					}
				}
				return nil
			}
			require.NoError(t, check())
			broken(m, m.NodeNamed("n1"))
			require.ErrorContains(t, check(), want)
		})
	}
}
