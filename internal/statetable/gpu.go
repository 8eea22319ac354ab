package statetable

// GPUMode is the machine of how one GPU may be used.
func GPUMode() Machine {
	const modes = "whole|mig|mps|time-slice"
	return Machine{
		Name: "gpu-mode",
		Doc: "How one GPU of a node may be used. Which instances a divided one has changes by the same " +
			"orders. A GPU that failed stays in its mode and takes no members; one with a GPU hold takes " +
			"only the member that it is held for.",
		States: []Word{
			{None, "not in the fleet"},
			{"whole", "for one member at a time"},
			{"mig", "partitioned into instances, each for one member of any tenant"},
			{"mps", "for members of one tenant side by side"},
			{"time-slice", "for interactive members of one tenant in turn"},
			{"changing", "a Repartition about it is out; it counts as it will be"},
			{"unknown", "its partitioning is not known: it takes no members"},
		},
		Events: []Word{
			{"nodeJoined", "its node joins; an agent that registers again tells nothing"},
			{"nodeUpdated", "its node is described anew"},
			{"nodeLost", "its node is lost"},
			{"gpuPartitioned", "its partitioning is reported from outside"},
			{"observed", "JobObserved finds a member running on it"},
			{"gpuFailed", "GPUFailed, or XidReported that condemns it"},
			{"repartition", "a pass orders it into a mode or a layout: for a member, or back to the layout of its pool"},
			{"repartition done", "OrderReported"},
			{"repartition failed", "OrderReported"},
			{"repartition deadline", "the Repartition is not reported in time"},
			{"bind reported", "OrderReported of a Bind of members that hold it"},
		},
		Rows: []Row{
			{From: None, Event: "nodeJoined", To: modes, Effect: "as told"},
			{From: None, Event: "nodeUpdated", To: modes, Effect: "the node has more GPUs than before: as told"},
			{From: modes, Event: "nodeUpdated", Effect: "it goes by the same table: the mode that is told is passed over"},
			{From: modes, Event: "nodeUpdated", To: modes, Effect: "it goes by another table: as told"},
			{From: modes + "|unknown", Event: "nodeUpdated", To: None, Effect: "the node has fewer GPUs than before"},
			{From: modes + "|changing|unknown", Event: "nodeLost", To: None},
			{From: modes, Event: "gpuFailed", Effect: "members that hold it are lost"},
			{From: "whole|mps|time-slice", Event: "observed", To: "whole|mps|time-slice", Effect: "the mode in which the member runs"},
			{From: "mig", Event: "observed", Effect: "the member holds an instance"},
			{From: modes, Event: "gpuPartitioned", To: modes, Effect: "as told, if the members that hold it could run so"},
			{From: modes, Event: "gpuPartitioned", Refused: "conflict", Effect: "a member holds it in another mode, or an instance that is not told"},
			{From: modes, Event: "repartition", To: "changing", Effect: "no member holds it, or no instance in use is touched; the Bind that needs it names the order"},

			{From: "changing", Event: "repartition done", To: modes, Effect: "as ordered"},
			{From: "changing", Event: "repartition failed", To: modes, Effect: "as it was; members that need what was ordered are lost"},
			{From: "changing", Event: "repartition failed", Refused: "conflict", Effect: "a member runs on what was ordered"},
			{From: "changing", Event: "repartition deadline", To: modes, Effect: "a member runs on what was ordered: as ordered"},
			{From: "changing", Event: "repartition deadline", To: "unknown", Effect: "members that need what was ordered may be coming up: they hold it until their Bind is over"},
			{From: "changing", Event: "gpuFailed", To: "unknown", Effect: "the order is over; members that hold it are lost"},
			{From: "changing", Event: "nodeUpdated", Effect: "its place, pool and shape stay"},
			{From: "changing", Event: "nodeUpdated", Refused: "conflict", Effect: "they would not"},
			{From: "changing", Event: "gpuPartitioned", Refused: "conflict", Effect: "the order is to be reported first"},

			{From: "unknown", Event: "gpuPartitioned", To: modes, Effect: "as told; it takes members again"},
			{From: "unknown", Event: "gpuPartitioned", Refused: "conflict", Effect: "a member that holds it may be coming up in another mode, or instance"},
			{From: "unknown", Event: "bind reported", To: modes, Effect: "a member runs on what was ordered: as ordered"},
			{From: "unknown", Event: "bind reported", Effect: "none does"},
			{From: "unknown", Event: "nodeUpdated", To: modes, Effect: "it goes by another table: as told"},
			{From: "unknown", Event: "gpuFailed|nodeUpdated"},
		},
	}
}
