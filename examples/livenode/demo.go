package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-sched/berth/examples/livenode/internal/process"
	"github.com/berth-sched/berth/nvmlsrc"
)

// demo is the command that plays the story, with an orchestrator and programs that are
// real processes.
func demo(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	box := flags.String("fake", "", "simulate a `machine` instead of reading this one: "+strings.Join(nvmlsrc.FakeMachines(), ", "))
	plays := flags.String("story", "preempt", "the `story`: preempt, in which a batch job gives way to an urgent one, or lend, in which it runs on the GPU of a service while that is idle")
	pause := flags.Duration("pause", time.Second, "`time` to look at each picture")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	of, err := storyOf(*plays)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "livenode-demo-")
	if err != nil {
		return err
	}
	s := &stage{
		client: newClient(folder), self: self, box: *box, pause: *pause,
		out: stdout, painter: newPainter(terminalWidth, isTerminal(stdout)), began: time.Now(),
	}
	err = s.play(ctx, of)
	s.clear()
	return errors.Join(err, os.RemoveAll(folder))
}

// A stage is where the story is played: an orchestrator, and a narrator that tells the
// audience what happens and looks whether it does.
type stage struct {
	*client
	self, box string
	serve     []string // flags of the orchestrator, beside those that it has anyway
	pause     time.Duration
	out       io.Writer
	painter   *painter
	began     time.Time
	server    *exec.Cmd
	// right counts what was as told, and wrong lists what was not.
	right int
	wrong []string
}

// errDiffers: something was not as told.
var errDiffers = errors.New("a check failed")

// stagePatience is for how long what has to come is waited for.
const stagePatience = time.Minute

// open starts an orchestrator, as it is started by hand.
func (s *stage) open(ctx context.Context) error {
	args := append([]string{"serve", "-state", s.folder}, s.serve...)
	if s.box != "" {
		args = append(args, "-fake", s.box)
	}
	said, err := os.OpenFile(s.said(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	s.server = exec.Command(s.self, args...)
	s.server.Stdout, s.server.Stderr = said, said
	if err := s.server.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func(c *exec.Cmd) {
		_ = c.Wait()
		close(gone)
	}(s.server)
	for {
		_, err := s.status(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-gone:
			text, _ := os.ReadFile(s.said())
			return fmt.Errorf("the orchestrator has ended:\n%s", text)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// said is the file with what the orchestrator has said.
func (s *stage) said() string { return filepath.Join(s.folder, "serve.log") }

// killServer ends the orchestrator as a crash does.
func (s *stage) killServer(ctx context.Context) error {
	if err := s.server.Process.Kill(); err != nil {
		return err
	}
	for { // until its socket is nobody's
		if _, err := s.status(ctx); errors.Is(err, errNotServing) || ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
}

// clear ends everything that plays.
func (s *stage) clear() {
	if s.server != nil {
		_ = s.server.Process.Kill() // it may have ended
	}
	killPrograms(s.folder)
}

// killPrograms kills the programs of a state folder whose orchestrator has ended, and waits
// until nobody writes there any more.
func killPrograms(folder string) {
	r, err := readRecords(filepath.Join(folder, "jobs"))
	if err != nil {
		return // it was never begun
	}
	for _, one := range r.list {
		lives, _ := one.lives() // a job without a folder has none
		for _, l := range lives {
			if p, err := process.Open(one.life(l)); err == nil {
				_ = p.SignalGroup(process.Kill) // it may have ended
				_, _ = p.Wait(context.Background())
			}
		}
	}
}

// say tells the audience something.
func (s *stage) say(format string, of ...any) {
	at := fmt.Sprintf("%5.1f s  ", time.Since(s.began).Seconds())
	fmt.Fprintln(s.out, s.painter.paint(dim, at)+fmt.Sprintf(format, of...))
}

// act begins a part of the story.
func (s *stage) act(title string) {
	fmt.Fprintln(s.out)
	s.say("%s", s.painter.paint(white, title))
}

// check looks whether something is as told.
func (s *stage) check(so bool, what string, of ...any) {
	text := fmt.Sprintf(what, of...)
	if so {
		s.right++
		s.say("%s %s", s.painter.paint(green, "✓"), text)
		return
	}
	s.wrong = append(s.wrong, text)
	s.say("%s %s", s.painter.paint(red, "✗"), text)
}

// await is check for what takes a while to come; it returns whether it came.
func (s *stage) await(ctx context.Context, so func(*Status) bool, what string, of ...any) bool {
	deadline := time.Now().Add(stagePatience)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		if status, err := s.status(ctx); err == nil && so(&status) {
			s.check(true, what, of...)
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.check(false, what, of...)
	return false
}

// explain prints where a job stands.
func (s *stage) explain(ctx context.Context, job string) {
	if text, err := s.why(ctx, job); err == nil {
		fmt.Fprintln(s.out)
		s.say("livenode why %s", job)
		fmt.Fprintln(s.out, s.painter.paint(dim, strings.TrimRight(text, "\n")))
	}
}

// show draws the machine as it is.
func (s *stage) show(ctx context.Context) {
	status, err := s.status(ctx)
	if err != nil {
		s.check(false, "the orchestrator answers: %v", err)
		return
	}
	fmt.Fprintln(s.out)
	for _, line := range append(s.painter.gpus(&status), s.painter.jobs(&status)...) {
		fmt.Fprintln(s.out, line)
	}
	fmt.Fprintln(s.out)
	select {
	case <-ctx.Done():
	case <-time.After(s.pause):
	}
}
