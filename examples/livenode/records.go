package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/durable"
)

// A record is a job and, once it is over, how it ended. The core forgets a job that is
// over; people ask for it a little longer.
type record struct {
	Submission
	Submitted time.Time `json:"submitted"`
	folder    string
	end       *End
}

// An End is how a job ended.
type End struct {
	At time.Time `json:"at"`
	OK bool      `json:"ok"`
	// Text says how, such as "exit status 1" or "cancelled".
	Text string `json:"text"`
}

// keptEnds is how many jobs that are over are kept, with what they printed.
const keptEnds = 50

// records are the jobs, each of which has a folder:
//
//	train/job.json     what was asked for
//	train/output.log   what it printed, in all its lives
//	train/checkpoint   its checkpoint, if it keeps it there
//	train/1, train/2   its lives (package process)
//	train/end.json     how it ended
//
// Job.json is written before the core is told of the job, and end.json before the core is
// told of its end. So a crash leaves a job that the core does not know and that has no
// end only if it was never accepted.
type records struct {
	folder string
	list   []*record // in the order in which they were submitted
}

// readRecords reads the jobs that are in a folder.
func readRecords(folder string) (*records, error) {
	r := &records{folder: folder}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		one := &record{folder: filepath.Join(folder, entry.Name())}
		switch err := durable.ReadJSON(filepath.Join(one.folder, "job.json"), one); {
		case errors.Is(err, fs.ErrNotExist):
			continue // a crash came before it was written
		case err != nil:
			return nil, err
		}
		var end End
		switch err := durable.ReadJSON(filepath.Join(one.folder, "end.json"), &end); {
		case err == nil:
			one.end = &end
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		r.list = append(r.list, one)
	}
	slices.SortStableFunc(r.list, func(a, b *record) int { return a.Submitted.Compare(b.Submitted) })
	return r, nil
}

// find finds a job by its name; nil: there is none.
func (r *records) find(name string) *record {
	i := slices.IndexFunc(r.list, func(one *record) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return r.list[i]
}

// add makes the folder of a job.
func (r *records) add(s Submission) (*record, error) {
	one := &record{Submission: s, Submitted: time.Now(), folder: filepath.Join(r.folder, s.Name)}
	// What is there is left of a job that was not accepted, or was being removed.
	if err := errors.Join(os.RemoveAll(one.folder), os.Mkdir(one.folder, 0o700)); err != nil {
		return nil, err
	}
	if err := durable.WriteJSON(filepath.Join(one.folder, "job.json"), one); err != nil {
		return nil, err
	}
	r.list = append(r.list, one)
	return one, nil
}

// remove forgets a job, and deletes its folder.
func (r *records) remove(one *record) error {
	r.list = slices.DeleteFunc(r.list, func(other *record) bool { return other == one })
	return os.RemoveAll(one.folder)
}

// finish notes how a job ended, and forgets the oldest of those that are over.
func (r *records) finish(one *record, ok bool, text string) error {
	one.end = &End{At: time.Now(), OK: ok, Text: text}
	if err := durable.WriteJSON(filepath.Join(one.folder, "end.json"), one.end); err != nil {
		return err
	}
	over := slices.DeleteFunc(slices.Clone(r.list), func(other *record) bool { return other.end == nil })
	slices.SortStableFunc(over, func(a, b *record) int { return a.end.At.Compare(b.end.At) })
	for _, old := range over[:max(0, len(over)-keptEnds)] {
		if err := r.remove(old); err != nil {
			return err
		}
	}
	return nil
}

// outputFile is what the job prints to.
func (one *record) outputFile() string { return filepath.Join(one.folder, "output.log") }

// life is the folder of one life of the job.
func (one *record) life(incarnation berth.Incarnation) string {
	return filepath.Join(one.folder, strconv.Itoa(int(incarnation)))
}

// stopMark is the file in the folder of a life that says that its program was asked to end.
func (one *record) stopMark(incarnation berth.Incarnation) string {
	return filepath.Join(one.life(incarnation), "stop")
}

// markStopped marks a life as asked to end, and reports whether it was already. It waits for no
// disk, since no program outlives a crash of the machine; and where the disk is full the program
// is stopped without a mark.
func (one *record) markStopped(incarnation berth.Incarnation) (already bool) {
	f, err := os.OpenFile(one.stopMark(incarnation), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Is(err, fs.ErrExist)
	}
	_ = f.Close() // nothing was written
	return false
}

// unmarkStopped takes the mark back: the program had ended before.
func (one *record) unmarkStopped(incarnation berth.Incarnation) {
	_ = os.Remove(one.stopMark(incarnation)) // if it stays, the job is run again after a crash
}

// lives lists those that were begun.
func (one *record) lives() ([]berth.Incarnation, error) {
	entries, err := os.ReadDir(one.folder)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", one.Name, err)
	}
	var list []berth.Incarnation
	for _, entry := range entries {
		if n, err := strconv.ParseUint(entry.Name(), 10, 32); err == nil && entry.IsDir() {
			list = append(list, berth.Incarnation(n))
		}
	}
	return list, nil
}

// forgetLives removes what is left of former lives. When a life begins, how those before
// it ended is known to the core, and on disk.
func (one *record) forgetLives(before berth.Incarnation) {
	lives, _ := one.lives() // the start of the program meets the same error
	for _, former := range lives {
		if former < before {
			_ = os.RemoveAll(one.life(former)) // the next life tries again
		}
	}
}
