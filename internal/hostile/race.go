//go:build race

package hostile

// racing: the race detector is on, and allocates besides.
const racing = true
