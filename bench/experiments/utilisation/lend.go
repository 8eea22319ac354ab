package utilisation

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// This file is the books of lending, and lending by a rule without a scheduler.
//
// A switch is a whole exchange: during the first half of it a borrower restores, and does no
// work; during the second, which begins when the service wants its GPU back, it writes a
// checkpoint and leaves. The service's work is late by the second half, which so comes off the
// idle time behind it: a loan of some length brings that less a whole switch. Work of a borrower
// that leaves without a checkpoint is lost. There always are jobs that wait for a GPU, and a
// borrower that works keeps all SMs busy.

// A book is what became of the GPU time of a fleet in a day. Worked is that of the service;
// used, lost and switching add up to the time of the loans, or of background jobs on GPUs that
// no pod has. The rest of the time was idle.
type book struct {
	gpus                          int
	worked, used, lost, switching berth.Duration
	allocated                     berth.Duration
	addition
	// loans are those of GPUs that pods hold; givenBack are those that ended as the service
	// wanted its GPU back, inTime of them within the span that it was promised.
	loans, givenBack, inTime int
	// podWait is the longest time that a pod waited for a GPU when it came.
	podWait berth.Duration
}

// lent books a loan that lasted until it was to end; after that its end took a while. Some of
// its work was lost. A loan that hardly began brings less than nothing.
func (b *book) lent(length, restore, back, lost berth.Duration) {
	work := max(0, length-restore)
	b.lost += lost
	b.used += work - lost - back
	b.switching += length - work + back
}

// real is the part of the fleet's GPU time in which SMs worked, and useful that without what was
// lost, in percent.
func (b *book) real(d *day) float64   { return percent(b.worked+b.used+b.lost, d.total(b.gpus)) }
func (b *book) useful(d *day) float64 { return percent(b.worked+b.used, d.total(b.gpus)) }

func percent(part, of berth.Duration) float64 { return 100 * float64(part) / float64(max(of, 1)) }

// A setting is what is played.
type setting struct {
	// change is the time of a switch.
	change berth.Duration
	// roomMiB is the memory that a borrower leaves to a pod: a GPU of a pod that needs more is
	// not lent.
	roomMiB int64
	// borrowerMiB is the memory that a borrower takes: the rest of the GPU.
	borrowerMiB int64
	// sampled: what a pod does is told at the end of each sample. Otherwise a pod tells at once
	// when the first request comes, and when the last one is done.
	sampled bool
	// unasked: borrowers write a checkpoint at such intervals, which costs them nothing, and
	// none when they are asked; they leave at once. Zero: they write one when they are asked.
	unasked berth.Duration
	// checker is told all that passes, in tests.
	checker func(berth.Config) sim.Checker
}

// A rule says how long a pod has to be idle until its GPU is lent, given how long its last idle
// stretches were, the last of them at the end.
type rule func(past []berth.Duration) berth.Duration

// never is longer than any day.
const never = 1000 * berth.Day

// after is the rule of the core.
func after(wait berth.Duration) rule { return func([]berth.Duration) berth.Duration { return wait } }

// remembered is how many idle stretches learned rules look at.
const remembered = 20

// middle lends at once if the middle one of the last idle stretches was several times as long as
// a switch, else after a wait.
func middle(change, wait berth.Duration) rule {
	const times, enough = 4, 3
	return func(past []berth.Duration) berth.Duration {
		past = slices.Sorted(slices.Values(past))
		if len(past) >= enough && past[len(past)/2] >= times*change {
			return 0
		}
		return wait
	}
}

// paid takes the wait that would have brought most over the last idle stretches: of each that
// was longer, what was left after the wait and a switch. Each give-back counts as so much time
// lost, for what the service notices.
func paid(change, harm, wait berth.Duration) rule {
	return func(past []berth.Duration) berth.Duration {
		const enough = 3
		if len(past) < enough {
			return wait
		}
		best, most := wait, -never
		for _, candidate := range append([]berth.Duration{0}, past...) {
			brought := berth.Duration(0)
			for _, length := range past {
				if length > candidate {
					brought += max(0, length-candidate-change) - harm
				}
			}
			if brought > most || brought == most && candidate < best {
				best, most = candidate, brought
			}
		}
		return best
	}
}

// lend plays a rule. A GPU that no pod has is another job's, and each pod that comes costs a
// switch.
func (d *day) lend(s setting, r rule) *book {
	b := d.background(s.change)
	b.delays = map[*pod][]delay{}
	for _, p := range d.pods {
		var past []berth.Duration
		for i, idle := range p.stretches {
			if idle.busy {
				continue
			}
			length := d.length(idle)
			left := length - r(past)
			if s.sampled {
				left -= d.step // told at the end of the first idle sample
			}
			past = append(past, length)
			past = past[max(0, len(past)-remembered):]
			if p.memoryMiB > s.roomMiB || left <= 0 {
				continue
			}
			b.loans++
			restore, back := s.change/2, s.change-s.change/2
			if idle.until == d.samples {
				b.lent(left, restore, 0, 0) // it goes on after the end
				continue
			}
			b.lent(left, restore, back, 0)
			if i+1 < len(p.stretches) {
				b.givenBack++
				b.inTime++
				wanted := d.at(idle.until)
				gone := wanted.Add(back)
				if s.sampled {
					gone = gone.Add(d.step)
				}
				b.delays[p] = append(b.delays[p], delay{wanted, gone})
			}
		}
	}
	return b
}

// background is a fleet on which jobs run on GPUs that no pod has, and leave for pods.
func (d *day) background(change berth.Duration) *book {
	worked, held := d.worked()
	total := d.total(d.gpus)
	b := &book{gpus: d.gpus, worked: worked, allocated: total}
	for _, p := range d.pods {
		if p.from > 0 {
			b.switching += change
		}
	}
	b.switching = min(b.switching, total-held)
	b.used = total - held - b.switching
	return b
}

// bound is the most that any scheduler comes to, even one that knows all idle stretches
// beforehand: those that are longer than a switch are lent, and given back just in time, and so
// is any GPU without a pod.
func (d *day) bound(s setting) *book {
	worked, held := d.worked()
	total := d.total(d.gpus)
	b := &book{gpus: d.gpus, worked: worked, allocated: total, used: total - held}
	for _, p := range d.pods {
		for _, idle := range p.stretches {
			change := s.change
			if idle.until == d.samples {
				change /= 2 // it goes on after the end
			}
			if length := d.length(idle); !idle.busy && length > change && p.memoryMiB <= s.roomMiB {
				b.loans++
				b.lent(length, change, 0, 0)
			}
		}
	}
	return b
}

// A part of the GPU time of a fleet.
type part struct {
	name string
	time berth.Duration
}

// parts is where the GPU time goes if a GPU is lent after a wait. They add up to all of it.
func (d *day) parts(s setting, wait berth.Duration) []part {
	worked, held := d.worked()
	book := d.lend(s, after(wait))
	list := []part{
		{"the service works", worked},
		{"borrowers work", book.used},
		{"switches", book.switching},
		{"the wait before a loan", 0},
		{"idle for no longer than that", 0},
		{"no room for a borrower", 0},
		{"busy samples, SMs idle", held - worked},
	}
	for _, p := range d.pods {
		for _, idle := range p.stretches {
			length := d.length(idle)
			if idle.busy {
				continue
			}
			list[6].time -= length
			switch {
			case p.memoryMiB > s.roomMiB:
				list[5].time += length
			case length <= wait:
				list[4].time += length
			default:
				list[3].time += wait
			}
		}
	}
	return list
}
