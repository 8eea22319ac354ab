package spec

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// A job is kept as it was told, to the last field.
func TestAJobIsKeptAsItWasTold(t *testing.T) {
	var job berth.Job
	fillIn(reflect.ValueOf(&job).Elem())
	asked := AskedBy(&job)
	kept := JobOf(&job, &asked)
	require.Equal(t, job, kept.Full())
	job.Service.Replicas++
	require.NotEqual(t, job, kept.Full(), "the service is shared with the caller")
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
			fillIn(part(&asked).Field(i))
			name := part(&asked).Type().Field(i).Name
			require.Equal(t, name == "Groups", asked.Simple(), name)
		}
	}
}

// A node is kept as it was told, to the last field.
func TestANodeIsKeptAsItWasTold(t *testing.T) {
	var node berth.Node
	fillIn(reflect.ValueOf(&node).Elem())
	node.GPUs[0].NUMANode, node.NICs[0].Rail, node.NICs[0].NUMANode = berth.OrdinalOf(1), berth.OrdinalOf(2), berth.OrdinalOf(3)
	node.GPUs = append(node.GPUs, node.GPUs[0])
	node.GPUs[1].UUID, node.GPUs[1].PCI, node.GPUs[1].NUMANode, node.GPUs[1].Mode = "y", "z", berth.OrdinalOf(4), berth.GPUModeMIG
	node.GPUs[1].Failed, node.GPUs[1].Instances = false, nil
	kept := NodeOf(&node)
	require.Equal(t, node, kept.Full())
	node.Domains[0], node.Labels["x"], node.GPUs[0].Instances[0].Start = "y", "y", 7
	require.NotEqual(t, node.Domains, kept.Domains, "shared with the caller")
	require.NotEqual(t, node.Labels, kept.Labels)
	require.NotEqual(t, node.GPUs[0].Instances, kept.GPUs[0].Instances)
	node.GPUs[0].Mode = berth.GPUModeUnset
	require.Equal(t, berth.GPUModeWhole, NodeOf(&node).GPUs[0].Mode)
}

// fillIn gives everything in a value something that is not zero.
func fillIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[berth.Ordinal]() {
			return
		}
		for i := range v.NumField() {
			fillIn(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillIn(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(v.Elem())
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillIn(key)
		fillIn(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(1)
		} else {
			v.SetUint(1)
		}
	}
}
