package statetable

// Order is the machine of one order.
func Order() Machine {
	return Machine{
		Name: "order",
		Doc: "One order, by its ID. A Withdraw and a Drop have no report. Reports that make no sense by " +
			"themselves are refused in every state.",
		States: []Word{
			{None, "no order has this ID yet"},
			{"bind out", "a Bind, to be reported by its deadline"},
			{"release out", "a Release, to be reported by its deadline"},
			{"request out", "a RequestCheckpoint, to be reported by its deadline"},
			{"repartition out", "a Repartition, to be reported by its deadline"},
			{"over", "it does not matter any more how it ended"},
		},
		Events: []Word{
			{"bind", "a pass gives it: a Bind"},
			{"release", "a pass gives it: a Release"},
			{"requestCheckpoint", "a pass gives it: a RequestCheckpoint"},
			{"repartition", "a pass gives it: a Repartition"},
			{"withdraw", "a pass gives it: a Withdraw; or gives one that names it"},
			{"drop", "a pass gives it: a Drop"},
			{"done", "OrderReported: all is as ordered"},
			{"partial", "OrderReported: the members that it lists are not"},
			{"failed", "OrderReported: nothing is"},
			{"deadline", "it is not reported in time"},
			{"members lost", "hardware or members are lost, of the gang that it is about"},
			{"GPU lost", "its GPU or its node is lost"},
			{"ended", "the gang that it is about has finished, is cancelled or scaled down"},
		},
		Rows: []Row{
			{From: None, Event: "bind", To: "bind out", Effect: "its capacity is held"},
			{From: None, Event: "release", To: "release out", Effect: "what it stops is held until it is reported gone"},
			{From: None, Event: "requestCheckpoint", To: "request out"},
			{From: None, Event: "repartition", To: "repartition out", Effect: "the GPU counts as it will be"},
			{From: None, Event: "withdraw|drop", To: "over", Effect: "no report is expected"},
			{From: None, Event: "done|partial|failed", Refused: "unknown"},

			{From: "bind out", Event: "done|partial|failed", To: "over", Effect: "members that started run; see replica"},
			{From: "bind out", Event: "deadline", To: "over", Effect: "void: a Release follows"},
			{From: "bind out", Event: "ended", To: "over", Effect: "a Release follows, if anything is held"},
			{From: "bind out", Event: "members lost", Effect: "noted until it is reported"},
			{From: "bind out", Event: "members lost", To: "over", Effect: "it was a growth, and too few are left: a Release follows"},

			{From: "release out", Event: "done", To: "over", Effect: "what it stops is free"},
			{From: "release out", Event: "partial|failed", Effect: "for the members that are left; it may be reported again"},
			{From: "release out", Event: "partial", To: "over", Effect: "the members that it lists are gone by then"},
			{From: "release out", Event: "deadline", To: "over", Effect: "given again with a new ID, or after Policy.ReleaseAttempts presumed dead"},
			{From: "release out", Event: "members lost", Effect: "some are left to be stopped"},
			{From: "release out", Event: "members lost", To: "over", Effect: "none is, or all of the gang is to be stopped now: another one follows"},
			{From: "release out", Event: "ended", Effect: "the gang is not to come back"},
			{From: "release out", Event: "ended", To: "over", Effect: "it was of a part of the gang: another one follows, of what is left"},

			{From: "request out", Event: "done|failed|deadline", To: "over", Effect: "a Release follows, if a beneficiary needs the place"},
			{From: "request out", Event: "partial", Refused: "invalid", Effect: "a checkpoint is written as a whole"},
			{From: "request out", Event: "withdraw", To: "over", Effect: "no beneficiary needs the place any more"},
			{From: "request out", Event: "members lost", Effect: "the gang goes on without them"},
			{From: "request out", Event: "members lost", To: "over", Effect: "too few are left: a Release follows, if anything is held"},
			{From: "request out", Event: "ended", To: "over", Effect: "a Release follows, if anything is held"},

			{From: "repartition out", Event: "done", To: "over", Effect: "the GPU is as ordered"},
			{From: "repartition out", Event: "failed", To: "over", Effect: "the GPU is as it was; members that need more are placed elsewhere"},
			{From: "repartition out", Event: "failed", Refused: "conflict", Effect: "a member runs on what was ordered"},
			{From: "repartition out", Event: "partial", Refused: "invalid", Effect: "a GPU is as ordered or as it was"},
			{From: "repartition out", Event: "deadline", To: "over", Effect: "done if a member runs on it, else the GPU is unknown"},
			{From: "repartition out", Event: "GPU lost", To: "over", Effect: "its progress is unknown"},

			{From: "over", Event: "done|partial|failed", Refused: "stale", Effect: "reports may come late, doubled or in any order"},
		},
	}
}
