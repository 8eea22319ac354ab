package tidy

// booksPath is the room that changes the fleet and the quota tree.
const booksPath = "core/internal/books"

// doorsOf are the exported methods by pointer of a type that is changed in one room alone.
type doorsOf struct{ changes, asks []string }

var doors = map[string]doorsOf{
	"gang.Fleet": {
		changes: []string{
			"AddNode", "Adopt", "Hold", "Lend", "Place", "Release", "ReleaseAll", "RemoveNode",
			"SetBreakCost", "SetChooser", "SetClass", "SetDeclared", "SetHealthy", "SetHost", "SetLoss", "SetPartitioning", "SetRanking", "SetSchedulable", "SetScorer", "SetVacated", "Together",
		},
		asks: []string{
			"AppendLeft", "Borrowed", "BreakCost", "Check", "CheckHolds", "CheckTags", "DeclaredFree", "Diagnose", "DiagnoseLevels", "EachFaulty", "Fits", "FreeMask", "Healthy", "Idle",
			"HostFree", "Lent", "LossOn", "Partitioning", "Plain", "Schedulable", "ShareLeft", "Sound", "StockOf", "Stocks", "Taken", "Tree", "Validate",
		},
	},
	"quota.Tree": {
		changes: []string{
			"Advance", "Charge", "Deactivate", "DeactivateAll", "Declare", "Discharge", "Release", "ReleaseProduct", "Remove", "Retain",
			"FollowFleet", "RetainProduct", "Set", "SetCapacity", "SetFleet", "SetHalfLife", "SetNext", "SetPast",
		},
		asks: []string{
			"Active", "Asks", "Below", "Capacity", "Check", "CheckProduct", "Config", "Covered", "Exceeded", "Fits", "Guaranteed", "HalfLife", "NonPreemptible",
			"Amounts", "Fleet", "InTheWay", "Leaf", "Len", "LimitOf", "Lookup", "Name", "Next", "Now", "Parent", "Past",
			"Positions", "Product", "Queues", "Used", "WholeOf", "WithheldBy", "Within",
		},
	},
}

// notByBooks names the functions that change the fleet or the quota tree past the books, each
// with the reason.
var notByBooks = map[string]string{}

// hostFiles are the files that name the resources of a host: the types of the contract, and
// beside each its amounts by resource.
var hostFiles = []string{"job.go", "node.go"}

// deviceMemory are the structs, and the package, of which MemoryMiB is that of a GPU, or of a part
// of one.
var deviceMemory = []string{".GPU", ".Share", ".Borrow", ".Lend", "gang.Share", "mig"}

// parts are the parts of records, each with the rooms that assign it; core is among them where
// a part notes what an event says.
var parts = map[string][]string{
	"core/internal/record.LifePart": {"core/internal/record", "core/internal/life"},
	// the states, which go by the functions After
	"core/internal/record.ReplicaStatePart": {"core/internal/record"},
	"core/internal/record.MemberStatePart":  {"core/internal/record"},
	"core/internal/record.RetryPart":        {"core/internal/record", "core/internal/life", "core"},
	"core/internal/record.ReleasePart":      {"core/internal/life", "core"},
	"core/internal/record.ReservePart":      {"core/internal/record", "core/internal/search"},
	"core/internal/record.LookPart":         {"core/internal/record", "core/internal/search"},
	"core/internal/record.EvictionPart":     {"core/internal/life"},
	"core/internal/record.IdlePart":         {"core/internal/life"},
	"core/internal/record.SurgePart":        {"core/internal/life"},
	"core/internal/record.BidPart":          {"core/internal/record", "core/internal/evict"},
	"core/internal/record.StartPart":        {"core/internal/search", "core"},
	"core/internal/record.JobPart":          {"core/internal/life", "core"},
	"core/internal/record.CordonPart":       {"core/internal/record", "core/internal/upkeep", "core"},
	"core/internal/record.TrustPart":        {"core/internal/record"},
	"core/internal/record.GPUStatePart":     {"core/internal/record"},
	"core/internal/record.GPUPart":          {"core/internal/record", "core/internal/gpus"},
	"core/internal/record.GPUHoldPart":      {"core/internal/search"},
	"core/internal/record.SpanPart":         {"core/internal/record", "core/internal/search"},
	"core/internal/record.RatesPart":        {"core/internal/life"},
	"core/internal/record.UsePart":          {"core/internal/books"},
}

const (
	restores = "makes the record, or the room, from its saved form"
)

// notByOwners names the functions that assign a field or a part of another room, each with the
// reason.
var notByOwners = map[string]string{
	"core/internal/state.State.SetPolicy: .Config":                                        "puts another policy in force, as a whole",
	"core.Core.restore: core/internal/record.RatesPart":                                   restores,
	"core.Core.restore: core/internal/record.UsePart":                                     restores,
	"core.Core.restore: core/internal/state.State":                                        restores,
	"core.readSnapshot: .Config":                                                          restores,
	"core/internal/values.CloneConfig: .Config":                                           "a copy, before anybody has it",
	"core/internal/values.CloneConfig: .Policy":                                           "a copy, before anybody has it",
	"core.restore: core/internal/books.Books":                                             restores,
	"core.restore: core/internal/catalogue.Catalogue":                                     restores,
	"core/internal/admission.Admission.newJob: core/internal/record.JobPart":              "a job begins with its turn",
	"core/internal/admission.Admission.restoreJob: core/internal/record.JobPart":          restores,
	"core/internal/admission.Admission.restoreMember: core/internal/record.StartPart":     restores,
	"core/internal/admission.Admission.restoreOrder: core/internal/state.State":           restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.LifePart":     restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.LookPart":     restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.ReleasePart":  restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.ReservePart":  restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.RetryPart":    restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.EvictionPart": restores,
	"core/internal/admission.Admission.restoreReplica: core/internal/record.IdlePart":     restores,
	"core/internal/record.Replica.StandsInFor: core/internal/record.JobPart":              "StandIns counts them",
	"core/internal/record.Replica.StandsInNoMore: core/internal/record.JobPart":           "StandIns counts them",
	"core/internal/state.State.SetLimit: core/internal/record.EvictionPart":               "LimitAt goes with its timer",
	"core/internal/state.State.SetLendAt: core/internal/record.IdlePart":                  "LendAt goes with its timer",
	"core/internal/state.State.SetIdleAt: core/internal/record.IdlePart":                  "IdleAt goes with its timer",
	"core/internal/backlog.Backlog.restoreBid: core/internal/record.BidPart":              restores,
	"core/internal/backlog.Backlog.RestoreStalled: core/internal/record.ReservePart":      restores,
	"core/internal/backlog.Backlog.restoreGangReservation: core/internal/record.SpanPart": restores,
	"core/internal/gpus.GPUs.RestoreLooked: core/internal/record.LookPart":                restores,
}

// reservations are told apart by the table of their kinds.
var reservations = union{
	record: "core/internal/record.Reservation", tag: "core/internal/record.ReservationKind", told: []string{"rule", "Rule"},
	only: []string{"Preemption", "Advance"}, orNil: []string{"Rep"}, alone: []string{"Trials"},
	file: "core/internal/record/reservation_kinds.go",
}

// notByKinds names the functions that ask for the kind of a reservation elsewhere, each with the
// reason.
var notByKinds = map[string]string{
	"core/internal/backlog.Backlog.Admits": "reads the row of the table: rank and queues are the backlog's to compare",
}
