package core

import (
	"reflect"
	"slices"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/bounds"
	"github.com/berth-sched/berth/gang"
)

// AgendaOf is the agenda of a core, to be compared.
func AgendaOf(c *Core) any { return *c.agenda }

// UnsetEntries names the entries of an agenda that say nothing: flags and counts that are zero,
// instants that never come. Those of a pass in progress are none between passes.
func UnsetEntries(c *Core) []string {
	var unset []string
	v := reflect.ValueOf(*c.agenda)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		f := v.Field(i)
		inPass := slices.Contains([]string{"Placing", "taken"}, name)
		if !inPass && (f.IsZero() || f.Kind() == reflect.Int64 && f.Int() == int64(agenda.Never)) {
			unset = append(unset, name)
		}
	}
	return unset
}

// Bounds bound the work of a pass.
type Bounds = bounds.Bounds

// LowerBounds has the passes of a core bounded otherwise.
func LowerBounds(c *Core, lower func(*Bounds)) { lower(&c.state.Bounds) }

// BreakInvariant has a core find out that its books are wrong: it frees what nobody holds.
func BreakInvariant(c *Core) { c.books.Release(gang.Hold{Node: 7}) }
