package record_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/internal/drawn"
)

// A ranking tells what going through all entries would, whatever came and went since it was made,
// and whether it is kept or made anew.
func TestRanking(t *testing.T) {
	for seed := range drawn.Seeds(4) {
		random := rand.New(rand.NewPCG(1, seed))
		q := &record.Queue{}
		b := record.NewBucket(q, nil)
		q.List = append(q.List, b)
		var waiting []*record.Entry
		for step := range 3000 {
			if n := len(waiting); n > 0 && random.IntN(2000) > 1000-step/3 && step > 1500 || n > 1200 {
				i := random.IntN(n)
				b.Remove(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			} else {
				job := &record.Job{Pattern: &record.Pattern{}, Spec: spec.Job{ID: berth.JobID(fmt.Sprint(step)), Priority: int32(random.IntN(2)), Class: berth.Class(random.IntN(3))}}
				rep := &record.Replica{Job: job}
				rep.Created = berth.Time(random.IntN(3))
				e := &record.Entry{Rep: rep, Bucket: b, Grows: random.IntN(4) == 0}
				b.Add(e)
				waiting = append(waiting, e)
			}
			if random.IntN(4) > 0 || len(waiting) == 0 {
				continue
			}
			e := waiting[random.IntN(len(waiting))]
			before := 0
			for _, other := range waiting {
				if record.CompareEntries(other, e) < 0 {
					before++
				}
			}
			require.Equal(t, before, q.Before(e))
			ranked, some := q.Ranked()
			require.True(t, some)
			require.Len(t, ranked, len(waiting))
			require.True(t, slices.IsSortedFunc(ranked, record.CompareEntries))
		}
	}
}
