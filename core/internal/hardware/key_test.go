package hardware

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/internal/fields"
)

// Keys are in a total order: two that differ in any field, and in nothing else, are not equal in
// it.
// The function to change for a new field is compare.
func TestTheOrderOfKeysLooksAtEachField(t *testing.T) {
	looked := 0
	var each func(path string, k *Key, v reflect.Value)
	each = func(path string, k *Key, v reflect.Value) {
		v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem() // it may be unexported
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				each(path+"."+v.Type().Field(i).Name, k, v.Field(i))
			}
			return
		case reflect.String:
			v.SetString("a")
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.Set(reflect.ValueOf(1).Convert(v.Type()))
		}
		looked++
		require.Positive(t, k.compare(Key{}), "compare forgets %s", path)
		require.Negative(t, Key{}.compare(*k), "compare forgets %s", path)
		v.SetZero()
	}
	var k Key
	each("Key", &k, reflect.ValueOf(&k).Elem())
	require.Equal(t, Key{}, k)
	require.GreaterOrEqual(t, looked, reflect.TypeFor[Key]().NumField())
}

// mayChange are the fields of a node that may change under running members. The core knows mode
// and instances better, and another name of the clique joins the same GPUs.
var mayChange = []string{
	"CPUMilli", "MemoryMiB", "Resources[].key", "Resources[]", "Labels[].key", "Labels[]", "Links[][]", "NICs[].Name", "NICs[].NUMANode", "NICs[].Rail", "NICs[].MbitPerSecond",
	"Taints[].Key", "Taints[].Value", "Taints[].Effect",
	"GPUs[].UUID", "GPUs[].PCI", "GPUs[].NUMANode", "GPUs[].Failed", "GPUs[].Mode", "GPUs[].Instances[]", "GPUs[].Clique",
}

// A field of a node is of its shape, or may change under running members, and each is looked at:
// the function to change for a new field is SameShape, or the list above.
func TestTheShapeOfANodeLooksAtEachField(t *testing.T) {
	filled, done := fields.Fill[berth.Node](), map[string]bool{}
	before := spec.NodeOf(&filled)
	for i, leaf := range fields.Leaves(&filled) {
		if done[leaf.Place] {
			continue // of the second GPU, say: what all have in common is that of the first
		}
		done[leaf.Place] = true
		changed := fields.Clone(filled)
		other := fields.Leaves(&changed)[i]
		if other.IsText() {
			other.SetText("another")
		} else {
			other.Set(other.Others()[0])
		}
		after := spec.NodeOf(&changed)
		if same := SameShape(&before, &after); same != slices.Contains(mayChange, leaf.Place) {
			t.Errorf("%s: a node that differs in it alone has the same shape: %v", leaf.Place, same)
		}
	}
	for _, place := range mayChange {
		require.True(t, done[place], "there is no field %s", place)
	}
}
