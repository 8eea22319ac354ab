package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
)

// A story is a list of scenes, with flags for livenode serve.
type story struct {
	scenes []scene
	serve  []string
}

// A scene is told how many GPUs a job is to have that is large, and one that is small.
type scene func(s *stage, ctx context.Context, large, small int) error

// storyOf finds a story by its name.
func storyOf(name string) (story, error) {
	switch name {
	case "preempt":
		return story{scenes: []scene{(*stage).fullMachine, (*stage).preemption, (*stage).crash, (*stage).resumption}}, nil
	case "lend":
		return story{
			scenes: []scene{(*stage).quietService, (*stage).lent, (*stage).givesBackInTime, (*stage).lentAgain},
			serve:  []string{"-quiet-for", "2s"},
		}, nil
	}
	return story{}, flagline.Misused("-story: there is no story %q; there are preempt and lend", name)
}

// play plays a story.
func (s *stage) play(ctx context.Context, of story) error {
	s.say("livenode demo: real processes, real signals; every line is checked")
	s.serve = of.serve
	if err := s.open(ctx); err != nil {
		return err
	}
	status, err := s.status(ctx)
	if err != nil {
		return err
	}
	n := usable(&status)
	if n == 0 {
		return errors.New("the demo needs GPUs that are idle and not partitioned")
	}
	small := max(1, n/4)
	if n-small <= small {
		small = n // else it would not be clear which end does the least harm
	}
	for _, scene := range of.scenes {
		if err := scene(s, ctx, n-small, small); err != nil {
			return err
		}
		if len(s.wrong) > 0 || ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintln(s.out)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(s.wrong) > 0 {
		said, _ := os.ReadFile(s.said())
		return fmt.Errorf("%w: %s\nthe orchestrator has said:\n%s", errDiffers, strings.Join(s.wrong, "; "), said)
	}
	s.say("%s", s.painter.paint(green, fmt.Sprintf("all %d checks passed", s.right)))
	return nil
}

// The story of a preemption: a full machine; a job for which seconds matter; an orchestrator that
// dies; and every job gets to its end.

// The jobs of that story.
const (
	train = "train" // batch, most of the machine; nothing happens to it
	tune  = "tune"  // batch, the rest; it is evicted, and comes back
	chat  = "chat"  // latency-critical
)

// job is one of the story's jobs, which counts steps of a tenth of a second.
func (s *stage) job(name string, gpus int, class berth.Class) Submission {
	return Submission{
		Name: name, Queue: DefaultQueue, GPUs: gpus, Class: class,
		Path: s.self, Dir: s.folder, Env: os.Environ(),
		Command: []string{
			"livenode", "workload", "-each", "100ms", "-steps", "100000", "-write", "700ms",
			"-until", s.curtain(name),
		},
		CheckpointSignal: "USR1", Grace: 10 * berth.Second, StopTimeout: 5 * berth.Second,
	}
}

// curtain is the file whose appearance ends a job well.
func (s *stage) curtain(name string) string { return filepath.Join(s.folder, name+".end") }

func (s *stage) fullMachine(ctx context.Context, large, small int) error {
	s.act("1. A full machine")
	for _, job := range []Submission{s.job(train, large, berth.ClassBatch), s.job(tune, small, berth.ClassBatch)} {
		if job.GPUs == 0 {
			continue // a machine with one GPU
		}
		s.say("livenode run -name %s -gpus %d -checkpoint-signal USR1 -- ...", job.Name, job.GPUs)
		if _, err := s.submit(ctx, job); err != nil {
			return err
		}
	}
	s.await(ctx, func(st *Status) bool {
		return holds(st, train, large) && holds(st, tune, small) && s.step(tune) >= 5
	}, "batch jobs hold all %d GPUs that are free, and count steps", large+small)
	s.show(ctx)
	return nil
}

func (s *stage) preemption(ctx context.Context, large, small int) error {
	s.act("2. A latency-critical job arrives")
	before, err := s.status(ctx)
	if err != nil {
		return err
	}
	s.say("livenode run -name %s -gpus %d -class latency-critical -- ...", chat, small)
	if _, err := s.submit(ctx, s.job(chat, small, berth.ClassLatencyCritical)); err != nil {
		return err
	}
	s.await(ctx, func(st *Status) bool { return state(st, tune) == stateCheckpointing },
		"nothing is free: %s, the cheapest victim, is asked for a checkpoint by SIGUSR1", tune)
	s.explain(ctx, chat)
	s.show(ctx)
	s.await(ctx, func(st *Status) bool { return state(st, chat) == berth.ReplicaRunning.String() }, "%s runs", chat)
	after, err := s.status(ctx)
	if err != nil {
		return err
	}
	if text, err := os.ReadFile(filepath.Join(s.folder, "jobs", tune, "checkpoint")); err == nil {
		s.check(true, "%s has written its checkpoint, at step %s", tune, strings.TrimSpace(string(text)))
	} else {
		s.check(false, "%s has written its checkpoint: %v", tune, err)
	}
	s.check(inOrder(&after, "ask tune for a checkpoint", "tune has written its checkpoint", "stop tune", "tune is stopped", "start chat"),
		"in this order: the checkpoint was requested, it was written, the victim was stopped, it was gone, and %s was started", chat)
	s.check(state(&after, tune) == berth.ReplicaPending.String(), "%s waits for its turn", tune)
	if large > 0 {
		s.check(find(&before, train).PID == find(&after, train).PID, "%s was left alone: it is still process %d", train, find(&after, train).PID)
	}
	s.show(ctx)
	return nil
}

func (s *stage) crash(ctx context.Context, large, _ int) error {
	s.act("3. The orchestrator dies")
	before, err := s.status(ctx)
	if err != nil {
		return err
	}
	s.say("kill -9 %d", s.server.Process.Pid)
	if err := s.killServer(ctx); err != nil {
		return err
	}
	witness := chat
	if large > 0 {
		witness = train
	}
	from := s.step(witness)
	for end := time.Now().Add(stagePatience); s.step(witness) < from+5 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	s.check(s.step(witness) >= from+5, "no orchestrator runs, and %s continues: step %d, %d, ...", witness, from, s.step(witness))
	s.say("livenode serve")
	if err := s.open(ctx); err != nil {
		return err
	}
	after, err := s.status(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{train, chat} {
		b, a := find(&before, name), find(&after, name)
		if b.PID != 0 {
			s.check(a.PID == b.PID && a.Incarnation == b.Incarnation && a.State == b.State,
				"%s is found again: process %d, incarnation %d", name, a.PID, a.Incarnation)
		}
	}
	s.check(state(&after, tune) == berth.ReplicaPending.String(), "%s still waits", tune)
	s.show(ctx)
	return nil
}

func (s *stage) resumption(ctx context.Context, _, small int) error {
	s.act("4. Back to work")
	s.say("%s has done what it came for, and ends", chat)
	if err := os.WriteFile(s.curtain(chat), nil, 0o600); err != nil {
		return err
	}
	s.await(ctx, func(st *Status) bool { return find(st, chat).Why == "exit status 0" }, "%s ended well", chat)
	s.await(ctx, func(st *Status) bool {
		return holds(st, tune, small) && find(st, tune).Incarnation == 2 && s.resumedAt(tune) >= 0
	}, "%s runs again, as incarnation 2", tune)
	written := s.lastCheckpoint(tune)
	s.check(s.resumedAt(tune) == written, "it continues from the step of its checkpoint, %d: nothing is lost, nothing is done twice", written)
	s.show(ctx)
	return nil
}

// usable counts the GPUs that a job can have whole.
func usable(st *Status) int {
	n := 0
	for i := range st.GPUs {
		if g := &st.GPUs[i]; g.Failure == "" && g.Mode == berth.GPUModeWhole && len(g.Holders) == 0 {
			n++
		}
	}
	return n
}

// find finds a job; one that is not there is empty.
func find(st *Status, name string) JobStatus {
	i := slices.IndexFunc(st.Jobs, func(j JobStatus) bool { return j.Name == name })
	if i < 0 {
		return JobStatus{}
	}
	return st.Jobs[i]
}

func state(st *Status, name string) string { return find(st, name).State }

// holds reports whether a job runs on so many GPUs, none of which is another's too.
func holds(st *Status, name string, gpus int) bool {
	held := 0
	for i := range st.GPUs {
		if h := st.GPUs[i].Holders; len(h) == 1 && h[0].Job == name {
			held++
		}
	}
	return held == gpus && (gpus == 0 || state(st, name) == berth.ReplicaRunning.String())
}

// inOrder reports whether what was decided has entries that begin so, in this order.
func inOrder(st *Status, beginnings ...string) bool {
	for _, d := range st.Decisions {
		if len(beginnings) > 0 && strings.HasPrefix(d.Text, beginnings[0]) {
			beginnings = beginnings[1:]
		}
	}
	return len(beginnings) == 0
}

// step is how far a job has counted.
func (s *stage) step(name string) int { return s.lastNumber(name, `(?m)^step (\d+)$`) }

// lastCheckpoint is the step of the last checkpoint that a job has written.
func (s *stage) lastCheckpoint(name string) int {
	return s.lastNumber(name, `(?m)^checkpoint at step (\d+)$`)
}

// resumedAt is the step at which a job began its second life; -1: it has not.
func (s *stage) resumedAt(name string) int {
	return s.lastNumber(name, `(?m)^incarnation 2 begins at step (\d+) `)
}

// device is the GPU that a job sees in its latest life.
func (s *stage) device(name string) string {
	return s.last(name, `(?m)^incarnation \d+ begins at step \d+ on (.*)$`)
}

// lastNumber is the last number that a job has printed in such a line; -1: none.
func (s *stage) lastNumber(name, line string) int {
	n, err := strconv.Atoi(s.last(name, line))
	if err != nil {
		return -1
	}
	return n
}

// last is what a job has printed in the last of such lines; empty: none.
func (s *stage) last(name, line string) string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "jobs", name, "output.log"))
	all := regexp.MustCompile(line).FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return string(all[len(all)-1][1])
}
