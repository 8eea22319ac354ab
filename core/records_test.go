package core

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		record: replica{}, saved: savedReplica{},
		as: map[string]string{
			"endsAt": "EndsAt", "leaves": "Leaves", "activeMilli": "Active", "failedBids": "FailedBids",
			"reserved": "Reserved", "moving": "Moving", "exclusive": "Exclusive", "drain": "Drain",
			"reserve.StalledAt": "Stalled", "reserve.HopelessAt": "Hopeless", "look.Turn": "Looked", "bid.Turn": "Bid",
			"members": "Members", "order": "Order",
		},
		derived: map[string]string{
			"job":      "the job that the saved form stands in",
			"entries":  "from its state and members; what is known of them is saved as NoCapacity, NoQuota and Fresh",
			"yieldsTo": "from the victims of rooms",
			"imagined": "false between passes",
		},
	},
	{
		record: member{}, saved: savedMember{},
		as: map[string]string{"state": "State", "hold": "MemberPlacement", "node": "MemberPlacement", "yieldsTo": "For"},
		derived: map[string]string{
			"slot":     "from the order in which members are restored",
			"imagined": "false between passes",
		},
	},
	{
		record: job{}, saved: savedJob{},
		as: map[string]string{"spec": "Job", "replicas": "Replicas"},
		derived: map[string]string{
			"queue":   "from its name in the description",
			"shape":   "compiled from the description",
			"offsets": "from the groups of the description",
			"live":    "counts replicas",
			"vacant":  "a bound for a search, which may be lower than it was",
		},
	},
	{
		record: node{}, saved: savedNode{},
		as: map[string]string{"spec": "Node", "gpus": "GPUs"},
		derived: map[string]string{
			"index":    "given anew; nothing is decided by it",
			"class":    "from the description and the windows",
			"product":  "interned from the description",
			"graph":    "from the links of the description",
			"table":    "named by the description",
			"geometry": "from the policy and the pool", "base": "from geometry", "home": "from geometry",
			"capacity": "from the description, and whether it is cordoned",
			"counted":  "from the policy, and whether the node is sound",
			"windows":  "from what is set aside",
			"members":  "from the replicas",
			"planned":  "nought between passes",
		},
	},
	{
		record: gpuState{}, saved: savedGPU{},
		as: map[string]string{"order": "Order"},
		derived: map[string]string{
			"staged": "nil between passes",
			"drain":  "from the replicas for which GPUs are kept",
			"astray": "from the description and the layout of the pool",
		},
	},
	{
		record: repartition{}, saved: savedGPU{},
		as:      map[string]string{"order": "Order", "before": "Before"},
		derived: map[string]string{"node": "the node that the saved form stands in"},
	},
	{
		record: drain{}, saved: savedDrain{},
		as:      map[string]string{"node": "Node"},
		derived: map[string]string{"rep": "the replica that the saved form stands in"},
	},
	{
		record: window{}, saved: savedWindow{},
		as: map[string]string{
			"nodes": "Nodes", "preemption": "Where", "kind": "Remnant",
		},
		derived: map[string]string{
			"home": "whose it is, from where it is saved", "name": "from its kind and whose it is", "rep": "the replica that the saved form stands in",
			"unmarked": "false between passes",
			"queue":    "from the reservation", "advance": "saved as such, see savedReservation",
			"domains": "from the reservation; those of an exclusive gang are saved with it",
		},
	},
	{
		record: preemption{}, saved: savedWindow{},
		as:      map[string]string{"where": "Where", "victims": "Victims"},
		derived: map[string]string{"charges": "from where"},
	},
	{
		record: queue{}, saved: savedMeter{},
		as: map[string]string{"evictions": "Full"},
		derived: map[string]string{
			"index":   "given anew; nothing is decided by it",
			"buckets": "from the entries", "list": "from the entries", "ready": "from the entries, and what is blocked",
			"waiting": "counts replicas with entries", "running": "from the states of replicas", "waitingMilli": "sums entries",
			"over": "from the tree", "keeps": "from the tree", "touched": "shares are counted from nothing",
		},
	},
	{
		record: table{}, saved: savedTable{},
		as:      map[string]string{"product": "Table", "told": "Table", "recent": "Recent", "weights": "Weights"},
		derived: map[string]string{"lattice": "from the product", "nodes": "counts nodes"},
	},
	{record: sparePool{}, derived: map[string]string{
		"pool": "from the policy", "milli": "from the policy", "sound": "counts nodes", "window": "from the nodes that are spares",
	}},
	{record: pool{}, saved: savedPool{}, as: map[string]string{"changes": "Changes"}},
	{record: meter{}, saved: savedMeter{}, as: map[string]string{"full": "Full", "held": "Held"}},
	{record: lossRecord{}, saved: lossRecord{}},
	{record: lossMemory{}, derived: map[string]string{"byID": "indexes the records, which are saved", "fading": "indexes the records"}},
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
		case embeds(saved, f.Type):
			at := f.Name + "."
			if f.Anonymous {
				at = "."
			}
			list = append(list, unsaved(f.Type, saved, at)...)
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
