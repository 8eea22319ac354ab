package boltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
	"github.com/berth-sched/berth/journal/storetest"
)

var _ journal.Store = (*boltstore.Store)(nil)

func TestStore(t *testing.T) {
	storetest.Run(t, drawn.Seeds(4), func(t *testing.T) storetest.Log {
		h := &harness{T: t, path: filepath.Join(t.TempDir(), "log")}
		return storetest.Log{Open: h.open, Crash: h.crash, Fail: h.fail, Mend: h.mend}
	})
}
