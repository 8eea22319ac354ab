package berth

import "github.com/berth-sched/berth/quota"

// What a core knows of a job, a node and a queue, for an embedder that keeps no second record of
// them. All of it is a copy, and the caller's to keep.

// A JobStatus is what the core knows of a job.
type JobStatus struct {
	// Job is the description that was submitted; Service.Replicas as it was scaled last.
	Job Job `json:"job"`
	// Cancelled: the job was cancelled or has finished, and its members are on their way out.
	Cancelled bool `json:"cancelled,omitempty"`
	// Replicas in the order of their numbers; with those that are being scaled away.
	Replicas []ReplicaStatus `json:"replicas"`
}

// A ReplicaStatus is what the core knows of one gang of a job. Its members are in the order of
// groups and indexes.
type ReplicaStatus struct {
	Replica int          `json:"replica"`
	State   ReplicaState `json:"state"`
	// Incarnation is the current life, or the last one of a replica that is pending.
	Incarnation Incarnation `json:"incarnation"`
	// Since is when the replica became pending, or came to run; for what is neither, when it
	// last became pending.
	Since Time `json:"since"`
	// Order that is out; zero: none is.
	Order OrderID `json:"order,omitempty"`
	// Starting members have a place, and are not known to run. Stopping ones hold their places
	// until they are reported gone.
	Starting []MemberPlacement `json:"starting,omitempty"`
	Running  []MemberPlacement `json:"running,omitempty"`
	Stopping []MemberPlacement `json:"stopping,omitempty"`
}

// A NodeStatus is what the core knows of a node.
type NodeStatus struct {
	// Node is the description that was told last, but for what the core knows better: the
	// modes, the instances and the failures of GPUs.
	Node Node `json:"node"`
	// Cordoned, for this Reason: the node takes no new members.
	Cordoned bool   `json:"cordoned,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Draining: what runs there has to leave, by DrainBy; zero: there is no deadline.
	Draining bool `json:"draining,omitempty"`
	DrainBy  Time `json:"drainBy,omitempty"`
	// QuarantineUntil and BurnInUntil are the ends of quarantine and burn-in; zero: the node
	// is in none.
	QuarantineUntil Time `json:"quarantineUntil,omitempty"`
	BurnInUntil     Time `json:"burnInUntil,omitempty"`
	// HotSpare: the node is kept for gangs that lose hardware.
	HotSpare bool `json:"hotSpare,omitempty"`
	// Members that hold something there, also while they are started or stopped, in the order
	// of job, replica, group and index.
	Members []ObservedMember `json:"members,omitempty"`
}

// A QueueStatus is what the core knows of a queue.
type QueueStatus struct {
	// Queue is the description that was told last.
	Queue quota.Queue `json:"queue"`
	// UsedMilli is what the queue and those below it use, in thousandths of a GPU.
	UsedMilli int64 `json:"usedMilli"`
	// RunningReplicas of its own jobs, and WaitingReplicas that want to start or to grow.
	RunningReplicas int `json:"runningReplicas,omitempty"`
	WaitingReplicas int `json:"waitingReplicas,omitempty"`
}
