package sim_test

import "testing"

// openWorlds are drawn worlds in which a promise is known to be broken, each with what is seen: a
// defect that is to be mended, upon which its line goes. No other world is left out anywhere.
var openWorlds = map[string]string{
	"drained 36, bounds of 1": "a job waits that would fit",
	"drained 36, bounds of 2": "a job waits that would fit",
}

func skipOpen(t *testing.T, world string) {
	t.Helper()
	if seen := openWorlds[world]; seen != "" {
		t.Skipf("open: %s", seen)
	}
}
