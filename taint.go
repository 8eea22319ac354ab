package berth

import "github.com/berth-sched/berth/internal/enum"

// A Taint of a node repels the members that do not tolerate it, so that the nodes of a special
// pool stay with the jobs that name it. Names and rules are those of Kubernetes: a node takes a
// member if the Selector of the member tolerates each of its taints. Members that run stay when a
// node is tainted.
//
// The core counts nodes by kind, and nodes with other taints are of another kind: a few taints for
// many nodes cost nothing, a taint of its own for each node makes a fleet of many kinds.
//
// PreferNoSchedule and NoExecute are missing. A preference would be a second rule beside the one
// that decides among places, and a node that members have to leave is drained: [NodeDraining].
type Taint struct {
	Key string `json:"key"`
	// Value may be empty.
	Value string `json:"value,omitempty"`
	// Effect is TaintNoSchedule.
	Effect TaintEffect `json:"effect"`
}

// A TaintEffect is what a taint does to members that do not tolerate it.
type TaintEffect uint8

const (
	// TaintAnyEffect, the zero value, is for a [Toleration]: a taint has a certain effect.
	TaintAnyEffect TaintEffect = iota
	// TaintNoSchedule: no such member is placed on the node.
	TaintNoSchedule
)

const taintEffectNames enum.Names = "TaintEffect: any|NoSchedule"

// String is the word for it, as in JSON.
func (e TaintEffect) String() string { return enum.Text(taintEffectNames, e) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (e TaintEffect) MarshalText() ([]byte, error) {
	return enum.Marshal(taintEffectNames, e, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (e *TaintEffect) UnmarshalText(b []byte) error {
	return enum.Unmarshal(taintEffectNames, e, b, invalidText)
}

// String is the form of kubectl, as in "dedicated=ml:NoSchedule" or "dedicated:NoSchedule".
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}

// A Toleration lets members go to nodes with the taints that it matches. It attracts them to
// none: that is for the rest of their Selector.
type Toleration struct {
	// Key of the taint. Empty, with TolerationExists: every key and value.
	Key string `json:"key,omitempty"`
	// Operator says whether the value matters; zero: TolerationEqual.
	Operator TolerationOperator `json:"operator,omitzero"`
	// Value of the taint, with TolerationEqual; it has none with TolerationExists.
	Value string `json:"value,omitempty"`
	// Effect of the taint; zero: any.
	Effect TaintEffect `json:"effect,omitzero"`
}

// A TolerationOperator says how a Toleration compares values.
type TolerationOperator uint8

const (
	// TolerationEqual: a taint of that key and that value.
	TolerationEqual TolerationOperator = iota
	// TolerationExists: a taint of that key, whatever its value.
	TolerationExists
)

const tolerationOperatorNames enum.Names = "TolerationOperator: Equal|Exists"

// String is the word for it, as in JSON.
func (o TolerationOperator) String() string { return enum.Text(tolerationOperatorNames, o) }

// MarshalText implements [encoding.TextMarshaler]. A value that is out of range is refused.
func (o TolerationOperator) MarshalText() ([]byte, error) {
	return enum.Marshal(tolerationOperatorNames, o, invalidText)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown word is refused with an
// *[Error].
func (o *TolerationOperator) UnmarshalText(b []byte) error {
	return enum.Unmarshal(tolerationOperatorNames, o, b, invalidText)
}

// Tolerates reports whether the toleration matches a taint. A core asks the same, so that an
// orchestrator can list the nodes that are open to a job before it submits one.
func (t *Toleration) Tolerates(taint *Taint) bool {
	return (t.Effect == TaintAnyEffect || t.Effect == taint.Effect) &&
		(t.Key == taint.Key || t.Key == "" && t.Operator == TolerationExists) &&
		(t.Operator == TolerationExists || t.Value == taint.Value)
}
