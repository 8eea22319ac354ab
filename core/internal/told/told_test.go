package told

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

// fillIn gives everything in a value something that is not zero.
func fillIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
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
