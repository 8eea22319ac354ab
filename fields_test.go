package berth_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/fields"
	"github.com/berth-sched/berth/internal/sample"
	"github.com/berth-sched/berth/internal/strict"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// noData are places of what is written as JSON that hold no data, and why.
var noData = map[string]string{
	"Config.Gain":      "is a function",
	"Config.Scorer":    "is a function",
	"Difference.Event": "is written by MarshalJSON, see TestTheEventOfADifferenceOutlivesJSON",
}

// written are of the types that are written and read as a whole, beside events and orders.
func written() []any {
	return []any{
		berth.Bind{},
		berth.Repartition{},
		berth.Release{},
		berth.RequestCheckpoint{},
		berth.Withdraw{},
		berth.Drop{},
		berth.WarnIdle{},
		berth.Job{},
		berth.Node{},
		quota.Queue{},
		berth.Policy{},
		berth.Config{},
		mig.Product{},
		berth.FleetReport{},
		berth.Explanation{},
		berth.StartPlan{},
		berth.BlastRadius{},
		berth.Difference{},
		berth.World{},
		berth.Loss{},
		berth.JobStatus{},
		berth.NodeStatus{},
		berth.QueueStatus{},
		berth.LedgerLine{},
		berth.QueueTime{},
		berth.Xid{},
	}
}

// Each countable resource of hosts is a field of nodes and of claims, named as the resource, and
// counts for them.
func TestEveryResourceIsAFieldThatCounts(t *testing.T) {
	for r := range countable.Resource(countable.NumResources) {
		var n berth.Node
		var c berth.Claim
		amount := []byte(`{"` + r.Field() + `":7}`)
		require.NoError(t, json.Unmarshal(amount, &n))
		require.NoError(t, json.Unmarshal(amount, &c))
		require.Equal(t, int64(7), n.Host()[r], "Node has no field %s, or Node.Host leaves it out", r)
		require.Equal(t, int64(7), c.Host()[r], "Claim has no field %s, or Claim.Host leaves it out", r)
	}
}

// Whatever is in a field of an event, an order, a description, a policy or a report, at any depth:
// it is there again once it was written and read.
func TestEveryFieldOutlivesJSON(t *testing.T) {
	values := written()
	for _, e := range sample.Events() {
		values = append(values, e)
	}
	for _, o := range sampleOrders() {
		values = append(values, o)
	}
	reached, lost := map[reflect.Type]bool{}, map[string]string{}
	for _, v := range values {
		kind := reflect.TypeOf(v)
		reach(reached, kind)
		filled := fields.Filled(kind)
		back := throughJSON(t, filled)
		again := fields.Leaves(back)
		for i, leaf := range fields.Leaves(filled) {
			place := kind.Name() + "." + leaf.Place
			if leaf.Zero() || noData[place] != "" {
				require.True(t, leaf.Zero() && noData[place] != "", "%s has no value of its own: fill it in internal/fields, or say in noData why not", place)
				continue
			}
			if i >= len(again) || leaf.Path != again[i].Path || !leaf.Value().Equal(again[i].Value()) {
				lost[leaf.Field()] = place
				break
			}
		}
	}
	for field, place := range lost {
		t.Errorf("%s is lost in the JSON of %s: see its tag", field, place)
	}
	for _, name := range taggedTypes(t) {
		require.True(t, known(reached, name), "%s is written as JSON, and no value of this test has it: add it, or what has it, to written", name)
	}
}

func TestTheEventOfADifferenceOutlivesJSON(t *testing.T) {
	for _, e := range sample.Events() {
		d := berth.Difference{Kind: berth.DifferenceMemberMissing, Event: e}
		text, err := json.Marshal(d)
		require.NoError(t, err)
		var back berth.Difference
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, d, back)
	}
}

// What is filled in by default is filled in into a copy.
func TestDefaultsAreFilledInIntoACopy(t *testing.T) {
	require.Empty(t, fields.Shared(berth.Policy.WithDefaults), "Policy.WithDefaults of defaults.go")
	require.Empty(t, fields.Shared(berth.Geometry.WithDefaults), "Geometry.WithDefaults of defaults.go")
}

// throughJSON writes and reads a value: an event or an order by its codec, with blanks as well.
func throughJSON(t *testing.T, filled any) (back any) {
	t.Helper()
	var read any
	switch v := fields.Unboxed(filled).(type) {
	case berth.Event:
		text, err := berth.EncodeEvent(v)
		require.NoError(t, err)
		read, err = berth.DecodeEvent(text)
		require.NoError(t, err)
		blanks, err := berth.DecodeEvent(spaced(t, text))
		require.NoError(t, err)
		require.Equal(t, read, blanks)
	case berth.Order:
		text, err := berth.EncodeOrder(v)
		require.NoError(t, err)
		read, err = berth.DecodeOrder(text)
		require.NoError(t, err)
		blanks, err := berth.DecodeOrder(spaced(t, text))
		require.NoError(t, err)
		require.Equal(t, read, blanks)
	default:
		text, err := json.Marshal(v)
		require.NoError(t, err)
		back := reflect.New(reflect.TypeOf(v))
		require.NoError(t, strict.Unmarshal(text, back.Interface()))
		return back.Interface()
	}
	return fields.Boxed(read)
}

func spaced(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, text, "", "\t"))
	return b.Bytes()
}

// reach notes the structs that values of a type have.
func reach(reached map[reflect.Type]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		reach(reached, t.Elem())
	case reflect.Map:
		reach(reached, t.Key())
		reach(reached, t.Elem())
	case reflect.Struct:
		if !reached[t] {
			reached[t] = true
			for i := range t.NumField() {
				reach(reached, t.Field(i).Type)
			}
		}
	}
}

func known(reached map[reflect.Type]bool, name string) bool {
	for t := range reached {
		if t.Name() == name && t.PkgPath() == reflect.TypeFor[berth.Job]().PkgPath() {
			return true
		}
	}
	return false
}

// taggedTypes lists, from the source, the exported structs of which a field has a name in JSON.
func taggedTypes(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, parsed := range sources(t) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if !isType || !spec.Name.IsExported() {
				return true
			}
			if s, isStruct := spec.Type.(*ast.StructType); isStruct {
				for _, f := range s.Fields.List {
					if f.Tag != nil && strings.Contains(f.Tag.Value, `json:"`) {
						found = append(found, spec.Name.Name)
						break
					}
				}
			}
			return false
		})
	}
	require.NotEmpty(t, found)
	return found
}
