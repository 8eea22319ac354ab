package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/journal"
)

// A Log is what the suite tries: one log, empty at first, and the means to open and to harm it.
type Log struct {
	// Open makes a handle, as another process would.
	Open func() (journal.Store, error)
	// Crash has the process of a handle die, or the machine if the power is to fail: no method of
	// the handle is called again. Nil: it is left as it is, and Open fences it.
	Crash func(journal.Store)
	// Fail has one of the next writes of a handle meet a fault; draw is any number, and tells
	// which write, how, and how much of it. It reports false where the store has no such fault,
	// or the means is missing. Nil: it has none.
	Fail func(s journal.Store, fault Fault, draw uint64) bool
	// Mend ends a Fault that lasts, such as a full disk.
	Mend func(journal.Store)
}

// A Fault is what befalls a write.
type Fault int

const (
	// FaultPower: the power fails in the midst of the call, and of what was not synced some is
	// written and some is not, whatever its order.
	FaultPower Fault = iota
	// FaultShort: a write ends before its end.
	FaultShort
	// FaultFull: there is no room, until Mend is called.
	FaultFull
	// FaultAnswer: the call takes effect, and its answer is lost.
	FaultAnswer
)

// String is a word for it.
func (f Fault) String() string { return [...]string{"power", "short", "full", "answer"}[f] }

// Run runs the suite. A Log is made for each of its tests. Each seed draws every fault once, in an
// append or a save by itself and in the loop of an embedder; four of them do for a look, and some
// forty reach what is rare.
func Run(t *testing.T, seeds iter.Seq[uint64], make func(t *testing.T) Log) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, l Log)
	}{
		{"Empty", testEmpty},
		{"WhatIsAppendedIsRead", testRead},
		{"LargeRecordsAndManyOfThem", testLarge},
		{"ABatchBehindAnotherHeadIsFenced", testFenced},
		{"SnapshotsReplaceRecords", testSnapshots},
		{"ASnapshotOfAnEarlierPosition", testEarlier},
		{"ASnapshotOfNoPosition", testNoPosition},
		{"OneWriter", testOneWriter},
		{"ACrashLosesNothing", testCrash},
		{"ADurableIsDriven", testDurable},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, make(t)) })
	}
	for fault := FaultPower; fault <= FaultAnswer; fault++ {
		t.Run("Fault/"+fault.String(), func(t *testing.T) {
			for draw := range seeds {
				testFault(t, make(t), fault, draw)
				testDurableFault(t, make(t), fault, draw)
			}
		})
	}
}

// A session is a log with a handle, and what has to be in it.
type session struct {
	*testing.T
	Log
	store   journal.Store
	head    journal.Position
	newest  journal.Snapshot
	records []string // all there ever were
}

func begin(t *testing.T, l Log) *session {
	t.Helper()
	s := &session{T: t, Log: l, records: []string{}}
	s.reopen()
	return s
}

// beginSaved is begin with the snapshot that begins the log.
func beginSaved(t *testing.T, l Log) *session {
	t.Helper()
	s := begin(t, l)
	s.save(journal.Snapshot{At: journal.Position{Sum: 7}, Data: []byte("the beginning")})
	return s
}

func (s *session) reopen() {
	s.Helper()
	var err error
	s.store, err = s.Open()
	require.NoError(s, err)
	s.Cleanup(func() { _ = s.store.Close() }) // of a handle that is of no use
}

func (s *session) crash() {
	s.Helper()
	if s.Crash != nil {
		s.Crash(s.store)
	}
	s.reopen()
}

// batch has these records behind the head. The sums are any.
func (s *session) batch(records ...string) journal.Batch {
	b := journal.Batch{After: s.head, Head: s.head}
	for _, text := range records {
		b.Records = append(b.Records, []byte(text))
		b.Head.Number++
		b.Head.Sum = journal.Sum(crc64.Update(uint64(b.Head.Sum), crc64.MakeTable(crc64.ECMA), []byte(text)))
	}
	return b
}

func (s *session) append(records ...string) {
	s.Helper()
	b := s.batch(records...)
	require.NoError(s, s.store.Append(s.Context(), b))
	s.appended(b)
}

func (s *session) appended(b journal.Batch) {
	s.head = b.Head
	for _, record := range b.Records {
		s.records = append(s.records, string(record))
	}
}

func (s *session) save(n journal.Snapshot) {
	s.Helper()
	require.NoError(s, s.store.Save(s.Context(), n))
	s.saved(n)
}

func (s *session) saved(n journal.Snapshot) {
	if s.newest.Data == nil {
		s.head = n.At
	}
	s.newest = n
}

// check reads the whole.
func (s *session) check() {
	s.Helper()
	head, err := s.store.Head(s.Context())
	require.NoError(s, err)
	require.Equal(s, s.head, head)
	newest, err := s.store.Newest(s.Context())
	require.NoError(s, err)
	require.Equal(s, s.newest.At, newest.At)
	require.True(s, bytes.Equal(s.newest.Data, newest.Data), "the snapshot is not as it was saved")
	require.Equal(s, s.records[s.newest.At.Number:], s.read(s.newest.At.Number))
}

func (s *session) read(after uint64) []string {
	s.Helper()
	list := []string{}
	for record, err := range s.store.Records(s.Context(), after) {
		require.NoError(s, err)
		list = append(list, string(record))
	}
	return list
}

func testEmpty(t *testing.T, l Log) {
	s := begin(t, l)
	for range 2 {
		head, err := s.store.Head(t.Context())
		require.NoError(t, err)
		require.Zero(t, head)
		newest, err := s.store.Newest(t.Context())
		require.NoError(t, err)
		require.Empty(t, newest.Data)
		require.Empty(t, s.read(0))
		require.ErrorIs(t, s.store.Append(t.Context(), journal.Batch{
			After: journal.Position{Number: 1}, Head: journal.Position{Number: 2}, Records: [][]byte{[]byte("x")},
		}), journal.ErrFenced)
		s.crash()
	}
}

func testRead(t *testing.T, l Log) {
	s := beginSaved(t, l)
	s.check()
	s.append("one")
	s.append("two", "three", "")
	s.check()
	require.Equal(t, []string{"three", ""}, s.read(2))
	require.Empty(t, s.read(4))
	require.Empty(t, s.read(1<<63), "nothing is behind the end")
	for range s.store.Records(t.Context(), 0) {
		break // a reader may leave
	}
	b := s.batch("four")
	text := b.Records[0]
	require.NoError(t, s.store.Append(t.Context(), b))
	copy(text, "xxxx") // it is the caller's again
	s.appended(s.batch("four"))
	require.NoError(t, s.store.Close())
	s.reopen()
	s.check()
	s.append("five")
	s.check()
}

func testLarge(t *testing.T, l Log) {
	s := beginSaved(t, l)
	s.append(string(bytes.Repeat([]byte("large "), 1<<19)))
	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf("record %d", i))
	}
	s.append(many...)
	s.check()
	s.save(journal.Snapshot{At: s.head, Data: bytes.Repeat([]byte("state\n\x00"), 1<<20)})
	s.crash()
	s.check()
}

func testFenced(t *testing.T, l Log) {
	s := beginSaved(t, l)
	s.append("one", "two")
	for name, b := range map[string]journal.Batch{
		"behind an earlier record":                 {After: journal.Position{Number: 1}, Head: journal.Position{Number: 2}},
		"behind a record that is not there":        {After: journal.Position{Number: 3}, Head: journal.Position{Number: 4}},
		"behind a record of another log":           {After: journal.Position{Number: 2, Sum: s.head.Sum + 1}, Head: journal.Position{Number: 3}},
		"with a head that its records do not make": {After: s.head, Head: journal.Position{Number: 9}},
	} {
		b.Records = [][]byte{[]byte("foreign")}
		err := s.store.Append(t.Context(), b)
		require.ErrorIs(t, err, journal.ErrFenced, name)
		require.NotErrorIs(t, err, journal.ErrUncertain, name)
		s.crash()
		s.check()
	}
	s.append("three")
	s.check()
}

func testSnapshots(t *testing.T, l Log) {
	s := beginSaved(t, l)
	for i := range 5 {
		s.append("one", "two")
		s.check()
		s.save(journal.Snapshot{At: s.head, Data: fmt.Appendf(nil, "state %d", i)})
		s.check()
		s.crash()
		s.check()
	}
	s.append("after")
	for record, err := range s.store.Records(t.Context(), 3) { // compacted, or kept all the same
		if err != nil {
			require.ErrorIs(t, err, journal.ErrCompacted)
			break
		}
		require.Equal(t, s.records[3], string(record))
		break
	}
}

func testEarlier(t *testing.T, l Log) {
	s := beginSaved(t, l)
	s.append("one")
	at := s.head
	s.append("two", "three")
	s.save(journal.Snapshot{At: at, Data: []byte("behind one")})
	s.check()
	s.append("four")
	s.crash()
	s.check()
}

func testNoPosition(t *testing.T, l Log) {
	s := beginSaved(t, l)
	s.append("one")
	s.save(journal.Snapshot{At: s.head, Data: []byte("behind one")})
	s.append("two")
	for name, at := range map[string]journal.Position{
		"before the newest": {Number: 0, Sum: 7}, "behind the head": {Number: 3},
		"of another log, at the head":   {Number: s.head.Number, Sum: s.head.Sum + 1},
		"of another log, at the newest": {Number: s.newest.At.Number, Sum: s.newest.At.Sum + 1},
	} {
		require.Error(t, s.store.Save(t.Context(), journal.Snapshot{At: at, Data: []byte("wrong")}), name)
		s.crash()
		s.check()
	}
}

// testOneWriter opens the log twice: the second one is refused, or fences the first.
func testOneWriter(t *testing.T, l Log) {
	s := beginSaved(t, l)
	s.append("one")
	first := s.store
	second, err := s.Open()
	if err != nil {
		require.ErrorIs(t, err, journal.ErrFenced)
		s.append("the first owns it still")
		require.NoError(t, first.Close())
		s.reopen()
	} else {
		s.store = second
		require.ErrorIs(t, first.Append(t.Context(), s.batch("late")), journal.ErrFenced)
		require.ErrorIs(t, first.Save(t.Context(), journal.Snapshot{At: s.head, Data: []byte("late")}), journal.ErrFenced)
		require.NoError(t, first.Close())
	}
	s.check()
	s.append("two")
	s.check()
}

func testCrash(t *testing.T, l Log) {
	s := beginSaved(t, l)
	for i := range 20 {
		s.append(fmt.Sprintf("record %d", i))
		s.crash()
		s.check()
	}
}

// testFault has an append, or a save, meet a fault: all of it is there afterwards, or nothing, and
// what was there before in any case.
func testFault(t *testing.T, l Log, fault Fault, draw uint64) {
	t.Helper()
	s := beginSaved(t, l)
	for i := range int(draw % 3) {
		s.append(fmt.Sprintf("record %d", i))
	}
	if s.Fail == nil || !s.Fail(s.store, fault, draw) {
		t.Skipf("the store cannot be made to meet %v", fault)
	}
	b := s.batch(string(bytes.Repeat([]byte{'a'}, 3000)), string(bytes.Repeat([]byte{'b'}, 1+int(draw*37))))
	n := journal.Snapshot{At: s.head, Data: bytes.Repeat([]byte{'s'}, 2000+int(draw*61))}
	do := func(ctx context.Context) error {
		if draw%4 == 3 {
			return s.store.Save(ctx, n)
		}
		return s.store.Append(ctx, b)
	}
	done := func() {
		if draw%4 == 3 {
			s.saved(n)
			return
		}
		s.appended(b)
	}
	switch err := do(t.Context()); {
	case err == nil:
		done()
	case errors.Is(err, journal.ErrFull):
		require.NotErrorIs(t, err, journal.ErrUncertain)
		s.check()
		if s.Mend != nil {
			s.Mend(s.store)
		}
		require.NoError(t, do(t.Context()), "the same again, now that there is room")
		done()
	default:
		require.NotErrorIs(t, err, journal.ErrFenced)
		s.crash()
		if s.found(draw%4 == 3, b, n) {
			done()
		}
	}
	s.check()
	if s.Mend != nil {
		s.Mend(s.store)
	}
	s.crash()
	s.check()
	s.append("it goes on")
	s.check()
}

// found looks whether what is uncertain is there.
func (s *session) found(save bool, b journal.Batch, n journal.Snapshot) bool {
	s.Helper()
	if save {
		newest, err := s.store.Newest(s.Context())
		require.NoError(s, err)
		return bytes.Equal(newest.Data, n.Data)
	}
	head, err := s.store.Head(s.Context())
	require.NoError(s, err)
	return head == b.Head
}
