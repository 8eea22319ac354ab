package statetable

// Reservation is the machine of nodes that are set aside.
func Reservation() Machine {
	const (
		waiting = "pending|preemption|resume|partialResume"
		kept    = "move|partialMove|backoff"
	)
	return Machine{
		Name: "reservation",
		Doc: "Nodes set aside: by what for. A gang has at most one of pending, preemption, resume, partialResume, move, " +
			"partialMove and backoff; beside that, while it holds anything, its exclusive domains. There is an advance " +
			"reservation for each ID, one burn-in for the fleet and one set of spares for each pool. " +
			"One that ends and is followed by another in the same pass takes both steps.",
		States: []Word{
			{None, "nothing is set aside"},
			{"pending", "for a gang that keeps losing to smaller work"},
			{"preemption", "for a beneficiary, while victims are evicted or moved for it"},
			{"move", "the destination of a gang that still holds its place"},
			{"resume", "the same, when the gang waits for it"},
			{"partialMove", "what a gang that is being stopped has left of its place"},
			{"partialResume", "the same, when the gang waits, and may bid for its shortfall"},
			{"backoff", "the place of a gang whose members died, while it backs off"},
			{"exclusive", "the exclusive domains of a gang while it holds anything"},
			{"advance", "a Reservation made by ReservationSet, for a queue or for no job"},
			{"burn-in", "the nodes in burn-in: for low-cost work"},
			{"spares", "the hot spares of a pool: for gangs that lost hardware"},
		},
		Events: []Word{
			{"reserve", "a pass reserves for a gang that has waited for Policy.ReserveAfter"},
			{"plan evictions", "a pass plans evictions, or moves, for a gang"},
			{"keep place", "a pass finds another place for a gang that has to leave its own or lost it"},
			{"keep part", "a pass finds no place for a gang that is being stopped, and keeps what it has left"},
			{"waits", "the gang holds nothing any more, and waits"},
			{"backs off", "the gang holds nothing any more, and may not be placed for a while"},
			{"bind", "a pass binds the gang, there or elsewhere"},
			{"enclose", "a Bind places members of a gang with Topology.Exclusive, or it is observed"},
			{"release", "the gang holds nothing any more"},
			{"gang ends", "the gang is cancelled, scaled down, finished or dropped"},
			{"node changes", "a node that a gang counts on is lost, described anew, cordoned, drained, in burn-in, or loses a GPU or how that is divided"},
			{"until", "its time is over"},
			{"overtaken", "what comes before it has its nodes now, or its turn"},
			{"called off", "what it counts on does not come true: a gang stays, a limit or the policy changes"},
			{"reservationSet", "an operator sets nodes aside, or changes that"},
			{"reservationRemoved", "an operator ends it"},
			{"node comes", "a node is in burn-in, or is chosen as a hot spare"},
			{"last node goes", "no node is in burn-in any more, or none is a hot spare"},
		},
		Rows: []Row{
			{From: None, Event: "reserve", To: "pending", Effect: "what ends in time is backfilled"},
			{From: None + "|pending|partialResume", Event: "plan evictions", To: "preemption", Effect: "its members are planned and their quota is earmarked; victims are asked or stopped"},
			{From: None + "|partialMove", Event: "keep place", To: "move", Effect: "its members are planned and their quota is earmarked"},
			{From: None, Event: "keep place", To: "backoff", Effect: "a gang of which no member is left; the same"},
			{From: None, Event: "keep part", To: "partialMove"},

			{From: "pending|resume|partialResume", Event: "bind", To: None},
			{From: "preemption", Event: "bind", To: None, Effect: "victims that were asked for a checkpoint and are not stopped continue"},
			{From: waiting, Event: "node changes|overtaken", To: None, Effect: "the gang is planned for anew"},
			{From: "pending|preemption|resume", Event: "until", To: None, Effect: "the gang is planned for again after a while, twice as long each time"},
			{From: waiting, Event: "gang ends", To: None},
			{From: "preemption", Event: "called off", To: None, Effect: "victims that were asked for a checkpoint and are not stopped continue"},
			{From: "resume|partialResume", Event: "called off", To: None, Effect: "the gang waits as any other"},

			{From: "move", Event: "waits", To: "resume", Effect: "no other job may take it"},
			{From: "partialMove", Event: "waits", To: "partialResume", Effect: "it ends with the first pass in which the gang could bid for the rest"},
			{From: "partialMove", Event: "backs off", To: None},
			{From: "move", Event: "backs off", To: "backoff", Effect: "a gang that ranks above may take it, by the guarantees of queues or by class and priority within one"},
			{From: "backoff", Event: "waits", To: "resume", Effect: "no other job may take it"},
			{From: kept, Event: "node changes|overtaken|until|gang ends", To: None, Effect: "what is left to be stopped is; a gang that was to move for another stays, if it still runs"},
			{From: "move", Event: "called off", To: None, Effect: "a gang that still runs stays"},
			{From: "backoff", Event: "called off", To: None, Effect: "the next pass looks for a place anew"},

			{From: None, Event: "enclose", To: "exclusive", Effect: "no other job is placed there"},
			{From: "exclusive", Event: "enclose", Effect: "wider, if it grows into further domains"},
			{From: "exclusive", Event: "release", To: None, Effect: "the gang holds nothing any more"},

			{From: None, Event: "reservationSet", To: "advance", Effect: "what ends in time is backfilled; nothing that runs is stopped"},
			{From: "advance", Event: "reservationSet", Effect: "it is changed"},
			{From: "advance", Event: "reservationRemoved|until", To: None, Effect: "what is free there is so for all"},
			{From: None, Event: "reservationRemoved", Refused: "unknown"},

			{From: None, Event: "node comes", To: "burn-in|spares"},
			{From: "burn-in|spares", Event: "last node goes", To: None},
		},
	}
}
