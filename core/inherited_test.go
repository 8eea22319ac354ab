package core_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/core/internal/record"
)

// What is known of a GPU beyond its description outlives a node that is described anew, in another
// place as well: each field of record.GPUPart, those to come among them. The function is inherit.
func TestANodeDescribedAnewInheritsWhatIsKnownOfItsGPUs(t *testing.T) {
	d := fleetOf(t, "n1")
	d.now = berth.Time(berth.Hour)
	require.Empty(t, d.pass())
	text, err := d.Snapshot()
	require.NoError(t, err)
	var known record.GPUPart
	fill(reflect.ValueOf(&known).Elem())
	gpus, err := json.Marshal([]record.SavedGPU{{GPU: 3, GPUPart: known}})
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(text, []byte(`"nodes":[{`)))
	d.Core, err = core.Restore(bytes.Replace(text, []byte(`"nodes":[{`), []byte(`"nodes":[{"gpus":`+string(gpus)+`,`), 1))
	require.NoError(t, err)
	require.Equal(t, []record.SavedGPU{{GPU: 3, GPUPart: known}}, d.savedGPUs())

	var node berth.Node
	for n := range d.Nodes() {
		node = n.Node
	}
	node.Pool = "another"
	d.tell(berth.NodeUpdated{Node: node})
	require.Equal(t, []record.SavedGPU{{GPU: 3, GPUPart: known}}, d.savedGPUs())
}

// savedGPUs are what the first node of a snapshot says of its GPUs.
func (d *divided) savedGPUs() []record.SavedGPU {
	d.Helper()
	text, err := d.Snapshot()
	require.NoError(d, err)
	var snapshot record.Snapshot
	require.NoError(d, json.Unmarshal(text, &snapshot))
	return snapshot.Nodes[0].GPUs
}

// fill makes each field of a structure the least that is not zero.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			f.SetInt(1)
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			f.SetUint(1)
		default:
			panic("a value for " + f.Type().String())
		}
	}
}
