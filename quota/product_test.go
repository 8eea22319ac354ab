package quota

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRetainProductRefuses(t *testing.T) {
	tree := NewTree()
	for name, text := range map[string]string{
		"":                                  "quota: product: is empty",
		"a\x00":                             "quota: product: has the control character U+0000",
		"a\xff":                             "quota: product: is not valid UTF-8",
		strings.Repeat("a", MaxNameBytes+1): "quota: product: has 1025 bytes; the most is 1024",
	} {
		p, err := tree.RetainProduct(name)
		require.ErrorIs(t, err, ErrInvalid)
		require.EqualError(t, err, text)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, NoProduct, p)
	}
	require.Empty(t, tree.products)
	require.NoError(t, tree.Check())
}

// A product lives as long as any of its three uses, in whatever order they end.
func TestProductLives(t *testing.T) {
	const retained, stated, used = 0, 1, 2
	for _, order := range [][]int{
		{retained, stated, used},
		{retained, used, stated},
		{stated, retained, used},
		{stated, used, retained},
		{used, retained, stated},
		{used, stated, retained},
	} {
		tree := NewTree()
		h100 := mustRetain(t, tree, "H100")
		require.Equal(t, h100, mustRetain(t, tree, "H100"))
		tree.ReleaseProduct(h100) // of two
		a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilliOf("H100"): 5}, Limit: Amounts{GPUMilliOf("H100"): 9}})
		c := Charge{GPUMilli: 5, Product: h100}
		require.NoError(t, tree.Charge(a, c))
		require.NoError(t, tree.Charge(a, c))
		require.NoError(t, tree.Discharge(a, c)) // of two
		for n, end := range order {
			require.Equal(t, h100, tree.Product("H100"), "%v after %d", order, n)
			switch end {
			case retained:
				tree.ReleaseProduct(h100)
			case stated:
				mustSet(t, tree, Queue{Name: "a", Limit: Amounts{GPUMilliOf("H100"): 9}}) // still spoken of
				require.Equal(t, h100, tree.Product("H100"))
				mustSet(t, tree, Queue{Name: "a"})
			case used:
				require.NoError(t, tree.Discharge(a, c))
			}
			require.NoError(t, tree.Check())
		}
		require.Equal(t, NoProduct, tree.Product("H100"), "%v", order)
		require.Empty(t, tree.products)
		require.ErrorIs(t, tree.Charge(a, c), ErrInvalid, "an index of no product")
		_, fits := tree.Fits(a, c)
		require.False(t, fits)
		tree.ReleaseProduct(h100)
		require.NoError(t, tree.Check())
	}
}

// The lowest free index goes first, and no more is released than was retained.
func TestProductIndexesAreUsedAgain(t *testing.T) {
	tree := NewTree()
	for n, name := range []string{"a", "b", "c", "d"} {
		require.Equal(t, ProductIndex(n+1), mustRetain(t, tree, name))
	}
	tree.ReleaseProduct(3)
	tree.ReleaseProduct(2)
	tree.ReleaseProduct(2)
	require.NoError(t, tree.Check())
	require.Equal(t, ProductIndex(2), mustRetain(t, tree, "e"))
	require.Equal(t, ProductIndex(3), mustRetain(t, tree, "f"))
	require.Equal(t, ProductIndex(5), mustRetain(t, tree, "g"))
	require.Equal(t, NoProduct, tree.Product("b"))
	tree.ReleaseProduct(1)
	tree.ReleaseProduct(1) // "a" is not retained any more
	require.NoError(t, tree.Check())
	require.Len(t, tree.products, 5)
	require.Len(t, tree.byProduct, 4)
}

// A full tree refuses a product more, from any charge, and changes nothing; one
// that goes makes room for another, also within one Set.
func TestProductsAreBounded(t *testing.T) {
	tree := NewTree()
	for n := range MaxProducts - 1 {
		require.Equal(t, ProductIndex(n+1), mustRetain(t, tree, fmt.Sprint(n)))
	}
	a := mustSet(t, tree, Queue{Name: "a", Limit: Amounts{GPUMilliOf("last"): 1}})
	refused := func(q Queue, field string) {
		t.Helper()
		_, err := tree.Set(q)
		require.ErrorIs(t, err, ErrLimit)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, q.Name, typed.Queue)
		require.Equal(t, field, typed.Field)
		require.Equal(t, []QueueID{"a"}, tree.Queues())
		require.Equal(t, Queue{Name: "a", Limit: Amounts{GPUMilliOf("last"): 1}}, tree.Config(a))
		require.Equal(t, NoProduct, tree.Product("more"))
		require.NoError(t, tree.Check())
	}
	p, err := tree.RetainProduct("more")
	require.ErrorIs(t, err, ErrLimit)
	require.EqualError(t, err, "quota: product: the tree has 4096 GPU products, the most there may be")
	require.Equal(t, NoProduct, p)
	more := Amounts{GPUMilliOf("more"): 1}
	refused(Queue{Name: "b", Limit: more}, `limit["gpuMilli:more"]`)
	refused(Queue{Name: "a", Guarantee: more, Limit: Amounts{GPUMilliOf("last"): 1}}, `guarantee["gpuMilli:more"]`)
	refused(Queue{Name: "a", Limit: Amounts{GPUMilliOf("more"): 1, GPUMilliOf("and more"): 1}}, `limit["gpuMilli:more"]`)

	last := mustRetain(t, tree, "last")
	refused(Queue{Name: "a", Limit: more}, `limit["gpuMilli:more"]`)
	require.NoError(t, tree.Charge(a, Charge{GPUMilli: 1, Product: last}))
	tree.ReleaseProduct(last)
	refused(Queue{Name: "a", Limit: more}, `limit["gpuMilli:more"]`)
	require.NoError(t, tree.Discharge(a, Charge{GPUMilli: 1, Product: last}))

	mustSet(t, tree, Queue{Name: "a", Limit: more})
	require.Equal(t, last, tree.Product("more"), "in the place of the one that went")
	require.Equal(t, NoProduct, tree.Product("last"))
	require.NoError(t, tree.Check())
	require.NoError(t, tree.Remove("a"))
	mustRetain(t, tree, "last")
}

// CheckProduct says beforehand what RetainProduct says once another product is released, and the
// fleet has nothing of it: whatever keeps the other one.
func TestCheckProductForesees(t *testing.T) {
	for uses := range 1 << 4 {
		tree := NewTree()
		tree.maxProducts = 2
		mustRetain(t, tree, "stays")
		p := mustRetain(t, tree, "goes")
		if uses&1 != 0 {
			mustRetain(t, tree, "goes")
		}
		a := mustSet(t, tree, Queue{Name: "a"})
		if uses&2 != 0 {
			require.NoError(t, tree.Charge(a, Charge{GPUMilli: 1, Product: p}))
		}
		if uses&4 != 0 {
			mustSet(t, tree, Queue{Name: "b", Limit: Amounts{GPUMilliOf("goes"): 1}})
		}
		if uses&8 != 0 {
			require.NoError(t, tree.SetCapacity(GPUMilliOf("goes"), 1000))
		}
		require.ErrorIs(t, tree.CheckProduct("comes", NoProduct), ErrLimit)
		require.NoError(t, tree.CheckProduct("stays", NoProduct))
		require.ErrorIs(t, tree.CheckProduct("", p), ErrInvalid)
		foreseen := tree.CheckProduct("comes", p)
		tree.ReleaseProduct(p)
		require.NoError(t, tree.SetCapacity(GPUMilliOf("goes"), UnknownCapacity))
		_, err := tree.RetainProduct("comes")
		require.Equal(t, err, foreseen, "uses %b", uses)
		require.Equal(t, uses&7 == 0, err == nil, "uses %b", uses)
		require.NoError(t, tree.Check())
	}
}

// TestD2_ProductsThatWentAreForgotten: a tree through which many more products
// went than there may be at one time still takes what a fresh one takes, and is no
// larger.
func TestD2_ProductsThatWentAreForgotten(t *testing.T) {
	tree := NewTree()
	for n := range 3 * MaxProducts {
		name := fmt.Sprint(n)
		p := mustRetain(t, tree, name)
		require.Equal(t, ProductIndex(1), p)
		a := mustSet(t, tree, Queue{Name: "a", Limit: Amounts{GPUMilliOf(name): 4}})
		require.NoError(t, tree.Charge(a, Charge{GPUMilli: 4, Product: p}))
		tree.ReleaseProduct(p)
		require.NoError(t, tree.Discharge(a, Charge{GPUMilli: 4, Product: p}))
		require.NoError(t, tree.Remove("a"))
	}
	require.Empty(t, tree.byProduct)
	require.Len(t, tree.names, int(firstProduct))
	require.NoError(t, tree.Check())
	mustSet(t, tree, Queue{Name: "a", Limit: Amounts{GPUMilliOf("new"): 4}})
}
