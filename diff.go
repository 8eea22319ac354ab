package berth

// A World is what an orchestrator sees when it looks at its fleet: the nodes
// that answer and the members that run.
type World struct {
	Nodes []NodeID `json:"nodes"`
	// Running has the members, in any order.
	Running []ObservedMember `json:"running"`
}

// An ObservedMember is one member seen running.
type ObservedMember struct {
	Job         JobID       `json:"job"`
	Replica     int         `json:"replica,omitempty"`
	Incarnation Incarnation `json:"incarnation"`
	MemberPlacement
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
}

// A DifferenceKind is a stable word for a kind of difference.
type DifferenceKind string

const (
	// DifferenceNodeMissing: the core has a node that the world has not. Tell NodeLost.
	DifferenceNodeMissing DifferenceKind = "node-missing"
	// DifferenceNodeUnknown: the world has a node that the core has not. Tell NodeJoined.
	DifferenceNodeUnknown DifferenceKind = "node-unknown"
	// DifferenceMemberMissing: a member should run and does not. Tell MemberFailed.
	DifferenceMemberMissing DifferenceKind = "member-missing"
	// DifferenceMemberUnknown: a member runs that should not. Stop it, or tell JobObserved.
	DifferenceMemberUnknown DifferenceKind = "member-unknown"
	// DifferenceMemberMisplaced: a member runs elsewhere, or in another life, than it should.
	DifferenceMemberMisplaced DifferenceKind = "member-misplaced"
)
