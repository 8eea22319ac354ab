package quota

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
)

// FuzzSet: any queue that decodes is taken, and then comes back as it was, or is
// refused with a typed error and changes nothing.
func FuzzSet(f *testing.F) {
	f.Add(`{"name":"a","parent":"org","guarantee":{"gpuMilli":8000,"gpuMilli:H100":4000},"limit":{"cpuMilli":1,"memoryMiB":0},"weight":3}`)
	f.Add(`{"name":"org","guarantee":{"gpuMilli":1}}`)
	f.Add(`{"name":"","lendingLimit":{"gpuMilli":1}}`)
	f.Add(`{"name":"b","parent":"org","guarantee":{"gpuMilli":6000},"lendingLimit":{"gpuMilli":1,"gpuMilli:A":2},"borrowingLimit":{"memoryMiB":3},"priority":-7}`)
	f.Add(`{"name":"a","parent":"a","limit":{"gpuMilli:":-9223372036854775808}}`)
	f.Add(`{"name":"leaf","parent":"used"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var q Queue
		if json.Unmarshal([]byte(text), &q) != nil {
			return
		}
		tree := NewTree()
		mustSet(t, tree, Queue{Name: "org", Guarantee: Amounts{GPUMilli: 10_000}, Limit: Amounts{GPUMilli: 20_000}})
		mustSet(t, tree, Queue{Name: "team", Parent: "org", Guarantee: Amounts{GPUMilli: 4_000}})
		used := mustSet(t, tree, Queue{Name: "used"})
		require.NoError(t, tree.Charge(used, Charge{Host: countable.Amounts{countable.CPUMilli: 5}}))
		before := tree.Queues()
		require.Empty(t, tree.byProduct)

		i, err := tree.Set(q)
		require.NoError(t, tree.Check())
		if err != nil {
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.NotEmpty(t, typed.Reason)
			require.Equal(t, NoQueue, i)
			require.Equal(t, before, tree.Queues())
			require.Empty(t, tree.products)
			return
		}
		bytes, err := json.Marshal(tree.Config(i))
		require.NoError(t, err)
		var back Queue
		require.NoError(t, json.Unmarshal(bytes, &back))
		require.Equal(t, tree.Config(i), back)
		require.Equal(t, q.clone(), back)

		_, err = tree.Set(Queue{Name: q.Name, Parent: q.Parent})
		require.NoError(t, err)
		require.NoError(t, tree.Check())
		require.Empty(t, tree.products, "products go with what spoke of them")
	})
}

// FuzzSetPast: any text that decodes is a past with which the tree goes on, or is
// refused with a typed error and changes nothing.
func FuzzSetPast(f *testing.F) {
	f.Add(`{"now":70,"halfLife":640,"queues":[{"queue":"","average":5,"tilt":4096},{"queue":"a","average":65536,"high":-1,"low":18446744073709551600,"tilt":256,"entitled":9}]}`)
	f.Add(`{"now":5}`)
	f.Add(`{"halfLife":64,"queues":[{"queue":"a","tilt":4096,"high":1099511627776}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var p Past
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		tree := NewTree()
		a := mustSet(t, tree, Queue{Name: "a"})
		require.NoError(t, tree.Charge(a, Charge{GPUMilli: 1000, Product: NoProduct}))
		if err := tree.SetPast(p); err != nil {
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, Past{}, tree.Past())
			return
		}
		require.NoError(t, tree.Check())
		back := tree.Past()
		require.Equal(t, p.Now, back.Now)
		require.Equal(t, p.HalfLife, back.HalfLife)
		for _, now := range []int64{p.Now, p.Now + (MaxTime-p.Now)/2, MaxTime} {
			require.NoError(t, tree.Advance(now))
			require.NoError(t, tree.Check())
		}
	})
}
