package boltstore

import (
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/berth-sched/berth/journal"
)

// A room keeps records from taking what the next snapshot needs. The library writes into pages that
// are free, and behind the last page when it finds none, where the disk has set room aside or has
// to find it. Both are counted before records are written.
type room struct {
	file *os.File
	// snapshot is how long the newest is.
	snapshot int
	// records: there are some since, so that a snapshot would free room.
	records bool
	// inVain: a snapshot had no room all the same, so none is kept for the next.
	inVain bool
}

// errReserved: there may be room, but for a snapshot alone.
var errReserved = errors.New("what is left of the file and the disk is room for the next snapshot")

// ahead is how many bytes the disk is asked for beyond what is needed at once.
const ahead = 1 << 20

// look finds out how a file stands.
func (r *room) look(tx *bolt.Tx) error {
	c := tx.Bucket(snapshotBucket).Cursor()
	for key, part := c.First(); len(key) == 8; key, part = c.Next() {
		r.snapshot += len(part)
	}
	first, _ := tx.Bucket(recordsBucket).Cursor().First()
	r.records = first != nil
	return nil
}

// forRecords refuses records that would take the room of the next snapshot. Where no snapshot
// frees room, or none can be saved, there is nothing to keep.
func (r *room) forRecords(tx *bolt.Tx, records [][]byte) error {
	page := int64(tx.DB().Info().PageSize)
	stats := tx.DB().Stats()
	free := int64(stats.FreePageN + stats.PendingPageN)
	kept := r.forSnapshot(page, free)
	need := kept + slack
	for _, record := range records { // at worst each page of them is half full
		need += (2*int64(len(record)) + page/16) / page
	}
	need += int64(len(records))/32 + kept/8
	if need <= free {
		return nil
	}
	have, err := allocated(r.file)
	wanted := tx.Size() + (need-free)*page
	if err != nil || have >= wanted {
		return nil // what goes wrong with the file is told when it is written
	}
	if err = allocate(r.file, wanted+ahead); err != nil {
		err = allocate(r.file, wanted)
	}
	switch {
	case err == nil:
		r.inVain = false
	case isFull(err) && r.records && !r.inVain && have >= tx.Size()+(kept-free)*page:
		return fmt.Errorf("%w: %w: %w", journal.ErrFull, errReserved, err)
	}
	return nil
}

// forSnapshot is how many pages the next snapshot takes, with the list of free pages, which is
// written with each transaction and then has those of the snapshot before.
func (r *room) forSnapshot(page, free int64) int64 {
	pages := int64(r.snapshot+r.snapshot/32) / page
	pages += pages / 8 // by which it may have grown
	return pages + (free+2*pages)*8/page + slack
}

// slack is how many pages a transaction writes beside what it is for, and some.
const slack = 16

// saved is told how a snapshot was saved, how long it is, and whether there are records behind it.
func (r *room) saved(err error, length int, records bool) {
	switch {
	case err == nil:
		r.snapshot, r.records, r.inVain = length, records, false
	case errors.Is(err, journal.ErrFull):
		r.inVain = true
	}
}
