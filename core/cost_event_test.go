package core_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// What an event makes the core allocate is bounded by its size, also where it is long: nodes of a
// reservation by name, labels, and tables by which GPUs divide. A table costs what the places of
// its instances do, and one with too many is refused before they are worked out.
func TestALongEventCostsItsSize(t *testing.T) {
	const many = 2000
	labels := map[string]string{}
	var nodes []berth.NodeID
	for i := range many {
		labels[fmt.Sprintf("key-%d", i)] = fmt.Sprintf("value-%d", i)
		nodes = append(nodes, berth.NodeID(fmt.Sprintf("node-%d", i)))
	}
	table := func(name string, change func(*mig.Product)) berth.Event {
		p, known := mig.Lookup("H100-80GB")
		require.True(t, known)
		p.Name = name
		change(&p)
		return berth.MIGTableSet{Table: p}
	}
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	for _, c := range []struct {
		e     berth.Event
		times int // its JSON
		kind  error
	}{
		{berth.ReservationSet{Reservation: berth.Reservation{ID: "named", From: 1000, Until: 2000, Nodes: nodes}}, 4, nil},
		{berth.ReservationSet{Reservation: berth.Reservation{ID: "some", From: 1000, Until: 2000, GPUs: 65_536 * berth.MaxGPUs}}, 60, berth.ErrConflict},
		{berth.ReservationSet{Reservation: berth.Reservation{ID: "labelled", From: 1000, Until: 2000, GPUs: 1, Selector: berth.Selector{Labels: labels}}}, 30, berth.ErrConflict},
		{berth.NodeJoined{Node: berth.Node{ID: "labelled", CPUMilli: 1000, Labels: labels}}, 20, nil},
		{berth.JobSubmitted{Job: berth.Job{ID: "labelled", Queue: "a", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{CPUMilli: 1}, Selector: berth.Selector{Labels: labels}}}}}, 60, nil},
		{table("told", func(*mig.Product) {}), 300, nil},
		{table("long", func(p *mig.Product) { p.MemorySlices = 1 << 30 }), 10, berth.ErrInvalid},
		{table("fine", func(p *mig.Product) {
			one := p.Profiles[0]
			p.ComputeSlices, p.MemorySlices, one.Starts = 32, 32, nil
			for at := range 32 {
				one.Starts = append(one.Starts, at)
			}
			one.MaxCount, one.SMs, one.Engines = 32, 0, mig.Engines{}
			p.Profiles = []mig.Profile{one}
		}), 8000, berth.ErrInvalid},
	} {
		text, err := json.Marshal(c.e)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = d.Apply(0, c.e)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, c.kind, "%.80s", text)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(c.times*len(text)), "bytes for %.80s", text)
	}
	require.NoError(t, d.Check())
}
