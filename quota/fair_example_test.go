package quota_test

import (
	"fmt"

	"github.com/berth-sched/berth/quota"
)

// Sixteen GPUs, three teams: what each has a claim to, and what each may take back
// from each other.
func ExampleShares() {
	tree := quota.NewTree()
	for _, q := range []quota.Queue{
		{Name: "vision", Guarantee: quota.Amounts{quota.GPUMilli: 6_000}},
		{Name: "speech", Guarantee: quota.Amounts{quota.GPUMilli: 4_000}, Weight: 2},
		{Name: "interns"},
	} {
		if _, err := tree.Set(q); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := tree.SetCapacity(quota.GPUMilli, 16_000); err != nil {
		fmt.Println(err)
		return
	}
	shares, err := quota.NewShares(tree, quota.GPUMilli, 1_000) // GPUs are given out whole
	if err != nil {
		fmt.Println(err)
		return
	}
	// Vision is away: the others share what it leaves.
	interns, _ := tree.Lookup("interns")
	speech, _ := tree.Lookup("speech")
	_ = shares.SetDemand(interns, 9_000)
	_ = shares.SetDemand(speech, 20_000)
	all := shares.All(nil)
	for _, name := range tree.Queues() {
		leaf, _ := tree.Lookup(name)
		fmt.Printf("%s has a share of %d\n", name, all[leaf])
	}

	// The interns were first and took nine.
	_ = tree.Charge(interns, quota.Charge{GPUMilli: 9_000, Product: quota.NoProduct})
	_ = tree.Charge(speech, quota.Charge{GPUMilli: 7_000, Product: quota.NoProduct})
	four := quota.Charge{GPUMilli: 4_000, Product: quota.NoProduct}
	for _, victim := range shares.Borrowers(nil, speech, four) {
		fmt.Printf("speech may take %d from %s, %s\n", victim.Reclaimable, tree.Name(victim.Leaf), victim.Reason)
	}
	_, ok := shares.MayReclaim(speech, four, interns, four)
	fmt.Println("four for speech:", ok)
	verdict, ok := shares.MayReclaim(interns, four, speech, four)
	fmt.Println("four for interns:", ok, "as", verdict.Reason)
	// Output:
	// interns has a share of 4000
	// speech has a share of 12000
	// vision has a share of 0
	// speech may take 5000 from interns, for-share
	// four for speech: true
	// four for interns: false as beneficiary-over-share
}

// A month's bill: how much each team used, and what of it was more than promised.
func ExampleLedger() {
	const hour = 3_600_000
	tree := quota.NewTree()
	team, err := tree.Set(quota.Queue{Name: "vision", Guarantee: quota.Amounts{quota.GPUMilli: 2_000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var ledger quota.Ledger
	key := quota.LedgerKey{Queue: "vision", Class: "batch", Product: "H100", Tenant: "acme"}
	at := func(instant, milli int64) {
		_ = ledger.Advance(instant)
		charge := quota.Charge{GPUMilli: max(milli, -milli), Product: quota.NoProduct}
		if milli > 0 {
			_ = tree.Charge(team, charge)
		} else {
			_ = tree.Discharge(team, charge)
		}
		_ = ledger.Add(key, milli, 0)
		ledger.Follow(tree, team)
	}
	at(0, 8_000)
	at(10*hour, -7_000)
	_ = ledger.Advance(30 * hour)
	allocated, _ := ledger.Read(key)
	guaranteed, borrowed := ledger.Split("vision")
	fmt.Println("GPU-hours:", allocated/hour, "of which guaranteed", guaranteed/hour, "and borrowed", borrowed/hour)
	// Output:
	// GPU-hours: 100 of which guaranteed 40 and borrowed 60
}
