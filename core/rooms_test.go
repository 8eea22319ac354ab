package core

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core/internal/record"
)

// A roomRule says what becomes of the fields of a room in a snapshot.
type roomRule struct {
	// as says under which name of the snapshot a field is saved.
	as map[string]string
	// derived says from what Restore makes a field anew, or why there is nothing to make.
	derived map[string]string
}

// roomRules are by the field of Core that has the room.
var roomRules = map[string]roomRule{
	"catalogue": {
		as: map[string]string{"Tables": "Tables", "Pools": "Pools"},
		derived: map[string]string{
			"Owners": "from the shares that members hold, and the shapes that wait for some",
			"Graphs": "from the links of the nodes",
			"Lender": "nil but while a copy is made",
		},
	},
	"losses": {
		as:      map[string]string{"ByID": "Lost"},
		derived: map[string]string{"fading": "indexes the records"},
	},
	"agenda": {
		as: map[string]string{
			"QuotaFreed": "QuotaFreed", "lessened": "Lessened", "BackfillDue": "BackfillDue", "SparesDue": "SparesDue",
			"Homeless": "Homeless", "MovesLeft": "MovesLeft", "takersLeft": "TakersLeft", "nextRank": "NextRank", "NextMove": "NextMove", "nextReshape": "NextReshape",
			"nextReserve": "NextReserve", "NextPreempt": "NextPreempt",
		},
		derived: map[string]string{
			"Placing": "false between passes", "TriedReserved": "false between passes", "taken": "false between passes",
			"HealthDue":   "from the nodes that are watched",
			"ReshapeTurn": "counted from 1; a replica is saved as Looked", "PreemptTurn": "counted from 1; a replica is saved as Bid",
			"FreedTurn": "counted from 1; a replica is saved as Stalled", "GrownTurn": "counted from 1; a replica is saved as Hopeless",
			"MoveTurn": "counted from 1; a replica is saved as Sought",
			"blocked":  "counts shapes", "looking": "counts shapes", "limited": "counts buckets", "freedNodes": "counts nodes",
			"reservations": "counts reservations", "fresh": "counts entries", "stalled": "counts gangs", "hopeless": "counts gangs",
			"Dividing": "counts nodes", "Pliable": "counts nodes", "Draining": "counts nodes",
		},
	},
	"state": {
		as: map[string]string{
			"Config": "Config", "Bounds": "Bounds", "Now": "Now", "LastOrder": "LastOrder", "Totals": "Totals",
			"Nodes": "Nodes", "Quota": "Queues", "Jobs": "Jobs", "Runtimes": "Runtimes",
		},
		derived: map[string]string{
			"Fleet":      "from the levels of the configuration, the nodes, and what members hold",
			"NodeByID":   "indexes the nodes",
			"Classes":    "interned from the nodes",
			"Replicas":   "counts those of the jobs",
			"Orders":     "indexes the replicas by their orders",
			"Shapes":     "interned from the jobs",
			"Patterns":   "interned from the jobs",
			"key":        "is written anew for each",
			"asked":      "is what a key is written of",
			"forgotten":  "saves that it is made again",
			"forgets":    "is where the next one goes",
			"Spares":     "from the policy and the nodes",
			"Returning":  "from the states of replicas, and where they stood",
			"Leaving":    "from the states of replicas and members, and the victims of plans",
			"Endings":    "from when replicas are expected to end",
			"Opened":     "from the nodes that are saved as Freed",
			"FreedNodes": "from the nodes that are saved as Freed",
			"Todo":       "from the states of replicas and members",
			"Lending":    "empty between events and passes",
			"Backoffs":   "counts timers",
			"Timers":     "from the deadlines of orders, the backoffs and the gang timeouts",
			"Followers":  "from the gates of jobs", "Slots": "from the jobs and their gates", "Lanes": "from the jobs and their gates",
			"out":     "nil between passes",
			"changed": "counted from all nodes", "isChanged": "counted from all nodes",
		},
	},
	"scoring": {
		as: map[string]string{"scorer": "Scorer", "books": "ScorerBooks", "demand": "Demand"},
		derived: map[string]string{
			"domains": "the scorer, which stands beside the snapshot",
			"places":  "scratch", "last": "scratch", "nodes": "scratch", "gpus": "scratch", "left": "scratch", "shown": "scratch", "groups": "scratch",
		},
	},
	"books": {
		as: map[string]string{"Ledger": "UsePart", "Lost": "LostMembers", "OverLimit": "UsePart", "Budgets": "UsePart"},
		derived: map[string]string{
			"Placement":  "scratch",
			"Capacities": "from the nodes", "untold": "told at the end of Restore", "left": "scratch",
			"Restoring": "true while Restore runs alone",
			"Queues":    "from the quota tree, with the meters that are saved",
			"Earmarked": "false between passes", "uncounted": "from the queues; nil where nothing is earmarked",
			"Shares": "counted from nothing", "demandVersion": "before the first version: demand is counted anew", "Touched": "shares are counted from nothing",
			"Turns": "counted from nothing", "waiting": "scratch", "active": "scratch", "all": "scratch",
			"over": "counts queues", "Keeping": "counts queues", "budgetsDue": "from the budgets: it saves looks",
		},
	},
	"backlog": {
		as: map[string]string{"Reservations": "Reservations"},
		derived: map[string]string{
			"Due": "every bucket is looked at anew", "ToldNext": "before the first version: the tree is told anew",
			"GPUHolds":     "from the replicas for which GPUs are kept",
			"Demand":       "counts gangs that wait",
			"DomainBound":  "the buckets of gangs that wait, in no order",
			"Blocked":      "from the entries that are saved as NoCapacity",
			"QuotaBlocked": "from the entries that are saved as NoQuota",
			"Fresh":        "from the entries that are saved as Fresh",
			"displaced":    "empty between passes",
			"LostHardware": "from the replicas that lost hardware and wait",
			"freed":        "empty at first: memory for use again",
		},
	},
	"admission": {},
	"upkeep": {derived: map[string]string{
		"Watched": "from the trust in the nodes",
		"BurnIn":  "from the nodes in burn-in",
		"fabric":  "saved as Fabric",
	}},
	"life": {
		as: map[string]string{"evictions": "RatesPart"},
		derived: map[string]string{
			"States": "counts replicas", "Stretching": "counts replicas",
			"Gated": "counts jobs", "freed": "empty between events and passes", "made": "empty between events and passes", "ready": "empty between events and passes",
		},
	},
	"gpus": {derived: map[string]string{
		"Repartitions": "indexes the orders that the GPUs of nodes are saved with",
		"Astray":       "from the GPUs of the nodes and the layouts of their pools",
	}},
	"search": {derived: map[string]string{
		"freed": "told anew in each pass", "minimums": "false between passes", "unbound": "empty between passes", "booked": "scratch",
		"nodesLooked": "nought when a pass begins to look", "listed": "empty between passes", "leaving": "scratch",
	}},
	"victims": {derived: map[string]string{"evictable": "from what runs on nodes", "gathered": "counted from nothing", "lenders": "scratch"}},
	"evict":   {derived: map[string]string{"chooser": "scratch", "departing": "scratch", "here": "scratch", "Replied": "of tests", "Cleared": "counted from nothing"}},
	"answer":  {},
}

// One field, one place, for the rooms as for the records: a field of a room is saved, or it is
// listed with what it is made of anew. What points to another room needs no word.
func TestEveryFieldOfARoomIsSavedOrDerived(t *testing.T) {
	core, snapshot := reflect.TypeFor[Core](), reflect.TypeFor[record.Snapshot]()
	rooms := map[reflect.Type]bool{}
	for i := range core.NumField() {
		rooms[core.Field(i).Type] = true
	}
	require.Len(t, roomRules, len(rooms), "a rule for each room")
	for i := range core.NumField() {
		f := core.Field(i)
		t.Run(f.Name, func(t *testing.T) {
			rule, found := roomRules[f.Name]
			require.True(t, found, "the room has no rule")
			listed := map[string]bool{}
			for name, as := range rule.as {
				_, saved := snapshot.FieldByName(as)
				require.True(t, saved, "%s is to be saved as %s, which there is not", name, as)
				listed[name] = true
			}
			for name, reason := range rule.derived {
				require.NotEmpty(t, reason)
				require.False(t, listed[name], "%s is saved, and derived", name)
				listed[name] = true
			}
			room := f.Type.Elem()
			for j := range room.NumField() {
				own := room.Field(j)
				if rooms[own.Type] {
					continue
				}
				require.True(t, listed[own.Name], "%s is neither saved nor listed with what it is derived from: restore it, have Check count it anew, and say so in roomRules", own.Name)
				delete(listed, own.Name)
			}
			require.Empty(t, listed, "these are listed, and are no fields")
		})
	}
}
