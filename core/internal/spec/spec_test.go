package spec

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
)

// A job is kept as it was told, to the last field.
func TestAJobIsKeptAsItWasTold(t *testing.T) {
	require.Empty(t, fields.Forgotten(func(j berth.Job) berth.Job {
		shared := AskedBy(&j)
		asked := shared.Clone()
		kept := JobOf(&j, &asked)
		return kept.Full()
	}), "AskedBy, Asked.Clone, JobOf and Job.Full of job.go")
}

// What asks for groups alone is simple, and whatever else is said makes it not so.
func TestGroupsAloneAreSimple(t *testing.T) {
	for _, part := range []func(*Asked) reflect.Value{
		func(a *Asked) reflect.Value { return reflect.ValueOf(a).Elem() },
		func(a *Asked) reflect.Value { return reflect.ValueOf(&a.Topology).Elem() },
	} {
		for i := range part(new(Asked)).NumField() {
			asked := Asked{Groups: []berth.Group{{}}}
			require.True(t, asked.Simple())
			part(&asked).Field(i).Set(reflect.ValueOf(fields.Filled(part(&asked).Field(i).Type())).Elem())
			name := part(&asked).Type().Field(i).Name
			require.Equal(t, name == "Groups", asked.Simple(), name)
		}
	}
}

// A node is kept as it was told, to the last field.
func TestANodeIsKeptAsItWasTold(t *testing.T) {
	likeTheFirst := func(n berth.Node) berth.Node { // but for what a GPU has for itself
		for i := range n.GPUs {
			own := n.GPUs[i]
			n.GPUs[i] = n.GPUs[0]
			n.GPUs[i].UUID, n.GPUs[i].PCI, n.GPUs[i].NUMANode, n.GPUs[i].Mode = own.UUID, own.PCI, own.NUMANode, own.Mode
			n.GPUs[i].Failed, n.GPUs[i].Instances = own.Failed, own.Instances
		}
		return n
	}
	require.Empty(t, fields.Forgotten(func(n berth.Node) berth.Node {
		kept := NodeOf(&n)
		return kept.Full()
	}, likeTheFirst), "NodeOf and Node.FullIn of node.go")
	node := fields.Fill[berth.Node]()
	node.GPUs[0].Mode = berth.GPUModeUnset
	require.Equal(t, berth.GPUModeWhole, NodeOf(&node).GPUs[0].Mode)
}
