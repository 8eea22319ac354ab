package record

import (
	"cmp"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
)

// A SlotsKey names slots: those of an array in its queue, those of the jobs of a queue and all
// below it, or those of one user there.
type SlotsKey struct {
	Queue berth.QueueID
	Kind  SlotsKind
	Name  string // of the array or the user
}

// A SlotsKind says which jobs share slots.
type SlotsKind uint8

// The kinds, in the order in which a report lists them.
const (
	SlotsOfArray SlotsKind = iota
	SlotsOfQueue
	SlotsOfUser
)

// Compare orders slots by queue, kind and name.
func (k SlotsKey) Compare(l SlotsKey) int {
	return cmp.Or(cmp.Compare(k.Queue, l.Queue), cmp.Compare(k.Kind, l.Kind), cmp.Compare(k.Name, l.Name))
}

// Slots are shared by jobs: so many of them are past their gates at a time, or claim so many GPUs
// together. A job has its slots from when its gate opens until it is forgotten.
type Slots struct {
	Key SlotsKey
	// MaxJobs and MaxMilli, in thousandths of a GPU, are how much may be open; 0: any.
	MaxJobs  int
	MaxMilli int64
	// Jobs counts those that are known, Open those past their gates, OpenMilli what these claim.
	Jobs, Open int
	OpenMilli  int64
	// Lanes of jobs that wait for these slots, or for others beside them.
	Lanes *btree.BTreeG[*Lane]
	// Ready counts the jobs in them.
	Ready int
}

// NewSlots has no jobs yet.
func NewSlots(key SlotsKey) *Slots { return &Slots{Key: key, Lanes: btree.NewG(16, (*Lane).less)} }

// HasRoom reports whether one job more may be open that claims so many GPUs.
func (s *Slots) HasRoom(milli int64) bool { return s.HasRoomForJob() && s.HasRoomForGPUs(milli) }

// HasRoomForJob reports whether one job more may be open, whatever it claims.
func (s *Slots) HasRoomForJob() bool { return s.MaxJobs == 0 || s.Open < s.MaxJobs }

// HasRoomForGPUs reports whether so many GPUs more may be claimed.
func (s *Slots) HasRoomForGPUs(milli int64) bool {
	return s.MaxMilli == 0 || milli == 0 || milli <= s.MaxMilli-s.OpenMilli
}

// A LaneKey is what two jobs have in common that wait for the same: the slots that they need, and
// how much of them.
type LaneKey struct {
	Queue       berth.QueueID
	Array, User string
	Milli       int64
}

// A Lane is the jobs at gates that wait for the same slots, and for as much of them: where the
// first has to wait, all have to. So what comes free is offered to the first of each lane alone,
// however many wait.
type Lane struct {
	Key   LaneKey
	Slots []*Slots
	// Ready are the jobs, in the order in which they get their slots.
	Ready *btree.BTreeG[*Job]
	// First of them.
	First *Job
}

// NewLane is a lane without jobs.
func NewLane(key LaneKey, slots []*Slots) *Lane {
	return &Lane{Key: key, Slots: slots, Ready: btree.NewG(16, ComesBefore)}
}

func (l *Lane) less(other *Lane) bool { return ComesBefore(l.First, other.First) }

// HasRoom reports whether the first job of a lane gets all slots that it needs.
func (l *Lane) HasRoom() bool { return l.Lacks() == nil }

// Lacks are the first slots without room for the first job of a lane; nil: there are none.
func (l *Lane) Lacks() *Slots {
	for _, s := range l.Slots {
		if !s.HasRoom(l.Key.Milli) {
			return s
		}
	}
	return nil
}

// ComesBefore reports whether of two jobs that are ready the first is offered slots before the
// other: by rank, turn and ID.
func ComesBefore(a, b *Job) bool {
	x, y := a.Replicas.At(0), b.Replicas.At(0)
	return cmp.Or(CompareRank(y, x), cmp.Compare(x.Turn(), y.Turn()), cmp.Compare(a.Spec.ID, b.Spec.ID)) < 0
}

// LaneKey is that of a job.
func (j *Job) LaneKey() LaneKey {
	gates := j.Spec.Gating()
	key := LaneKey{Queue: j.Spec.Queue, User: gates.User, Milli: j.claimedMilli()}
	if gates.Array != nil {
		key.Array = gates.Array.Name
	}
	return key
}

// claimedMilli is what a job claims of GPUs with all of its members, in thousandths: as the
// alternative that claims the most, whichever it is.
func (j *Job) claimedMilli() (most int64) {
	for option := range j.Pattern.Many() {
		most = max(most, claimedMilli(j.Pattern.Option(option).Groups))
	}
	return most
}

// claimedMilli is what groups claim: an instance counts as a whole GPU, and what they borrow does
// not count.
func claimedMilli(groups []berth.Group) (milli int64) {
	for i := range groups {
		g := &groups[i]
		each := 1000 * int64(g.Claim.GPUs)
		switch {
		case g.Claim.Share != nil:
			each = int64(g.Claim.Share.GPUMilli)
		case g.Claim.WantsInstance():
			each = 1000
		}
		milli += int64(g.Members) * each
	}
	return milli
}
