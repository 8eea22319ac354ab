package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
)

// A Submission is a job as somebody asked for it: what it needs, and the command that is
// run. It goes over the socket, and lies in the folder of the job from then on.
type Submission struct {
	// Name of the job; empty: one is made from the command.
	Name  string      `json:"name,omitempty"`
	Queue string      `json:"queue"`
	Class berth.Class `json:"class"`
	// Priority within queue and class, higher first.
	Priority int32 `json:"priority,omitempty"`
	// GPUs, or MIG, a profile such as "1g.10gb", or SharePercent of one GPU by MPS.
	GPUs         int    `json:"gpus,omitempty"`
	MIG          string `json:"mig,omitempty"`
	SharePercent int    `json:"sharePercent,omitempty"`
	// Lend says that its GPUs may be lent while it leaves them idle; Borrow asks for a GPU that
	// another job lends, instead of one of its own.
	Lend   *berth.Lend   `json:"lend,omitempty"`
	Borrow *berth.Borrow `json:"borrow,omitempty"`
	// ExpectedRuntime, zero: unknown; MinRuntime before it may be evicted.
	ExpectedRuntime berth.Duration `json:"expectedRuntime,omitempty"`
	MinRuntime      berth.Duration `json:"minRuntime,omitempty"`

	// Command to run: the path of the program, and its arguments with its name. Dir and
	// Env are those of the submitter.
	Path    string   `json:"path"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Env     []string `json:"env"`

	// CheckpointSignal asks the program for a checkpoint, such as "SIGUSR1"; empty: it
	// writes none when asked. Grace is how long it may take.
	CheckpointSignal string         `json:"checkpointSignal,omitempty"`
	Grace            berth.Duration `json:"grace,omitempty"`
	// StopTimeout is the time from SIGTERM to SIGKILL.
	StopTimeout berth.Duration `json:"stopTimeout"`
}

// jobName is what names of jobs look like: they are names of folders too.
var jobName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// check refuses what the core would not see is wrong, and spells the signal out. The core
// checks the rest.
func (s *Submission) check() error {
	asked := 0
	for _, is := range []bool{s.GPUs != 0, s.MIG != "", s.SharePercent != 0, s.Borrow != nil} {
		if is {
			asked++
		}
	}
	switch {
	case s.Name != "" && !jobName.MatchString(s.Name):
		return fmt.Errorf("%q is no name for a job: up to 63 letters, digits, dots, dashes and underscores, a letter or digit first", s.Name)
	case len(s.Command) == 0 || s.Path == "":
		return errors.New("a job needs a command")
	case asked != 1:
		return errors.New("a job asks for one of GPUs, a MIG instance, a share, and a GPU that is lent")
	case s.SharePercent < 0 || s.SharePercent > 99:
		return fmt.Errorf("a share is 1 to 99 percent of a GPU, not %d", s.SharePercent)
	case s.Grace < 0 || s.StopTimeout < 0 || s.StopTimeout > maxStopTimeout:
		return fmt.Errorf("the grace may not be negative, and the time to stop is 0 to %v", maxStopTimeout)
	}
	if s.CheckpointSignal == "" {
		return nil
	}
	signal, err := process.ParseSignal(s.CheckpointSignal)
	if err == nil && signal == process.Kill {
		err = errors.New("SIGKILL cannot ask for a checkpoint: no program can have a handler for it")
	}
	s.CheckpointSignal = signal.String()
	return err
}

// nameFrom makes names of the command: train, train-2, train-3. The first that is not taken
// is the job's.
func (s *Submission) nameFrom(taken func(string) bool) string {
	base := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(filepath.Base(s.Command[0]), "")
	base = base[:min(len(base), 40)]
	if base == "" {
		base = "job"
	}
	name := base
	for i := 2; taken(name); i++ {
		name = base + "-" + strconv.Itoa(i)
	}
	return name
}

// job says a submission in the words of the core.
func (s *Submission) job() berth.Job {
	claim := berth.Claim{GPUs: s.GPUs, MIG: s.MIG, Borrow: s.Borrow}
	if s.SharePercent != 0 {
		claim.Share = &berth.Share{Mode: berth.ShareMPS, GPUMilli: 10 * s.SharePercent}
	}
	return berth.Job{
		ID: berth.JobID(s.Name), Queue: berth.QueueID(s.Queue), Class: s.Class, Priority: s.Priority,
		// Everything on this machine is its owner's: one tenant.
		Tenant:          localTenant,
		Groups:          []berth.Group{{Members: 1, Claim: claim}},
		Lend:            s.Lend,
		ExpectedRuntime: s.ExpectedRuntime, MinRuntime: s.MinRuntime,
		Checkpoint: berth.Checkpoint{Supported: s.CheckpointSignal != ""},
	}
}

const (
	localTenant = "local"
	// maxStopTimeout ends well before an attempt of a Release does.
	maxStopTimeout = releaseTimeout / 2
)

// wants says in a few words what a job asks for.
func (s *Submission) wants() string {
	switch {
	case s.MIG != "":
		return s.MIG
	case s.SharePercent != 0:
		return fmt.Sprintf("%d%% GPU", s.SharePercent)
	case s.Borrow != nil:
		return "on loan"
	case s.GPUs == 1:
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", s.GPUs)
}
