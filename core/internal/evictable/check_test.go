package evictable_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// Check finds what is kept of nodes and of what runs there and is wrong.
func TestCheckFindsWhatIsKeptAndWrong(t *testing.T) {
	for name, spoil := range evictable.Spoils {
		t.Run(name, func(t *testing.T) {
			m := roomtest.New(t, berth.Config{})
			m.Nodes(4, 8)
			m.Queue("a", 0)
			for i := 1; i <= 4; i++ {
				m.Run(roomtest.Job(berth.JobID(fmt.Sprintf("j%d", i)), "a", 1, 2*i), fmt.Sprintf("n%d", i))
			}
			m.Later(berth.Hour)
			p := evictable.New(m.State)
			p.Refresh()
			p.LowerBounds()
			require.NoError(t, p.Check())
			m.Break() // its own index was told of nothing
			spoil(p)
			require.Error(t, p.Check())
		})
	}
}
