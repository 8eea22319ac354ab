package mig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/fields"
)

// A copy of a product has every field, and shares none.
func TestACopyOfAProductIsWholeAndSharesNothing(t *testing.T) {
	require.Empty(t, fields.Forgotten(Product.clone), "Product.clone of product.go")
	require.Empty(t, fields.Forgotten(Profile.clone), "Profile.clone of product.go")
}
