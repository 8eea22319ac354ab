package statetable

// NodeHealth is the machine of how far a node is trusted.
func NodeHealth() Machine {
	return Machine{
		Name: "node-health",
		Doc: "How far one node is trusted, and whether it is a hot spare. Cordons and " +
			"drains come on top: a node that is cordoned takes no members, whatever stands here.",
		States: []Word{
			{None, "not in the fleet; its losses are remembered for Health.Within"},
			{"trusted", "takes all work"},
			{"quarantine", "was lost too often: takes no work for a time"},
			{"burn-in", "is back after a failure: takes only low-cost work, for a time"},
			{"hot spare", "is idle and reserved for gangs that lost hardware"},
			{"spare in use", "was a hot spare, and still has the gangs that came to it"},
		},
		Events: []Word{
			{"nodeJoined", "it joins, for the first time or again; an agent that registers again tells nothing"},
			{"nodeLost", "it crashes, or its lease ends"},
			{"nodeUpdated", "it is described anew"},
			{"gpuFailed", "GPUFailed, or XidReported that condemns a GPU; in burn-in a suspect one does"},
			{"gpuRepaired", "a GPU that had failed is back"},
			{"nodeUncordoned", "of a node that is not cordoned: the operator vouches for it"},
			{"policyChanged", "another Health or other HotSpares"},
			{"quarantine over", "a pass after the time of its quarantine"},
			{"burn-in over", "a pass after the time of its burn-in"},
			{"chosen", "a pass finds it idle and sound, and its pool short of hot spares"},
			{"let go", "a pass finds it unsound, set aside for others, or one too many"},
			{"used", "a pass finds a gang there that had lost hardware"},
			{"empty", "the last of them is gone"},
		},
		Rows: []Row{
			{From: None, Event: "nodeJoined", To: "trusted", Effect: "it was not lost, or that is forgotten"},
			{From: None, Event: "nodeJoined", To: "quarantine", Effect: "lost Health.Losses times within Health.Within: longer each time"},
			{From: None, Event: "nodeJoined", To: "burn-in", Effect: "it was lost, and Health.BurnIn is set"},
			{From: "trusted|quarantine|burn-in|hot spare|spare in use", Event: "nodeLost", To: None, Effect: "gangs with members there lost hardware"},

			{From: "trusted|quarantine|burn-in|hot spare|spare in use", Event: "gpuFailed", Effect: "it needs a repair before that GPU takes work"},
			{From: "trusted|burn-in|hot spare|spare in use", Event: "gpuRepaired", To: "burn-in", Effect: "Health.BurnIn is set: from now on, as a whole"},
			{From: "trusted|hot spare|spare in use", Event: "gpuRepaired", Effect: "Health.BurnIn is not set"},
			{From: "quarantine", Event: "gpuRepaired", Effect: "its burn-in is longer"},

			{From: "quarantine", Event: "quarantine over", To: "burn-in", Effect: "Health.BurnIn is set"},
			{From: "quarantine", Event: "quarantine over", To: "trusted", Effect: "Health.BurnIn is not set"},
			{From: "quarantine", Event: "burn-in over", Effect: "none follows: a GPU was repaired meanwhile, and the burn-in that began then is shorter"},
			{From: "burn-in", Event: "burn-in over", To: "trusted"},
			{From: "burn-in", Event: "burn-in over", To: "spare in use", Effect: "gangs that came to it as a hot spare are still there"},
			{From: "quarantine|burn-in", Event: "nodeUncordoned", To: "trusted"},
			{From: "burn-in", Event: "nodeUncordoned|policyChanged", To: "spare in use", Effect: "the same, and gangs that came to it as a hot spare are still there"},
			{From: "quarantine|burn-in", Event: "policyChanged", To: "trusted", Effect: "the policy knows neither any more"},
			{From: "quarantine", Event: "policyChanged", To: "burn-in", Effect: "the policy knows no quarantine any more"},
			{From: "quarantine|burn-in", Event: "policyChanged", Effect: "it lasts for as long as was said"},
			{From: "trusted|quarantine|burn-in|spare in use", Event: "nodeUpdated"},
			{From: "trusted|spare in use", Event: "policyChanged"},
			{From: "trusted|hot spare|spare in use", Event: "nodeUncordoned"},

			{From: "trusted", Event: "chosen", To: "hot spare", Effect: "gangs with a reservation there are planned anew"},
			{From: "hot spare", Event: "used", To: "spare in use"},
			{From: "hot spare", Event: "let go", To: "trusted"},
			{From: "hot spare", Event: "policyChanged|nodeUpdated", To: "trusted", Effect: "the next pass chooses anew"},
			{From: "hot spare", Event: "policyChanged|nodeUpdated", Effect: "its pool has as many as before; it is in use or of the same shape"},
			{From: "spare in use", Event: "empty", To: "trusted"},
		},
	}
}
