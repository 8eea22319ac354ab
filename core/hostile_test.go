package core_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/hostile"
)

// What Restore allocates is bounded by the length of the snapshot, whatever list or map in it has
// however short elements, in each version. A snapshot that comes to more is refused.
func TestHostileSnapshotsCostLittle(t *testing.T) {
	for _, version := range []string{"2", "3"} {
		for _, text := range hostile.Texts(reflect.TypeFor[record.Snapshot](), 50_000) {
			input := strings.Replace(text.JSON, `"version":0`, `"version":`+version, 1)
			hostile.Bounded(t, version+text.Path, input, 1<<20, func(input string) {
				_, err := core.Restore([]byte(input))
				if err != nil {
					require.ErrorAs(t, err, new(*berth.Error))
				}
			})
		}
	}
}
