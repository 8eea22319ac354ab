package score

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// What a place keeps is a sentence: of the kinds that gain the first, which is worth the most, and
// of those that lose the first.
func TestWhatIsKeptIsASentence(t *testing.T) {
	kept := func(members int64, claim berth.Claim, products ...string) berth.KeptRoom {
		return berth.KeptRoom{Claim: claim, Selector: berth.Selector{Products: products}, Members: members}
	}
	large, one := berth.WholeGPUs(8), berth.WholeGPUs(1)
	one.CPUMilli = 2000
	share := berth.SharedGPU(berth.ShareMPS, 250)
	for text, list := range map[string][]berth.KeptRoom{
		"keeps more room for all kinds together":                                           {},
		"keeps room for 2 more of 8xH100":                                                  {kept(2, large, "H100"), kept(1, one)},
		"keeps room for 2 more of 8xH100|H200, and takes that of 3 of 1xGPU, 2 CPUs":       {kept(2, large, "H100", "H200"), kept(-3, one), kept(-4, large)},
		"keeps more room for all kinds together, though it takes that of 4 of 0.25 of GPU": {kept(-4, share), kept(-1, large)},
		"keeps room for 1 more of 0.25 of L4, and takes that of 1 of 8xGPU":                {kept(-1, large), kept(1, share, "L4")},
	} {
		require.Equal(t, text, keptText(list))
	}
}
