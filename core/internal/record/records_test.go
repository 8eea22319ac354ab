package record

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/meter"
)

// A recordRule says what becomes of the fields of a record in a snapshot. Parts are saved as a
// whole, because the saved form embeds them, and need no word here.
type recordRule struct {
	record, saved any
	// as says under which name of the saved form a field is saved.
	as map[string]string
	// derived says from what Restore makes a field anew.
	derived map[string]string
}

var recordRules = []recordRule{
	{
		record: Replica{}, saved: SavedReplica{},
		as: map[string]string{
			"EndsAt": "EndsAt", "Leaves": "Leaves", "ActiveMilli": "Active", "FailedBids": "FailedBids", "BidsAt": "BidsAt",
			"Reserved": "Reserved", "Moving": "Moving", "Exclusive": "Exclusive", "GPUHold": "GPUHold",
			"Reserve.StalledAt": "Stalled", "Reserve.HopelessAt": "Hopeless", "Look.Turn": "Looked",
			"Members": "Members", "Order": "Order", ".ReplicaStatePart": "State",
			"Relocation": "Instead",
		},
		derived: map[string]string{
			"Job":         "the job that the saved form stands in",
			"Entries":     "from its state and members; what is known of them is saved as NoCapacity, NoQuota, Fresh and Bids",
			"Beneficiary": "from the victims of plans",
			"RunsMilli":   "from what its members hold", "Imagined": "false between passes",
		},
	},
	{
		record: Member{}, saved: SavedMember{},
		as: map[string]string{"MemberStatePart": "State", "Hold": "MemberPlacement", "Node": "MemberPlacement", "Beneficiary": "Beneficiary"},
		derived: map[string]string{
			"Slot":     "from the order in which members are restored",
			"Lent":     "from the activity of the replica, and what it holds",
			"Imagined": "false between passes",
		},
	},
	{
		record: Relocation{}, saved: SavedReplica{},
		as:      map[string]string{"Instead": "Instead", "SoughtAt": "Sought"},
		derived: map[string]string{"StandIn": "from the stand-in, which is saved with what it is for"},
	},
	{
		record: Job{}, saved: SavedJob{},
		as: map[string]string{"Spec": "Job", "Replicas": "Replicas", "batches": "Replicas", "Gate": "Gate"},
		derived: map[string]string{
			"Queue":   "from its name in the description",
			"Pattern": "interned from the description",
			"Live":    "counts replicas", ".StandIns": "counts replicas",
		},
	},
	{
		record: Node{}, saved: SavedNode{},
		as: map[string]string{"Spec": "Node", "GPUs": "GPUs"},
		derived: map[string]string{
			"Declared": "from the resources of the description",
			"Index":    "given anew; nothing is decided by it",
			"Class":    "from the description and the reservations",
			"Product":  "interned from the description",
			"Graph":    "from the links of the description",
			"Table":    "named by the description",
			"Geometry": "from the policy and the pool", "base": "from geometry", "Home": "from geometry",
			"Capacity":     "from the description, and whether it is cordoned",
			"Counted":      "from the policy, and whether the node is sound",
			"Reservations": "from what is set aside",
			"Members":      "from the replicas",
			"Planned":      "nought between passes",
			"Altered":      "from its GPUs",
			"LostMilli":    "from what its domains have lost",
		},
	},
	{
		record: GPUState{}, saved: SavedGPU{},
		as: map[string]string{"GPUStatePart": "Order"}, // with Overdue and Unknown
		derived: map[string]string{
			"Staged":  "nil between passes",
			"GPUHold": "from the replicas for which GPUs are kept",
			"Astray":  "from the description and the layout of the pool",
		},
	},
	{
		record: Repartition{}, saved: SavedGPU{},
		as:      map[string]string{"Order": "Order", "Before": "Before"},
		derived: map[string]string{"Node": "the node that the saved form stands in"},
	},
	{
		record: GPUHold{}, saved: SavedGPUHold{},
		as:      map[string]string{"Node": "Node"},
		derived: map[string]string{"Rep": "the replica that the saved form stands in"},
	},
	{
		record: Reservation{}, saved: SavedGangReservation{},
		as: map[string]string{
			"Nodes": "Nodes", "Plan": "Where", "Kind": "Partial",
		},
		derived: map[string]string{
			"Home": "its owner, from where it is saved", "Name": "from its kind and its owner", "Rep": "the replica that the saved form stands in",
			"Unmarked": "false between passes",
			"Queue":    "from the reservation", "Advance": "saved as such, see SavedReservation", "Draining": "saved with it",
			"Domains": "from the reservation; those of an exclusive gang are saved with it",
		},
	},
	{
		record: Plan{}, saved: SavedGangReservation{},
		as:      map[string]string{"Where": "Where", "Victims": "Victims", "OfQueue": "OfQueue"},
		derived: map[string]string{"Charges": "from where"},
	},
	{
		record: Queue{}, saved: SavedMeter{},
		as: map[string]string{"Evictions": "Full"},
		derived: map[string]string{
			"Index":   "given anew; nothing is decided by it",
			"Buckets": "from the entries", "List": "from the entries", "Ready": "from the entries, and what is blocked",
			"Waiting": "counts replicas with entries", "Running": "from the states of replicas", "Elastic": "from the states of replicas", "NonPreemptible": "from the states of replicas", "Sizes": "counts replicas", "WaitingMilli": "sums entries",
			"Over": "from the tree", "Keeps": "from the tree", "Touched": "shares are counted from nothing",
			"ranking": "from the entries, when somebody asks", "top": "bounds the entries: it saves looks",
			"bottom": "bounds what runs: it saves looks", "sorted": "false: the list is sorted when it matters",
			"OverLimitSince": "saved with the queue's name, see SavedOverLimit",
			"Budgets":        "from the policy, and what was used is saved in UsePart", "OutOfBudget": "from the budgets",
			"HeldBack":   "from the replicas, where the queue is out of budget",
			"FloorMilli": "saved with the leaf's name, see SavedFloor",
		},
	},
	{
		record: catalogue.Table{}, saved: catalogue.SavedTable{},
		as:      map[string]string{"Product": "Table", "Told": "Table", "Recent": "Profiles", "Weights": "Profiles"},
		derived: map[string]string{"Lattice": "from the product", "Nodes": "counts nodes", "plans": "from the lattice"},
	},
	{record: SparePool{}, derived: map[string]string{
		"Pool": "from the policy", "NodesMilli": "from the policy", "Sound": "counts nodes", "Reservation": "from the nodes that are spares",
	}},
	{record: catalogue.Pool{}, saved: catalogue.SavedPool{}, as: map[string]string{"Changes": "Changes"}},
	{record: meter.Meter{}, saved: SavedMeter{}, as: map[string]string{"Full": "Full", "Held": "Held"}},
	{record: losses.Record{}, saved: losses.Record{}},
	{record: losses.Losses{}, derived: map[string]string{"ByID": "indexes the records, which are saved", "fading": "indexes the records"}},
}

// One field, one place: a field of a record is saved, or it is listed with what it is made of
// anew, so that nobody forgets one of the two.
func TestEveryFieldOfARecordIsSavedOrDerived(t *testing.T) {
	for i := range recordRules {
		rule := &recordRules[i]
		record := reflect.TypeOf(rule.record)
		t.Run(record.Name(), func(t *testing.T) {
			listed := map[string]bool{}
			for name, as := range rule.as {
				_, saved := reflect.TypeOf(rule.saved).FieldByName(as)
				require.True(t, saved, "%s is to be saved as %s, which there is not", name, as)
				listed[name] = true
			}
			for name, reason := range rule.derived {
				require.NotEmpty(t, reason)
				require.False(t, listed[name], "%s is saved, and derived", name)
				listed[name] = true
			}
			for _, name := range unsaved(record, reflect.TypeOf(rule.saved), "") {
				require.True(t, listed[name], "%s is neither saved nor listed with what it is derived from", name)
				delete(listed, name)
			}
			require.Empty(t, listed, "these are listed, and are no fields, or are saved without a word")
		})
	}
}

// partOf is the type of a field, or of the part that it has if it is a rare one.
func partOf(f reflect.StructField) reflect.Type {
	if get, rare := reflect.PointerTo(f.Type).MethodByName("Get"); rare {
		return get.Type.Out(0)
	}
	return f.Type
}

// unsaved lists the fields of a record that its saved form does not have as a part, or in one.
func unsaved(record, saved reflect.Type, prefix string) []string {
	var list []string
	for i := range record.NumField() {
		f := record.Field(i)
		switch {
		case saved == record || embeds(saved, record) || prefix != "":
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.IsExported() || name == "" || name == "-" {
				list = append(list, prefix+f.Name)
			}
		case embeds(saved, partOf(f)):
			at := f.Name + "."
			if f.Anonymous {
				at = "."
			}
			list = append(list, unsaved(partOf(f), saved, at)...)
		default:
			list = append(list, f.Name)
		}
	}
	return list
}

// embeds reports whether a saved form has a part.
func embeds(saved, part reflect.Type) bool {
	return saved != nil && saved.Kind() == reflect.Struct && slices.ContainsFunc(reflect.VisibleFields(saved), func(f reflect.StructField) bool {
		return len(f.Index) == 1 && f.Anonymous && f.Type == part
	})
}

// Whatever is noted in a rare part is kept.
func TestRarePartsKeepWhatIsNoted(t *testing.T) {
	for _, part := range []interface{ Nothing() bool }{&RetryPart{}, &ReleasePart{}, &ReservePart{}, &LookPart{}, &EvictionPart{}, &GPUState{}, &SurgePart{}, &Relocation{}} {
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			require.True(t, part.Nothing())
			fillIn(v.Field(i))
			require.False(t, part.Nothing(), "%s.%s", v.Type().Name(), v.Type().Field(i).Name)
			v.SetZero()
		}
	}
}

// fillIn gives everything in a value something that is not zero.
func fillIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillIn(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(1)
		} else {
			v.SetUint(1)
		}
	}
}

// Whatever is noted of a replica keeps it from being saved as one of many that are alike.
func TestPlainReplicasHaveNothingNoted(t *testing.T) {
	require.True(t, (&SavedReplica{}).Plain())
	same := []string{"Number", "Incarnation", "Alike", "NoCapacity", "NoQuota", "Fresh", "Restored"}
	var s SavedReplica
	var try func(v reflect.Value)
	try = func(v reflect.Value) {
		for i := range v.NumField() {
			name, f := v.Type().Field(i).Name, v.Field(i)
			switch {
			case strings.HasSuffix(name, "Part"):
				try(f)
				continue
			case slices.Contains(same, name):
				continue
			}
			switch f.Kind() {
			case reflect.Int, reflect.Int64:
				f.SetInt(1)
			case reflect.Uint8, reflect.Uint64:
				f.SetUint(1)
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			case reflect.Pointer:
				f.Set(reflect.New(f.Type().Elem()))
			default:
				f.Field(0).SetString("x") // a cause
			}
			require.False(t, s.Plain(), name)
			s = SavedReplica{}
		}
	}
	try(reflect.ValueOf(&s).Elem())
}

// numberLists are the lists of numbers, and of booleans, that a snapshot has, each with what says
// that no position in it stands for a constant of the code or a field of a struct.
var numberLists = map[string]string{
	"NoCapacity":   "numbers of groups of the job that is saved beside it",
	"NoQuota":      "numbers of groups of the job that is saved beside it",
	"Fresh":        "numbers of groups of the job that is saved beside it",
	"Changes":      "instants, oldest first",
	"Losses":       "instants, oldest first",
	"Ran":          "run times of one kind of job, oldest first",
	"Starts":       "memory slices of a GPU",
	"PCIDeviceIDs": "numbers of the vendor",
	"ScorerBooks":  "bytes of the embedder's own",
}

// Nothing is saved by position: a list whose positions stand for constants or fields of the code
// means something else as soon as one is inserted, and the snapshot still reads.
func TestNothingIsSavedByPosition(t *testing.T) {
	met := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var look func(at string, of reflect.Type)
	look = func(at string, of reflect.Type) {
		require.NotEqual(t, reflect.Array, of.Kind(), "%s is an array: save it by names, as demand.Saved.Free", at)
		switch of.Kind() {
		case reflect.Pointer, reflect.Map:
			look(at, of.Elem())
		case reflect.Slice:
			name := at[strings.LastIndexByte(at, '.')+1:]
			if k := of.Elem().Kind(); k >= reflect.Bool && k <= reflect.Uint64 && of != reflect.TypeFor[json.RawMessage]() {
				require.NotEmpty(t, numberLists[name], "%s is a list of numbers: save it by names, or say in numberLists what its positions are", at)
				met[name] = true
			}
			look(at, of.Elem())
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				if f := of.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
					look(at+"."+f.Name, f.Type)
				}
			}
		}
	}
	look("Snapshot", reflect.TypeFor[Snapshot]())
	for name := range numberLists {
		require.True(t, met[name], "%s is no list of numbers of a snapshot", name)
	}
}
