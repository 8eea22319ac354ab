package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/nvmlsrc"
)

// protocol is how a program and livenode talk.
const protocol = `What the program finds in its environment:

  CUDA_VISIBLE_DEVICES       the GPUs, or the MIG device, that it has
  CUDA_MPS_...               its share, if it has one
  BERTH_MEMORY_MIB           the memory of each GPU that it said it uses, if it lends or borrows
  BERTH_JOB                  its name, and
  BERTH_INCARNATION          the number of this start of the job, from 1
  BERTH_CHECKPOINT           where it may keep its checkpoint, the same in all its lives:
                             if there is something it resumes from that
  BERTH_CHECKPOINT_SIGNAL    the signal that asks it for a checkpoint
  BERTH_CHECKPOINT_DONE      the file that it creates when a checkpoint is written, asked
                             for or not
  BERTH_ACTIVITY             of a job that lends: the file in which it may say how busy it is,
                             from 0 to 1000

A checkpoint should be written beside the former one and renamed, since the program can be
stopped at any time. The signal goes to the program alone, not to what it has started, and
can come twice. A program may also answer by ending with status 75: it is run again then.
When it has to go it gets SIGTERM, and SIGKILL after -stop-timeout, with what it started.

A job with -lend has a job with -borrow run on its GPU while it is idle: while less than 5 %
of the time has a kernel of its own running, for as long as livenode serve -quiet-for says. It
is measured every second. A server that knows better says so: what it writes to BERTH_ACTIVITY
counts within some 20 ms, and until the file is gone. When it is busy again the borrower is
asked for a checkpoint, has half of the time of -lend for it, and the other half to end; then
it waits for the next GPU that is idle.

Nothing pauses the borrower meanwhile: both run, in turns of the driver's time slices, so that
the first requests take longer until it is gone. A GPU that is lent has to be in compute mode
"default", as it is without MPS, and each program has to keep to its memory itself
(torch.cuda.set_per_process_memory_fraction), as each would run out of what the other takes.
A fatal error of one does not touch the other.

The driver tells the work of one process from that of another since Maxwell, on GPUs that are
not in MIG mode. Where it does not, the work of the borrower is taken for that of the lender,
and ends the loan: there the lender has to write BERTH_ACTIVITY. A loan also ends when the
driver measures nothing any more.
`

const (
	envJob              = "BERTH_JOB"
	envIncarnation      = "BERTH_INCARNATION"
	envCheckpoint       = "BERTH_CHECKPOINT"
	envCheckpointSignal = "BERTH_CHECKPOINT_SIGNAL"
	envCheckpointDone   = "BERTH_CHECKPOINT_DONE"
	envActivity         = "BERTH_ACTIVITY"
	envMemory           = "BERTH_MEMORY_MIB"
)

// exitAgain is the exit status of a program that wants to be run again, from its
// checkpoint: EX_TEMPFAIL of sysexits(3).
const exitAgain = 75

// environment is that of a life of a job: what its owner had, but for what we say.
func environment(one *record, incarnation berth.Incarnation) []string {
	env := append(
		withoutOurs(one.Env),
		envJob+"="+one.Name,
		envIncarnation+"="+strconv.Itoa(int(incarnation)),
		envCheckpoint+"="+filepath.Join(one.folder, "checkpoint"),
		envCheckpointDone+"="+checkpointDone(one, incarnation),
	)
	if one.CheckpointSignal != "" {
		env = append(env, envCheckpointSignal+"="+one.CheckpointSignal)
	}
	switch {
	case one.Lend != nil:
		env = append(env, envActivity+"="+activityFile(one, incarnation), envMemory+"="+strconv.FormatInt(one.Lend.MemoryMiB, 10))
	case one.Borrow != nil:
		env = append(env, envMemory+"="+strconv.FormatInt(one.Borrow.MemoryMiB, 10))
	}
	return env
}

func activityFile(one *record, incarnation berth.Incarnation) string {
	return filepath.Join(one.life(incarnation), "activity")
}

func checkpointDone(one *record, incarnation berth.Incarnation) string {
	return filepath.Join(one.life(incarnation), "checkpoint.done")
}

// withoutOurs leaves out what says which GPUs to use, and what livenode says itself: the
// owner may have got it from another scheduler, or from a job that submitted this one.
func withoutOurs(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "BERTH_") || strings.HasPrefix(name, "CUDA_MPS_") ||
			slices.Contains([]string{"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES"}, name)
	})
}

// visible says to CUDA what a member holds. GPUs go by UUID: indexes depend on the order
// that CUDA counts in, and MIG devices have none.
func visible(devices []string) []string {
	return []string{
		"CUDA_DEVICE_ORDER=PCI_BUS_ID", // as nvidia-smi and livenode count, for programs that ask by index
		"CUDA_VISIBLE_DEVICES=" + strings.Join(devices, ","),
	}
}

// devices are the UUIDs of what a member holds. The error is that of a placement that the
// machine does not have.
func devices(m *berth.MemberPlacement, inventory *nvmlsrc.Inventory) ([]string, error) {
	var uuids []string
	for _, i := range m.GPUs.Indexes() {
		if i >= len(inventory.GPUs) {
			return nil, fmt.Errorf("there is no GPU %d", i)
		}
		uuid, err := deviceOf(m, &inventory.GPUs[i])
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}

// deviceOf is the UUID of a GPU, or of the MIG device on the instance that a member holds.
func deviceOf(m *berth.MemberPlacement, g *nvmlsrc.GPU) (string, error) {
	instance, ok := g.Instance(m.Instance)
	switch {
	case m.Instance == (mig.Placement{}) && g.MIG.Enabled:
		return "", errors.New("it is in MIG mode, and can be had in instances alone")
	case m.Instance == (mig.Placement{}):
		return g.UUID, nil
	case !ok:
		return "", fmt.Errorf("there is no instance %v", m.Instance)
	case len(instance.UUIDs) != 1:
		return "", fmt.Errorf("instance %v has %d MIG devices, and not one", m.Instance, len(instance.UUIDs))
	}
	return instance.UUIDs[0], nil
}
