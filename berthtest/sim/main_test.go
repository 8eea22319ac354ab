package sim_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// Worlds are small and soon gone: with little that lives, collecting as often as usual takes a
// fifth of the time of these tests.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
