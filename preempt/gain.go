package preempt

// A Beneficiary is the job that would run sooner if its victims stopped.
type Beneficiary struct {
	// Class is the ordinal of its service class, VictimClass that of the highest among its
	// victims.
	Class, VictimClass int
	// Priority is its own, Weight that of its queue among the siblings. Gain counts
	// neither: both have been counted where it was decided that it may take from them, and
	// have no unit. They are for functions that replace Gain.
	Priority int32
	Weight   int64
	// GPUMilli is what it asks for, in thousandths of a GPU.
	GPUMilli int64
	// Waited is how long it has waited, in milliseconds.
	Waited int64
}

// A Scale says what it is worth that somebody runs sooner.
type Scale struct {
	// ClassGain has the worth of each class, by ordinal: how many milliseconds of waiting the
	// class is worth, for each GPU. Classes beyond its end are worth nothing.
	ClassGain []int64
	// TurnGain is what it is worth, in milliseconds for each GPU, that the right one goes first,
	// whichever that is.
	TurnGain int64
	// WaitMilli is what a millisecond of waiting counts, in thousandths of one of lost work.
	WaitMilli int64
}

// Gain is what is won if a beneficiary runs now, in the unit of Candidate.Cost, so that
// the two can be weighed:
//
//	GPUs x (TurnGain + (gain of its class - gain of the highest class of its victims) +
//	    waited x WaitMilli / 1000)
//
// The difference of the classes counts as nothing where the victims are of a higher one. It
// is rounded up to a whole GPU-millisecond, and stays at the largest value where it would
// exceed it.
//
// The part that grows with the wait is the rule of "rent or buy" (Karlin, Manasse, Rudolph
// and Sleator, 1988, "Competitive snoopy caching"): the time until something ends by itself is
// unknown. A job that waits (rents) until the wait has cost as much as the victims would lose,
// and preempts them then (buys), pays at most twice the cost of the best choice in hindsight. That
// is so with a WaitMilli of 1000 and nothing else; what a class and a turn are worth are head
// starts, for jobs that lose more by the wait than the GPUs they do not have.
func (s *Scale) Gain(b *Beneficiary) GPUMilliseconds {
	waited := Candidate{GPUMilli: s.WaitMilli, Queueing: b.Waited} // thousandths are divided as those of a GPU are
	value := Candidate{
		GPUMilli: b.GPUMilli, SinceCheckpoint: s.TurnGain,
		RestartCost: s.class(b.Class) - s.class(b.VictimClass), Queueing: int64(waited.Cost()),
	}
	return value.Cost() // of a span below zero it counts nothing
}

func (s *Scale) class(ordinal int) int64 {
	if ordinal < 0 || ordinal >= len(s.ClassGain) {
		return 0
	}
	return max(0, s.ClassGain[ordinal])
}

// TotalCost is the cost of candidates together.
func TotalCost(candidates []Candidate) GPUMilliseconds {
	sum := GPUMilliseconds(0)
	for i := range candidates {
		sum = sum.plus(candidates[i].Cost())
	}
	return sum
}
