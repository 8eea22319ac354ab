package nvmlsrc

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

func layoutOf(t *testing.T, texts ...string) []mig.Placement {
	var layout []mig.Placement
	for _, text := range texts {
		layout = append(layout, at(t, text))
	}
	return layout
}

// dividing is a machine whose GPU 2 has two instances, and what an inventory says of it.
func dividing(t *testing.T) (*FakeMachine, *Source, GPU) {
	p := hgx()
	require.NoError(t, p.Partition(2, layoutOf(t, "2g.20gb@0:2", "3g.40gb@4:4")...))
	s := p.source()
	v, err := s.Inventory()
	require.NoError(t, err)
	return p, s, v.GPUs[2]
}

// existing lists the instances that an inventory finds.
func existing(t *testing.T, s *Source, gpu int) []mig.Placement {
	v, err := s.Inventory()
	require.NoError(t, err)
	return v.GPUs[gpu].layout()
}

func TestCreateAndDestroy(t *testing.T) {
	_, s, gpu := dividing(t)
	d := s.Partitioner()
	made, err := d.create(gpu, at(t, "1g.10gb@2:1"))
	require.NoError(t, err)
	require.Len(t, made.UUIDs, 1)
	require.Equal(t, 19, made.Profile)
	v, err := s.Inventory()
	require.NoError(t, err)
	found, ok := v.GPUs[2].Instance(at(t, "1g.10gb@2:1"))
	require.True(t, ok)
	require.Equal(t, made, found)
	require.NoError(t, d.destroy(gpu, at(t, "3g.40gb@4:4")))
	require.Equal(t, layoutOf(t, "2g.20gb@0:2", "1g.10gb@2:1"), existing(t, s, 2))
}

// Each refusal is typed, says why, and changes nothing.
func TestDividerRefuses(t *testing.T) {
	here := layoutOf(t, "2g.20gb@0:2", "3g.40gb@4:4")
	for _, c := range []struct {
		name   string
		before func(*FakeMachine, *GPU)
		create string
		remove string
		kind   error
		text   string
	}{
		{name: "no such start", create: "3g.40gb@2:4", kind: ErrInvalid, text: "migProfiles: invalid: H100-80GB has no placement 3g.40gb@2:4"},
		{name: "no such profile", create: "1g.5gb@0:1", kind: ErrInvalid},
		{name: "in the way", create: "1g.10gb@1:1", kind: ErrInUse, text: "migCreate: in use: insufficient resources"},
		{name: "not there", remove: "1g.10gb@2:1", kind: ErrInvalid, text: "migDestroy: invalid: there is no instance 1g.10gb@2:1"},
		{
			name: "in use", remove: "3g.40gb@4:4", kind: ErrInUse,
			before: func(p *FakeMachine, g *GPU) { must(0, p.Start(17, g.MIG.Instances[1].UUIDs[0])) },
		},
		{name: "no rights", create: "1g.10gb@2:1", kind: ErrNoPermission, before: func(p *FakeMachine, _ *GPU) { p.gpus[2].fail(queryMIGCreate, noPermission) }},
		{name: "old driver", remove: "3g.40gb@4:4", kind: ErrMissingSymbol, before: func(p *FakeMachine, _ *GPU) { p.gpus[2].fail(queryMIGDestroy, missing) }},
		{name: "instances unknown", remove: "3g.40gb@4:4", kind: ErrNoPermission, before: func(p *FakeMachine, _ *GPU) { p.gpus[2].fail(queryMIGInstances, noPermission) }},
		{name: "lost", create: "1g.10gb@2:1", kind: ErrLost, before: func(p *FakeMachine, _ *GPU) { must(0, p.Fail(2, "gone")) }},
		{name: "no UUID", create: "1g.10gb@2:1", kind: ErrNoPermission, before: func(p *FakeMachine, _ *GPU) { p.gpus[2].fail(queryUUID, noPermission) }},
		{name: "count", create: "1g.10gb@2:1", kind: ErrDriver, before: func(p *FakeMachine, _ *GPU) { p.countErr = errors.New("boom") }},
		{name: "moved", create: "1g.10gb@2:1", kind: ErrUnknownGPU, before: func(_ *FakeMachine, g *GPU) { g.Index = 3 }, text: "gpus[3]: uuid: unknown GPU: it is "},
		{name: "beyond", create: "1g.10gb@2:1", kind: ErrUnknownGPU, before: func(_ *FakeMachine, g *GPU) { g.Index = 8 }},
		{name: "made by hand", create: "1g.10gb@2:1", kind: ErrUnknownGPU, before: func(_ *FakeMachine, g *GPU) { *g = GPU{} }},
		{
			name: "no table", create: "1g.10gb@2:1", kind: ErrUnknownGPU,
			before: func(_ *FakeMachine, g *GPU) { g.MIG.Report, g.Product, g.PCIDeviceID = mig.Report{}, "Z9", 0 },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s, gpu := dividing(t)
			if c.before != nil {
				c.before(p, &gpu)
			}
			var err error
			if c.create != "" {
				_, err = s.Partitioner().create(gpu, at(t, c.create))
			} else {
				err = s.Partitioner().destroy(gpu, at(t, c.remove))
			}
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var typed *Error
			require.ErrorAs(t, err, &typed)
			var layout []mig.Placement
			for _, i := range p.gpus[2].existing {
				layout = append(layout, p.gpus[2].named(i))
			}
			require.Equal(t, here, layout)
		})
	}
	_, s, gpu := dividing(t)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Partitioner().destroy(gpu, at(t, "3g.40gb@4:4")), ErrClosed)
}

// An instance on which no compute instance can be created is not left behind; if it cannot
// be destroyed either, the error says so.
func TestCreateWithoutCompute(t *testing.T) {
	p, s, gpu := dividing(t)
	p.gpus[2].fail(queryMIGCompute, noPermission)
	_, err := s.Partitioner().create(gpu, at(t, "1g.10gb@2:1"))
	require.ErrorIs(t, err, ErrNoPermission)
	require.Len(t, existing(t, s, 2), 2)
	p.gpus[2].fail(queryMIGDestroy, missing)
	_, err = s.Partitioner().create(gpu, at(t, "1g.10gb@2:1"))
	require.ErrorContains(t, err, "and instance 4 is left: nvmlSomething")

	p, s, gpu = dividing(t)
	p.gpus[2].fail(queryMIGDevices, noPermission)
	made, err := s.Partitioner().create(gpu, at(t, "1g.10gb@2:1"))
	require.NoError(t, err, "it is there")
	require.Empty(t, made.UUIDs)
}

// A Repartition that the core orders is carried out in its order, and what the core then
// places finds its instance.
func TestApplyOrderOfTheCore(t *testing.T) {
	p := hgx()
	for gpu := range p.gpus {
		require.NoError(t, p.Partition(gpu, layoutOf(t, "7g.80gb@0:8")...))
	}
	s := p.source()
	v, err := s.Inventory()
	require.NoError(t, err)
	node, err := v.Node("n1")
	require.NoError(t, err)
	sched, err := core.New(berth.Config{Policy: berth.Policy{Geometry: []berth.Geometry{{Kind: berth.GeometryAdaptive}}}})
	require.NoError(t, err)
	for _, event := range []berth.Event{
		berth.NodeJoined{Node: node},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
		berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 3, Claim: berth.Claim{MIG: "2g.20gb"}}}}},
	} {
		require.NoError(t, sched.Apply(0, event))
	}
	var bind berth.Bind
	now := berth.Time(0)
	for range 20 {
		orders, err := sched.Schedule(now)
		require.NoError(t, err)
		for _, order := range orders {
			switch o := order.(type) {
			case berth.Repartition:
				require.NoError(t, s.Partitioner().Apply(v.GPUs[o.GPU], o))
				require.NoError(t, sched.Apply(now, berth.OrderReported{Order: o.ID, Outcome: berth.OutcomeDone}))
			case berth.Bind:
				bind = o
			}
		}
		if len(bind.Members) > 0 {
			break
		}
		now = now.Add(berth.Minute)
	}
	require.Len(t, bind.Members, 3)
	v, err = s.Inventory()
	require.NoError(t, err)
	for _, member := range bind.Members {
		held, ok := v.GPUs[member.GPUs.Indexes()[0]].Instance(member.Instance)
		require.True(t, ok)
		require.Len(t, held.UUIDs, 1)
	}
}

// An order that fails on the way is undone, so that Failed is true of the GPU; if that
// fails too the error says that the GPU is another now.
func TestApplyThatFails(t *testing.T) {
	p, s, gpu := dividing(t)
	order := berth.Repartition{
		GPU: 2, Mode: berth.GPUModeMIG,
		Destroy: layoutOf(t, "2g.20gb@0:2"), Create: layoutOf(t, "1g.10gb@0:1", "1g.10gb@1:1", "4g.40gb@0:4"),
	}
	before := existing(t, s, 2)
	err := s.Partitioner().Apply(gpu, order)
	var partial *PartitionError
	require.ErrorAs(t, err, &partial)
	require.ErrorIs(t, err, ErrInUse)
	require.Equal(t, &PartitionError{Destroyed: 1, Created: 2, Unchanged: true, Err: partial.Err}, partial)
	require.EqualError(t, err, "nvmlsrc: gpus[2]: migCreate: in use: insufficient resources (nothing was changed)")
	require.Equal(t, before, existing(t, s, 2))

	p.gpus[2].fail(queryMIGCompute, noPermission)
	err = s.Partitioner().Apply(gpu, order)
	require.ErrorAs(t, err, &partial)
	require.EqualError(t, err, "nvmlsrc: gpus[2]: migCompute: no permission: the user may not ask this (after 1 instances were destroyed and 0 created)")
	require.False(t, partial.Unchanged)
	v, err := s.Inventory()
	require.NoError(t, err)
	require.Equal(t, berth.GPUPartitioned{
		Node: "n1", GPU: 2, Mode: berth.GPUModeMIG, Instances: layoutOf(t, "3g.40gb@4:4"),
	}, v.GPUs[2].Partitioned("n1"), "what the core is to be told now")
	require.Equal(t, berth.GPUPartitioned{Node: "n1", GPU: 1, Mode: berth.GPUModeWhole}, v.GPUs[1].Partitioned("n1"))

	order.Mode = berth.GPUModeWhole
	err = s.Partitioner().Apply(gpu, order)
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorAs(t, err, &partial)
	require.True(t, partial.Unchanged)
}
