package effort

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every bound may be as low as 1 and no higher than usual.
func TestBad(t *testing.T) {
	usual := Usual()
	require.Empty(t, usual.Bad())
	for i := range reflect.TypeFor[Bounds]().NumField() {
		for change, bad := range map[int64]bool{0: true, 1: false} {
			b := Usual()
			reflect.ValueOf(&b).Elem().Field(i).SetInt(change)
			require.Equal(t, bad, b.Bad() != "", "field %d is %d", i, change)
		}
		b := Usual()
		f := reflect.ValueOf(&b).Elem().Field(i)
		f.SetInt(f.Int() + 1)
		require.NotEmpty(t, b.Bad(), "field %d", i)
	}
}
