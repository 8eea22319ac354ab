package goodput

import "github.com/berth-sched/berth"

// How the gang trains. Checkpoints are copied out of the GPUs' memory, which holds the
// steps up for a moment, and are safe when they have been written in the background: 4 GB
// of each of 16,384 GPUs take half a minute at the 2 TB/s that the Llama 3 paper tells of
// its storage. The interval is near the best by Young's rule, the root of twice the pause
// times the time between failures ("A first order approximation to the optimum checkpoint
// interval", CACM 1974): 110 s. Larger systems copy at every step (Wan et al., "Robust LLM
// Training Infrastructure at ByteDance", SOSP 2025, report 97 % on 9,600 GPUs), or keep
// copies in the memory of other hosts.
//
// Starting is assumed: processes, communicators and the last checkpoint take a minute, and the
// first steps another half. MegaScale (Jiang et al., NSDI 2024) tells of communicators in under
// half a minute on more than 10,000 GPUs, FlashRecovery (2025) of 150 s for all of a
// recovery on 4,800.
const (
	checkpointEvery = 2 * berth.Minute
	checkpointPause = 500 * berth.Millisecond
	checkpointSafe  = 30 * berth.Second
	// checkpointAsked is how long one takes that is asked for: the gang stands still until it
	// is safe.
	checkpointAsked = checkpointSafe + checkpointPause
	gangStops       = 10 * berth.Second
	gangStarts      = berth.Minute
	gangWarms       = 30 * berth.Second
)

// A phase is what the gang does. Whatever it is, the time is booked.
type phase uint8

const (
	waits    phase = iota // for a place
	restarts              // is being stopped, or started
	warms
	trains
	saves // writes a checkpoint that was asked for
	hangs // a node has failed, or a process, and nobody knows
)

// A training is the true course of the gang, and the book of its time: what of it was
// useful, and what was lost to what. All of it adds up to the time since the beginning.
type training struct {
	phase phase
	// since is when the phase began or, while it trains, the last start.
	since berth.Time

	useful, detection, rework, waiting, restart, writing berth.Duration

	// asked is the stretch that ended when a checkpoint was asked for, which is not safe yet.
	asked stretch
}

// A stretch is a time of training without interruption: how much of it were steps, how much
// of these was safe at its end, and how long checkpoints held it up.
type stretch struct{ steps, safe, paused berth.Duration }

// stretchOf divides a time of training.
func stretchOf(span berth.Duration) stretch {
	const cycle = checkpointEvery + checkpointPause
	whole, rest := span/cycle, span%cycle
	s := stretch{steps: whole*checkpointEvery + min(rest, checkpointEvery)}
	s.paused = span - s.steps
	if span >= checkpointSafe {
		s.safe = (span - checkpointSafe) / cycle * checkpointEvery
	}
	return s
}

// enter begins a phase, and books the one before it.
func (t *training) enter(now berth.Time, phase phase) {
	span := now.Sub(t.since)
	switch t.phase {
	case waits:
		t.waiting += span
	case restarts, warms:
		t.restart += span
	case hangs:
		t.detection += span
	case trains:
		s := stretchOf(span)
		if phase == saves {
			t.asked = s
		} else {
			t.interrupted(s)
		}
	case saves:
		t.writing += span
		if phase == trains { // it is safe
			t.asked.safe = t.asked.steps
		}
		t.interrupted(t.asked)
		t.asked = stretch{}
	}
	t.phase, t.since = phase, now
}

// interrupted books a stretch after which training goes on from what was safe.
func (t *training) interrupted(s stretch) {
	t.writing += s.paused
	t.useful += s.safe
	t.rework += s.steps - s.safe
}

// end books what is left at the end. Training that goes on has lost nothing.
func (t *training) end(now berth.Time) {
	switch t.phase {
	case trains:
		s := stretchOf(now.Sub(t.since))
		s.safe = s.steps
		t.interrupted(s)
	case saves:
		t.enter(now, trains)
	default:
		t.enter(now, t.phase)
	}
	t.since = now
}

// active reports whether the gang believes that it trains, or is about to.
func (t *training) active() bool { return t.phase == trains || t.phase == saves || t.phase == warms }

// booked is all time in the book.
func (t *training) booked() berth.Duration {
	return t.useful + t.detection + t.rework + t.waiting + t.restart + t.writing
}
