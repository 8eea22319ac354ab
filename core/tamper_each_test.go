package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/limits"
)

// mostTamperings is how many tamperings of one snapshot a seed tries.
const mostTamperings = 150

// Promise R1, where byte-wise fuzzing does not reach: a snapshot of which one value was changed, or
// one element of a list, is refused with a typed error that names a field that is there, or makes
// a core that holds together, answers, goes on to the end of time and is saved. A seed draws a
// script, how much of it is played, and tamperings of the snapshot of then: scripts together bring
// all into a snapshot that there is.
func TestR1_EveryTampering(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("../berthtest/script/testdata/*.txt")
	require.NoError(t, err)
	for seed := range drawn.Seeds(6) {
		random := rand.New(rand.NewPCG(seed, 0))
		path := scripts[random.IntN(len(scripts))]
		original, line := snapshotWithin(t, path, random)
		require.Empty(t, unsound(original), "seed %d: %s, after line %d", seed, path, line)
		list := tamperings(original)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, tampered := range list[:min(len(list), mostTamperings)] {
			if why := unsound(tampered.of(original)); why != "" {
				t.Errorf("seed %d: %s, after line %d: %s: %s", seed, path, line, tampered.describe(original), why)
			}
		}
	}
}

// snapshotWithin plays a script up to a line that is drawn, and returns the snapshot of then.
func snapshotWithin(t *testing.T, path string, random *rand.Rand) (snapshot []byte, line int) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	line = 1 + random.IntN(len(lines))
	s := script.NewUnwatched()
	for _, command := range lines[:line] {
		if command == "" || command[0] == '#' || command[0] == ' ' {
			continue
		}
		_, err := s.Do(command)
		require.NoError(t, err, command)
	}
	snapshot, err = s.Core().Snapshot()
	require.NoError(t, err)
	return snapshot, line
}

// unsound says why a snapshot is neither refused as it is to be nor makes a core that can be used;
// empty: it is, or does.
func unsound(snapshot []byte) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprintf("panics: %v\n%s", r, debug.Stack())
		}
	}()
	sched, err := core.Restore(snapshot)
	if err != nil {
		var e *berth.Error
		if !errors.As(err, &e) || e.Event != "snapshot" || e.Reason == "" || e.Kind == nil || !leads(reflect.TypeFor[record.Snapshot](), e) {
			return "is refused with " + err.Error()
		}
		return ""
	}
	again, err := sched.Snapshot()
	if err != nil {
		return "is accepted, and not saved: " + err.Error()
	}
	for _, use := range []func(*core.Core) error{answers, passes, endOfTime, failures} {
		sched, err := core.Restore(again)
		if err == nil {
			err = use(sched)
		}
		if err != nil {
			return "is accepted, and then: " + err.Error()
		}
	}
	return ""
}

// roundTrip makes sure that a core holds together, and that what it saves makes the same core.
func roundTrip(sched *core.Core) error {
	if err := sched.Check(); err != nil {
		return err
	}
	first, err := sched.Snapshot()
	if err != nil {
		return err
	}
	back, err := core.Restore(first)
	if err != nil {
		return err
	}
	if err := back.Check(); err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	second, err := back.Snapshot()
	if err == nil && !bytes.Equal(first, second) {
		err = fmt.Errorf("restored, it is another: %s\n%s", first, second)
	}
	return err
}

// answers asks a core all that there is to ask.
func answers(sched *core.Core) error {
	if err := roundTrip(sched); err != nil {
		return err
	}
	before, _ := sched.Snapshot()
	for _, v := range []any{sched.Report(), sched.Lost(), sched.Outstanding(), sched.Diff(berth.World{})} {
		if _, err := json.Marshal(v); err != nil {
			return err
		}
	}
	sched.Ledger()
	sched.NextWake()
	for j := range sched.Jobs() {
		e, err := sched.Explain(j.Job.ID)
		if err != nil {
			return err
		}
		_ = fmt.Sprint(e)
		for replica := range 2 {
			sched.StartPlan(sched.Now(), j.Job.ID, replica)
		}
	}
	for n := range sched.Nodes() {
		for g := range n.Node.GPUs {
			if _, err := sched.BlastRadius(n.Node.ID, g); err != nil {
				return err
			}
		}
	}
	for range sched.Queues() {
		continue
	}
	for range sched.Running() {
		continue
	}
	if _, err := sched.WhatIf(sched.Now()); err != nil && !errors.Is(err, berth.ErrLimit) {
		return err
	}
	if after, err := sched.Snapshot(); err != nil || !bytes.Equal(before, after) {
		return fmt.Errorf("a question changed it: %v\n%s\n%s", err, before, after)
	}
	return nil
}

// passes lets a core work off what it holds.
func passes(sched *core.Core) error {
	for range 6 {
		now := sched.Now()
		if next, ok := sched.NextWake(); ok {
			now = next
		}
		if err := carryOut(sched, now, berth.OutcomeDone); err != nil {
			return err
		}
	}
	return roundTrip(sched)
}

// carryOut runs a pass, and reports each of its orders, and of those that were out.
func carryOut(sched *core.Core, now berth.Time, outcome berth.Outcome) error {
	if _, err := sched.Schedule(now); err != nil {
		if errors.Is(err, berth.ErrLimit) {
			return nil // the last order was given
		}
		return err
	}
	if err := sched.Check(); err != nil {
		return fmt.Errorf("after a pass at %d: %w", now, err)
	}
	for _, order := range sched.Outstanding() {
		id := order.Header().ID
		err := sched.Apply(now, berth.OrderReported{Order: id, Outcome: outcome})
		if _, divides := order.(berth.Repartition); divides && errors.Is(err, berth.ErrConflict) {
			err = nil // a member runs on what is said to have failed
		}
		if err != nil && !errors.Is(err, berth.ErrStale) {
			return fmt.Errorf("report of order %d: %w", id, err)
		}
		if err := sched.Check(); err != nil {
			return fmt.Errorf("after the report of order %d at %d: %w", id, now, err)
		}
	}
	return nil
}

// endOfTime runs passes further and further in the future, up to the last instant.
func endOfTime(sched *core.Core) error {
	const last = limits.MaxInstant
	now := sched.Now()
	for _, at := range []berth.Time{now, now + berth.Time(berth.Hour), now + berth.Time(365*berth.Day), last - 1, last, last} {
		if err := carryOut(sched, min(max(at, now), last), berth.OutcomeDone); err != nil {
			return err
		}
		sched.Report()
		for _, id := range sched.JobIDs() {
			if _, err := sched.Explain(id); err != nil {
				return err
			}
		}
	}
	return roundTrip(sched)
}

// failures has all go wrong that can.
func failures(sched *core.Core) error {
	now := sched.Now()
	if err := carryOut(sched, now, berth.OutcomeFailed); err != nil {
		return err
	}
	var events []berth.Event
	for j := range sched.Jobs() {
		events = append(events, berth.JobCancelled{Job: j.Job.ID})
	}
	i := 0
	for n := range sched.Nodes() {
		if i++; i%2 == 0 {
			events = append(events, berth.NodeLost{Node: n.Node.ID})
		} else if len(n.Node.GPUs) > 0 {
			events = append(events, berth.GPUFailed{Node: n.Node.ID}, berth.NodeDraining{Node: n.Node.ID, Deadline: now.Add(berth.Minute)})
		}
	}
	// Half of the jobs are cancelled after nodes are lost.
	slices.SortStableFunc(events, func(a, b berth.Event) int { return strings.Compare(a.Kind()[1:], b.Kind()[1:]) })
	for _, e := range events {
		var refused *berth.Error
		if err := sched.Apply(now, e); err != nil && !errors.As(err, &refused) {
			return err
		}
		if err := sched.Check(); err != nil {
			return fmt.Errorf("after %s: %w", e.Kind(), err)
		}
	}
	for range 3 {
		if err := carryOut(sched, min(sched.Now().Add(berth.Hour), limits.MaxInstant), berth.OutcomeDone); err != nil {
			return err
		}
	}
	return roundTrip(sched)
}
