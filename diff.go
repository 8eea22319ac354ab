package berth

import (
	"encoding/json"
	"fmt"
)

// A World is what an orchestrator sees when it looks at its fleet: the nodes
// that answer and the members that run.
type World struct {
	// Nodes as [NodeJoined] would tell of them. The ID is enough for a node that the core
	// knows: nothing else is compared, as [NodeUpdated] tells of a node that has changed.
	Nodes []Node `json:"nodes"`
	// Running has the members, in any order.
	Running []ObservedMember `json:"running"`
}

// An ObservedMember is one member and where it is: seen running, or known to a core.
type ObservedMember struct {
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	MemberPlacement
}

// String is the replica, its incarnation and the member, as in "train/0 incarnation 2: workers[0]
// on n1, GPUs 0-7".
func (m ObservedMember) String() string {
	return fmt.Sprintf("%v incarnation %d: %v", ReplicaRef{m.Job, m.Replica}, m.Incarnation, m.MemberPlacement)
}

// A Difference is one thing that the core and the world disagree about.
type Difference struct {
	// Kind says what differs, and which event settles it.
	Kind DifferenceKind `json:"kind"`
	// Node, or the member concerned.
	Node    NodeID     `json:"node,omitempty"`
	Job     JobID      `json:"job,omitempty"`
	Replica int        `json:"replica,omitempty"`
	Member  *MemberRef `json:"member,omitempty"`
	// Text is the difference in a sentence.
	Text string `json:"text"`
	// Event settles the difference, if the world is right and nothing else is known: told to
	// the core, it makes it see what is there. Nil where the difference is settled in the
	// world, by stopping a member. Events are told in the order of the list. One that settles
	// several differences stands with each, and is refused with [ErrStale] after the first. See
	// DifferenceKind for each kind.
	Event Event `json:"-"`
}

// A settled is a Difference in JSON, with the event as EncodeEvent has it.
type settled struct {
	difference
	Event json.RawMessage `json:"event,omitempty"`
}

// difference is Difference without its methods.
type difference Difference

// MarshalJSON writes the event as [EncodeEvent] does, with the key "event".
func (d Difference) MarshalJSON() ([]byte, error) {
	s := settled{difference: difference(d)}
	if d.Event != nil {
		var err error
		if s.Event, err = EncodeEvent(d.Event); err != nil {
			return nil, err
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Difference) UnmarshalJSON(b []byte) error {
	s, err := decodeChecked("difference", forms.difference, b, nil)
	if err != nil {
		return err
	}
	*d = Difference(s.difference)
	if s.Event != nil {
		d.Event, err = DecodeEvent(s.Event)
	}
	return err
}

// A DifferenceKind is a stable word for a kind of difference. The set is open: a later release
// may add words, so decoding takes any.
type DifferenceKind string

const (
	// DifferenceNodeMissing: the core has a node that the world has not. Its event is a
	// [NodeLost], which settles what ran there as well.
	DifferenceNodeMissing DifferenceKind = "node-missing"
	// DifferenceNodeUnknown: the world has a node that the core has not. Its event is a
	// [NodeJoined] with the description that the world gave.
	DifferenceNodeUnknown DifferenceKind = "node-unknown"
	// DifferenceMemberMissing: a member should run and does not. Its event is a
	// [MemberFailed] with all members that the replica misses; [JobFinished] is for the
	// embedder to tell in its place, if the job ended well.
	DifferenceMemberMissing DifferenceKind = "member-missing"
	// DifferenceMemberUnknown: a member runs that should not. It has no event: stop the
	// member or, if the core does not know the job, tell [JobObserved].
	DifferenceMemberUnknown DifferenceKind = "member-unknown"
	// DifferenceMemberMisplaced: a member runs elsewhere, or in another life, than it should.
	// Stop it there. Its event is a [MemberFailed], so that the core places it anew; none if
	// the member is being stopped anyway.
	DifferenceMemberMisplaced DifferenceKind = "member-misplaced"
)
