package gpus_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// Each number that is saved of a GPU has bounds, and a snapshot beyond them is refused by its name.
// A field that is new comes here by itself: restoreGPU is the function to change.
func TestEveryNumberOfASavedGPUHasBounds(t *testing.T) {
	of := reflect.TypeFor[record.GPUPart]()
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for _, extreme := range extremes(f.Type) {
			t.Run(name, func(t *testing.T) {
				m := roomtest.New(t, berth.Config{})
				m.Nodes(1, 2)
				saved := record.SavedNode{Node: berth.Node{ID: "n1"}, GPUs: []record.SavedGPU{{GPU: 1}}}
				reflect.ValueOf(&saved.GPUs[0].GPUPart).Elem().Field(i).Set(extreme)
				m.Refused(m.GPUs.RestoreGPUs([]record.SavedNode{saved}), berth.ErrInvalid, "nodes[0].gpus[0]."+name)
			})
		}
	}
	require.NotEmpty(t, extremes(reflect.TypeFor[berth.Time]()))
	require.NotEmpty(t, extremes(reflect.TypeFor[berth.GPUMode]()))
}

// extremes are the least and the greatest numbers of a type, but for 0. A bool has none.
func extremes(t reflect.Type) (list []reflect.Value) {
	put := func(set func(reflect.Value)) {
		v := reflect.New(t).Elem()
		set(v)
		list = append(list, v)
	}
	switch bits := t.Bits; t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		for _, n := range []int64{-1, math.MinInt64 >> (64 - bits()), math.MaxInt64 >> (64 - bits())} {
			put(func(v reflect.Value) { v.SetInt(n) })
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		put(func(v reflect.Value) { v.SetUint(math.MaxUint64 >> (64 - bits())) })
	}
	return list
}
