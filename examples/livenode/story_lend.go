package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-sched/berth"
)

// The story of a loan: a service that is quiet; a training that runs on its GPU meanwhile; requests
// that come while it does; and the training goes on from where it was.
const (
	web   = "web"   // latency-critical: it lends, and nothing happens to it
	night = "night" // batch: it borrows
)

// webWithin is how soon the service wants its GPU back.
const webWithin = 5 * berth.Second

// requests is the file without which the service has nothing to do.
func (s *stage) requests() string { return filepath.Join(s.folder, "requests") }

// requestsCome has the service be busy, or quiet.
func (s *stage) requestsCome(they bool) error {
	if they {
		return os.WriteFile(s.requests(), nil, 0o600)
	}
	if err := os.Remove(s.requests()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *stage) quietService(ctx context.Context, _, _ int) error {
	s.act("1. A service has a GPU, and a training wants one that is idle")
	if err := s.requestsCome(true); err != nil {
		return err
	}
	service := s.job(web, 1, berth.ClassLatencyCritical)
	service.Command = append(service.Command, "-serves", s.requests())
	service.Lend = &berth.Lend{Within: webWithin, MemoryMiB: 8 << 10}
	training := s.job(night, 0, berth.ClassBatch)
	training.Borrow = &berth.Borrow{MemoryMiB: 24 << 10}
	s.say("livenode run -name %s -class latency-critical -lend %v -memory 8GiB -- ...", web, webWithin)
	if _, err := s.submit(ctx, service); err != nil {
		return err
	}
	s.say("livenode run -name %s -borrow -memory 24GiB -checkpoint-signal USR1 -- ...", night)
	if _, err := s.submit(ctx, training); err != nil {
		return err
	}
	s.await(ctx, func(st *Status) bool { return holds(st, web, 1) && s.step(web) >= 5 }, "%s serves requests on a GPU of its own", web)
	s.await(ctx, func(st *Status) bool { return state(st, night) == berth.ReplicaPending.String() },
		"%s waits, though GPUs are free: it asked for one that somebody leaves idle", night)
	s.explain(ctx, night)
	s.show(ctx)
	return nil
}

func (s *stage) lent(ctx context.Context, _, _ int) error {
	s.act("2. No requests come")
	if err := s.requestsCome(false); err != nil {
		return err
	}
	s.await(ctx, func(st *Status) bool { return over(st) && s.step(night) >= 5 },
		"after 2 s the GPU of %s is lent: %s runs on it, beside the service, and counts steps", web, night)
	s.check(s.device(night) != "" && s.device(night) == s.device(web), "both have the same GPU in CUDA_VISIBLE_DEVICES: %s", s.device(night))
	s.show(ctx)
	return nil
}

func (s *stage) givesBackInTime(ctx context.Context, _, _ int) error {
	s.act("3. Requests come")
	before, err := s.status(ctx)
	if err != nil {
		return err
	}
	if err := s.requestsCome(true); err != nil {
		return err
	}
	s.await(ctx, func(st *Status) bool { return state(st, night) == stateCheckpointing },
		"%s serves at once, and %s is asked for a checkpoint by SIGUSR1", web, night)
	if !s.await(ctx, func(st *Status) bool { return holds(st, web, 1) && find(st, web).Switched != 0 }, "%s has its GPU to itself again", web) {
		return nil
	}
	after, err := s.status(ctx)
	if err != nil {
		return err
	}
	s.check(inOrder(&after, "web is busy again", "ask night for a checkpoint", "night has written its checkpoint", "stop night", "night is stopped", "web has its GPUs to itself again"),
		"in this order: it was busy, the checkpoint was requested, it was written, %s was stopped, and was gone", night)
	took := find(&after, web).Switched
	s.check(took < webWithin, "that took %v, from when it was found busy; it had asked for %v", took, webWithin)
	b, a := find(&before, web), find(&after, web)
	s.check(a.PID == b.PID && a.Incarnation == b.Incarnation && s.step(web) > 0, "%s is still process %d, and was asked for nothing", web, a.PID)
	s.check(state(&after, night) == berth.ReplicaPending.String(), "%s waits for the next GPU that is idle", night)
	s.show(ctx)
	return nil
}

func (s *stage) lentAgain(ctx context.Context, _, _ int) error {
	s.act("4. No requests come")
	if err := s.requestsCome(false); err != nil {
		return err
	}
	s.await(ctx, func(st *Status) bool { return over(st) && find(st, night).Incarnation == 2 && s.resumedAt(night) >= 0 },
		"%s runs over %s again, as incarnation 2", night, web)
	written := s.lastCheckpoint(night)
	s.check(s.resumedAt(night) == written, "it continues from the step of its checkpoint, %d: nothing is lost, nothing is done twice", written)
	s.show(ctx)
	return nil
}

// over reports whether the training runs on the GPU of the service.
func over(st *Status) bool {
	for i := range st.GPUs {
		if h := st.GPUs[i].Holders; len(h) == 2 && h[0].Job == web && h[1].Job == night && h[1].Borrowed {
			return state(st, night) == berth.ReplicaRunning.String()
		}
	}
	return false
}
