package sim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
)

// A gang that is reclaimed rests twice as long each time, and after four times for good: the
// exchange that it begins each time ends, and the fleet comes to rest. A restored core knows.
func TestRestsGrowUntilAnExchangeEnds(t *testing.T) {
	s := script.NewSession()
	do := func(lines ...string) (said string) {
		for _, line := range lines {
			var err error
			said, err = s.Do(line)
			require.NoError(t, err, line)
		}
		return said
	}
	do("config ignore-cost=yes cooldown=off min-run=0s reserved-gangs=-1",
		"node n1 gpus=2 product=H100", "node n2 gpus=4 product=A100",
		"queue owner guarantee=gpu:1", "queue other guarantee=gpu:1 weight=1000", "queue rest weight=100",
		"job filler queue=rest gpus=4 product=A100", "service small queue=owner replicas=2 gpus=1 product=H100",
		"pass", "report all done", "advance 1h", "job big queue=owner members=2 gpus=1 product=H100 priority=1")
	var rests []berth.Duration
	var reclaimed berth.Time
	for range 1000 {
		orders := do("pass")
		switch {
		case strings.Contains(orders, "release big/0"):
			reclaimed = s.Now()
		case strings.Contains(orders, "preempted for big/0") && reclaimed > 0:
			rests = append(rests, s.Now().Sub(reclaimed))
		case strings.Contains(orders, "bind big/0") && reclaimed == 0:
			do("job pair queue=other gpus=2 product=H100")
		}
		if !strings.Contains(orders, "no orders") {
			do("report all done")
		}
		do("snapshot-restore")
		if _, due := s.Core().NextWake(); !due {
			m := berth.Minute
			require.Equal(t, []berth.Duration{10 * m, 20 * m, 40 * m, 80 * m}, rests)
			return
		}
		do("wake")
	}
	require.FailNow(t, "there is no end", rests)
}
