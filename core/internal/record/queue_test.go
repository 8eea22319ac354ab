package record_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/internal/drawn"
)

// Of two buckets the one with the first entry is served first, whatever came and went since they
// were sorted. Buckets that are sorted are compared without a look at their entries.
func TestBucketsAreServedInTheOrderOfTheirFirstEntries(t *testing.T) {
	for seed := range drawn.Seeds(4) {
		random := rand.New(rand.NewPCG(2, seed))
		q := &record.Queue{}
		for at := range 2 + random.IntN(80) {
			b := record.NewBucket(q, nil)
			b.At = at
			q.List = append(q.List, b)
		}
		many := len(q.List)
		entry := func(b *record.Bucket, step int) {
			rep := &record.Replica{Job: &record.Job{Pattern: &record.Pattern{}, Spec: spec.Job{ID: berth.JobID(fmt.Sprint(step)), Priority: int32(random.IntN(2))}}}
			rep.Created = berth.Time(random.IntN(3))
			b.Add(&record.Entry{Rep: rep, Bucket: b})
		}
		for i, b := range q.List {
			entry(b, i)
		}
		for step := range 300 {
			switch b := q.List[random.IntN(many)]; {
			case random.IntN(2) == 0 || b.Entries.Len() == 1:
				entry(b, many+step)
			default:
				b.Remove(b.Entries.Items()[random.IntN(b.Entries.Len())])
			}
			if random.IntN(2) == 0 {
				q.Sort()
			}
			a, b := q.List[random.IntN(many)], q.List[random.IntN(many)]
			x, y := a.Entries.Min(), b.Entries.Min()
			expected := record.CompareEntries(x, y) < 0
			require.Equal(t, expected, a.Before(b))
			if q.Sort(); many <= 64 {
				repX, repY := x.Rep, y.Rep
				x.Rep, y.Rep = nil, nil
				require.Equal(t, expected, a.Before(b))
				x.Rep, y.Rep = repX, repY
			}
		}
	}
}

// Among the handy entries of a bucket is one that ends as soon as any, by what was learned, and one
// that ends as soon as any by what was told: where it would end too late, so would all.
func TestAHandyEntryEndsAsSoonAsAny(t *testing.T) {
	const assumed = 24 * berth.Hour
	for seed := range drawn.Seeds(40) {
		random := rand.New(rand.NewPCG(7, seed))
		q := &record.Queue{}
		b := record.NewBucket(q, nil)
		q.List = []*record.Bucket{b}
		expected := func(e *record.Entry) berth.Duration { return cmp.Or(e.Rep.Job.Length(), assumed) }
		told := func(e *record.Entry) berth.Duration {
			return max(expected(e), cmp.Or(e.Rep.Job.Spec.ExpectedRuntime, assumed))
		}
		for step := range 100 {
			if b.Entries.Len() > 0 && random.IntN(3) == 0 {
				b.Remove(b.Entries.Items()[random.IntN(b.Entries.Len())])
			} else {
				j := &record.Job{Pattern: &record.Pattern{}, Spec: spec.Job{ID: berth.JobID(fmt.Sprint(step)), ExpectedRuntime: berth.Duration(random.IntN(3)) * berth.Hour}}
				j.Learned = berth.Duration(random.IntN(3)) * 40 * berth.Minute
				b.Add(&record.Entry{Rep: &record.Replica{Job: j}, Bucket: b})
			}
			require.True(t, b.InStep())
			var handy []*record.Entry
			b.EachHandy(0, assumed, func(e *record.Entry) { handy = append(handy, e) })
			for _, length := range []func(*record.Entry) berth.Duration{expected, told} {
				soonest := func(list []*record.Entry) (least berth.Duration) {
					least = assumed
					for _, e := range list {
						least = min(least, length(e))
					}
					return least
				}
				require.Equal(t, soonest(b.Entries.Items()), soonest(handy))
			}
		}
	}
}
