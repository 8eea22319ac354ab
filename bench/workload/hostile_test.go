package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/internal/hostile"
)

// A list of nodes that asks for 64 GPUs in a few bytes is refused by the limit before they fill the
// memory.
func TestHostileNodesCostLittle(t *testing.T) {
	var list strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&list, "NodeName=n%d Gres=gpu:a:64\n", i)
	}
	hostile.Bounded(t, "nodes", list.String(), 16<<20, func(input string) {
		_, _, err := workload.ReadSlurmNodes("nodes", strings.NewReader(input))
		var refusal *workload.TraceError
		require.ErrorAs(t, err, &refusal)
		require.ErrorIs(t, err, workload.ErrLimit)
		require.Equal(t, "Gres", refusal.Field)
	})
}
