//go:build !race

package hostile

const racing = false
