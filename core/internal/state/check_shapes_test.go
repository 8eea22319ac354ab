package state

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// Every field of a request counts where requests are compared: one that is new has to be added to
// sameRequest, or to sameGroup.
func TestEveryFieldOfARequestIsCompared(t *testing.T) {
	one := func() *gang.Request { return &gang.Request{Groups: []gang.Group{{}}} }
	require.True(t, sameRequest(one(), one()))
	var spoil func(t *testing.T, path string, at func(*gang.Request) reflect.Value)
	spoil = func(t *testing.T, path string, at func(*gang.Request) reflect.Value) {
		r := one()
		switch v := at(r); v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				spoil(t, path+"."+v.Type().Field(i).Name, func(r *gang.Request) reflect.Value { return at(r).Field(i) })
			}
			return
		case reflect.Slice:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		case reflect.Array:
			v.Index(0).SetInt(1)
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			v.Elem().Index(0).SetInt(1)
		case reflect.Func:
			v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.Zero(v.Type().Out(0))} }))
		case reflect.Interface:
			v.Set(reflect.ValueOf(topology.LevelFleet))
		case reflect.Uint8, reflect.Uint32:
			v.SetUint(1)
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.SetInt(1)
		}
		require.False(t, sameRequest(one(), r), path)
	}
	spoil(t, "Request", func(r *gang.Request) reflect.Value { return reflect.ValueOf(r).Elem() })
	spoil(t, "Group", func(r *gang.Request) reflect.Value { return reflect.ValueOf(r).Elem().FieldByName("Groups").Index(0) })
}
