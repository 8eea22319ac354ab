package storetest_test

import (
	"testing"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/storetest"
)

func TestFile(t *testing.T) {
	var seed uint64
	storetest.Run(t, drawn.Seeds(20), func(*testing.T) storetest.Log {
		seed++
		return storetest.NewFileLog(seed)
	})
}

var _ journal.Store = (*storetest.File)(nil)
