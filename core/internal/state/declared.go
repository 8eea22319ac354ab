package state

import (
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

// Declared are the amounts of a node or claim of the resources that the config declares; nil: none.
func (st *State) Declared(named map[string]int64) *countable.Declared {
	return st.Config.Resources.Read(named)
}

// Amount prints an amount of a resource in the unit that people use: values.Amount, with the units
// of declared resources.
func (st *State) Amount(r quota.Resource, v int64) string {
	if i, ok := st.Config.Resources.Find(string(r)); ok {
		return st.Config.Resources[i].Words(v)
	}
	return values.Amount(r, v)
}
