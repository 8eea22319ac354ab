package quota

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzSet: any queue that decodes is taken, and then comes back as it was, or is
// refused with a typed error and changes nothing.
func FuzzSet(f *testing.F) {
	f.Add(`{"name":"a","parent":"org","guarantee":{"gpu":8000,"gpu:H100":4000},"limit":{"cpu":1,"memory":0},"weight":3}`)
	f.Add(`{"name":"org","guarantee":{"gpu":1}}`)
	f.Add(`{"name":"","lendingLimit":{"gpu":1}}`)
	f.Add(`{"name":"a","parent":"a","limit":{"gpu:":-9223372036854775808}}`)
	f.Add(`{"name":"leaf","parent":"used"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var q Queue
		if json.Unmarshal([]byte(text), &q) != nil {
			return
		}
		tree := NewTree()
		mustSet(t, tree, Queue{Name: "org", Guarantee: Amounts{GPU: 10_000}, Limit: Amounts{GPU: 20_000}})
		mustSet(t, tree, Queue{Name: "team", Parent: "org", Guarantee: Amounts{GPU: 4_000}})
		used := mustSet(t, tree, Queue{Name: "used"})
		require.NoError(t, tree.Charge(used, Charge{CPUMilli: 5}))
		before := tree.Queues()
		require.Empty(t, tree.byProduct)

		i, err := tree.Set(q)
		require.NoError(t, tree.Check())
		if err != nil {
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.NotEmpty(t, typed.Reason)
			require.Equal(t, None, i)
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
