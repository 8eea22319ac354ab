package statetable

// Member is the machine of one member of a gang.
func Member() Machine {
	return Machine{
		Name: "member",
		Doc: "One member of a gang. It holds capacity while it is binding, running, failed or stopping. " +
			"What happens to it is followed, in the same event, by what that makes of its gang: the " +
			"gang is taken back, or settles.",
		States: []Word{
			{None, "holds nothing: not placed, or gone"},
			{"binding", "is part of a Bind that is out"},
			{"running", "is confirmed"},
			{"failed", "did not start, or died before it was confirmed; holds its place until its gang is decided about"},
			{"lost", "went before its gang was complete; holds nothing, and counts as placed until its gang is decided about"},
			{"stopping", "is, or is to be, part of a Release"},
		},
		Events: []Word{
			{"bind", "a Bind names it"},
			{"observed", "JobObserved finds it running"},
			{"started", "its Bind is reported, and it runs"},
			{"not started", "its Bind is reported, and it did not start"},
			{"bind deadline", "its Bind is not reported in time"},
			{"lost", "its node or its GPU is lost, or a Repartition under it failed or was not reported"},
			{"lost early", "the same, before its gang has its minimum: that is binding or repairing"},
			{"died", "MemberFailed names it, and it runs or is being started"},
			{"died early", "the same, before its gang has its minimum"},
			{"finished", "JobFinished"},
			{"taken back", "its gang is to be stopped, all of it"},
			{"settled", "its gang runs, is bound anew, or waits: without its missing members"},
			{"release", "a Release names it"},
			{"stopped", "its Release is reported, and it is gone"},
			{"not stopped", "its Release is reported, and it did not stop"},
			{"release deadline", "its Release is not reported in time"},
			{"presumed dead", "nor is the last attempt"},
		},
		Rows: []Row{
			{From: None, Event: "bind", To: "binding", Effect: "its capacity is held and charged"},
			{From: None, Event: "observed", To: "running", Effect: "its capacity is held and charged"},

			{From: "binding", Event: "started", To: "running"},
			{From: "binding", Event: "not started", To: "failed", Effect: "its gang avoids that node"},
			{From: "binding", Event: "died|died early", To: "failed", Effect: "noted until its Bind is reported"},
			{From: "binding", Event: "lost|lost early", To: "lost", Effect: "its capacity is free"},
			{From: "binding", Event: "bind deadline|taken back|finished", To: "stopping", Effect: "it may have been started"},

			{From: "running", Event: "lost|died|finished", To: None, Effect: "its capacity is free"},
			{From: "running", Event: "lost early|died early", To: "lost", Effect: "its capacity is free"},
			{From: "running", Event: "taken back|release", To: "stopping", Effect: "its gang is evicted, leaves, shrinks or cannot continue"},

			{From: "failed", Event: "lost", To: None, Effect: "its place is free"},
			{From: "failed", Event: "lost early", To: "lost", Effect: "its place is free"},
			{From: "failed|lost", Event: "settled|taken back|finished", To: None, Effect: "its place is free"},

			{From: "stopping", Event: "release", Effect: "ordered for the first time, or again"},
			{From: "stopping", Event: "stopped|presumed dead|lost", To: None, Effect: "its capacity is free"},
			{From: "stopping", Event: "not stopped|release deadline|taken back|finished", Effect: "it is stopped all the same"},
		},
	}
}
