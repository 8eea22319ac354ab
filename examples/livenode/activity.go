package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
	"github.com/berth-sched/berth/nvmlsrc"
)

// How busy jobs are: by the word of those that lend, if they say it, or else as measured.

// worthTelling is the least change of a job's activity that the core is told, unless it makes the
// job quiet or busy: each is a line in the journal.
const worthTelling = 50

// unmeasuredMost is how many readings in a row may say nothing of a job that lends before it counts
// as busy: it gets its GPUs back rather than not. One alone says nothing now and then.
const unmeasuredMost = 3

// tellActivity tells the core how busy the GPUs of each job are, on average.
func (o *orchestrator) tellActivity() {
	for _, l := range o.running() {
		milli, known := o.activity(l)
		switch {
		case known:
			l.unmeasured = 0
			o.tellBusy(l, milli)
		case len(o.borrowers(l)) > 0:
			if l.unmeasured++; l.unmeasured == unmeasuredMost {
				o.note("%s is measured no more, and counts as busy", l)
				o.tellBusy(l, 1000)
			}
		}
	}
}

// tellBusy tells the core how busy a job is, if it has to know. To the core a job of which nothing
// was told is not quiet.
func (o *orchestrator) tellBusy(l *life, milli int) {
	quietMilli := o.core.Config().Policy.Lending.QuietMilli
	quiet, wasQuiet := milli <= quietMilli, l.told && l.active <= quietMilli
	if l.bind != 0 || quiet == wasQuiet && max(milli-l.active, l.active-milli) < worthTelling {
		return
	}
	if wasQuiet && !quiet {
		o.wantsBack(l)
	}
	l.active, l.told = milli, true
	o.must(berth.ActivityReported{Job: l.id(), Incarnation: l.incarnation, ActiveMilli: milli})
}

// activity is how busy a job is, if that is known.
func (o *orchestrator) activity(l *life) (milli int, known bool) {
	if l.says != nil {
		return *l.says, true
	}
	sum, n := 0, 0
	for i := range o.health {
		h := &o.health[i]
		if h.Processes != nil && slices.Contains(l.devices, h.UUID) && (l.job.Lend != nil || l.job.Borrow != nil) { // others may be on it too
			sum, n = sum+o.activityOn(l, h.Processes), n+1
			continue
		}
		for _, a := range h.Activity {
			if slices.Contains(l.devices, a.UUID) {
				sum, n = sum+a.Milli, n+1
			}
		}
	}
	return sum / max(n, 1), n > 0
}

// activityOn is how busy the processes of a job keep a GPU.
func (o *orchestrator) activityOn(l *life, processes []nvmlsrc.ProcessActivity) int {
	sum := 0
	for _, p := range processes {
		if group, err := o.groupOf(p.PID); err == nil && group == l.process.PID() {
			sum += p.Milli
		}
	}
	return min(sum, 1000)
}

// groupOf is the process group of a process, by which a job is known. On a pretend box each job is
// one process.
func (o *orchestrator) groupOf(pid int) (int, error) {
	if o.machine.pretend != nil {
		return pid, nil
	}
	return process.Group(pid)
}

// readActivity reads what a job says of its activity; nil: nothing. What is no number from 0 to
// 1000 is not yet written, or wrong, and changes nothing.
func (l *life) readActivity(was *int) *int {
	text, err := os.ReadFile(activityFile(l.job, l.incarnation))
	if err != nil {
		return nil
	}
	milli, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || milli < 0 || milli > 1000 {
		return was
	}
	return &milli
}

// said takes the word of a job for how busy it is; nil: it is measured from now on.
func (o *orchestrator) said(l *life, milli *int) {
	if o.lives[l.id()] != l {
		return
	}
	l.says = milli
	o.mimic(l)
	if milli != nil {
		o.tellBusy(l, *milli)
	}
}
