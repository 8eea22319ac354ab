package world

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
)

// A Picture is the fleet at an instant, as the page draws it.
type Picture struct {
	Now    berth.Time          `json:"now"`
	Levels []string            `json:"levels,omitempty"`
	Nodes  []Node              `json:"nodes"`
	Jobs   []Job               `json:"jobs"`
	Queues []berth.QueueStatus `json:"queues"`
	Ended  []Ended             `json:"ended,omitempty"`
	Policy berth.Policy        `json:"policy"`
	Report berth.FleetReport   `json:"report"`
	Tally  Tally               `json:"tally"`
}

// A Node is drawn as a box with a cell for each GPU.
type Node struct {
	ID      berth.NodeID `json:"id"`
	Pool    string       `json:"pool,omitempty"`
	Domains []string     `json:"domains,omitempty"`
	Product string       `json:"product,omitempty"`
	// Marks are words such as cordoned, draining, quarantine, burn-in, hot spare and lost.
	Marks  []string `json:"marks,omitempty"`
	Reason string   `json:"reason,omitempty"`
	GPUs   []GPU    `json:"gpus"`
	// Hosted are members without GPUs there.
	Hosted []Part `json:"hosted,omitempty"`
}

// A GPU is drawn as a cell, with the parts of it that are held.
type GPU struct {
	Mode   string `json:"mode,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Instances exist in MIG mode; Slices is how many memory slices its table has.
	Instances []Instance `json:"instances,omitempty"`
	Slices    int        `json:"slices,omitempty"`
	Parts     []Part     `json:"parts,omitempty"`
}

// An Instance is a part of a divided GPU.
type Instance struct {
	Name  string `json:"name"`
	Start int    `json:"start"`
	Size  int    `json:"size"`
}

// A Part is what a member holds: a whole GPU, thousandths of one, or an instance.
type Part struct {
	Job     berth.JobID `json:"job"`
	Replica int         `json:"replica,omitempty"`
	Member  string      `json:"member"`
	Milli   int         `json:"milli,omitempty"`
	// Instance is as in GPU.Instances.
	Instance string `json:"instance,omitempty"`
	// Phase is starting, running or stopping.
	Phase string `json:"phase"`
	// Idle: the holder lends the GPU, and leaves it idle. Borrowed: it is a part of a borrower,
	// which stands over the holder; GivesBack: and has to go.
	Idle      bool `json:"idle,omitempty"`
	Borrowed  bool `json:"borrowed,omitempty"`
	GivesBack bool `json:"givesBack,omitempty"`
}

// A Job is a line of a list: what runs, and what waits.
type Job struct {
	ID       berth.JobID   `json:"id"`
	Queue    berth.QueueID `json:"queue"`
	Class    berth.Class   `json:"class"`
	Priority int32         `json:"priority,omitempty"`
	Asks     string        `json:"asks"`
	Replicas []Replica     `json:"replicas"`
	// Milli is what it asks for, in thousandths of a GPU, where that is known before it is placed.
	Milli int64 `json:"milli"`
	// Lend is on what terms it lends its GPUs; nil: it does not.
	Lend *berth.Lend `json:"lend,omitempty"`
}

// A Replica is one gang of a job.
type Replica struct {
	Number int                `json:"number"`
	Alike  int                `json:"alike,omitempty"`
	State  berth.ReplicaState `json:"state"`
	Since  berth.Time         `json:"since"`
	End    berth.Time         `json:"end,omitempty"`
}

// Picture is the present one. Cost: O(fleet + jobs).
func (w *World) Picture() Picture {
	c := w.session.Core()
	config := c.Config()
	p := Picture{
		Now: w.session.Now(), Levels: config.Levels, Policy: config.Policy, Report: c.Report(),
		Nodes: []Node{}, Jobs: []Job{}, Ended: w.annals.ended, Tally: w.annals.tally,
		Queues: slices.Collect(c.Queues()),
	}
	phases, loans := phases{}, loans{}
	for job := range c.Jobs() {
		p.Jobs = append(p.Jobs, w.job(&job))
		phases.add(&job)
		loans.add(c, &job.Job)
	}
	for node := range c.Nodes() {
		p.Nodes = append(p.Nodes, drawn(&node, phases, loans))
	}
	for i := range w.annals.lost {
		node := drawn(&berth.NodeStatus{Node: w.annals.lost[i]}, nil, nil)
		node.Marks = []string{"lost"}
		p.Nodes = append(p.Nodes, node)
	}
	return p
}

// phases says which members are being started or stopped.
type phases map[member]string

type member struct {
	job     berth.JobID
	replica int
	ref     berth.MemberRef
}

func (p phases) add(job *berth.JobStatus) {
	for i := range job.Replicas {
		r := &job.Replicas[i]
		for _, phase := range []struct {
			name string
			of   []berth.MemberPlacement
		}{{"starting", r.Starting}, {"running", r.Running}, {"stopping", r.Stopping}} {
			for j := range phase.of {
				p[member{job.Job.ID, r.Replica, phase.of[j].Ref()}] = phase.name
			}
		}
	}
}

// loans has the replicas that lend what they leave idle, and the borrowers that have to go.
type loans map[berth.ReplicaRef]loan

type loan struct{ idle, givesBack bool }

func (l loans) add(c *core.Core, j *berth.Job) {
	if j.Lend == nil && !borrows(j) {
		return
	}
	e, err := c.Explain(j.ID)
	if err != nil {
		return // it is gone
	}
	for i := range e.Replicas {
		r := &e.Replicas[i]
		l[berth.ReplicaRef{Job: j.ID, Replica: r.Replica}] = loan{r.LentMilli > 0, r.GiveBackBy != 0}
	}
}

func borrows(j *berth.Job) bool {
	return slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return g.Claim.Borrow != nil })
}

func (w *World) job(s *berth.JobStatus) Job {
	j := &s.Job
	drawn := Job{ID: j.ID, Queue: j.Queue, Class: j.Class, Priority: j.Priority, Asks: asks(j), Replicas: []Replica{}, Lend: j.Lend}
	for i := range j.Groups {
		g := &j.Groups[i]
		each := int64(g.Claim.GPUs) * 1000
		if g.Claim.Share != nil {
			each = int64(g.Claim.Share.GPUMilli)
		}
		drawn.Milli += each * int64(g.Members)
	}
	for i := range s.Replicas {
		r := &s.Replicas[i]
		replica := Replica{Number: r.Replica, Alike: r.Alike, State: r.State, Since: r.Since}
		if task := w.executor.end(j.ID, r.Incarnation); task != nil {
			replica.End = task.at
		} else if r.State == berth.ReplicaRunning && j.ExpectedRuntime > 0 && j.Service == nil {
			replica.End = r.Since.Add(j.ExpectedRuntime)
		}
		drawn.Replicas = append(drawn.Replicas, replica)
	}
	return drawn
}

// end is the task that ends a life of a job; nil: there is none.
func (e *executor) end(id berth.JobID, life berth.Incarnation) *task {
	for i := range e.tasks {
		if t := &e.tasks[i]; t.order == 0 && t.job == id && t.life == life {
			return t
		}
	}
	return nil
}

func drawn(s *berth.NodeStatus, phases phases, loans loans) Node {
	n := Node{ID: s.Node.ID, Pool: s.Node.Pool, Domains: s.Node.Domains, Reason: s.Reason, GPUs: make([]GPU, len(s.Node.GPUs))}
	for _, mark := range []struct {
		word string
		set  bool
	}{
		{"cordoned", s.Cordoned && !s.Draining},
		{"draining", s.Draining},
		{"quarantine", s.QuarantineUntil != 0},
		{"burn-in", s.BurnInUntil != 0},
		{"hot spare", s.HotSpare},
	} {
		if mark.set {
			n.Marks = append(n.Marks, mark.word)
		}
	}
	for i := range s.Node.GPUs {
		n.Product = s.Node.GPUs[i].Product
		n.GPUs[i] = cell(&s.Node.GPUs[i])
	}
	for i := range s.Members {
		m := &s.Members[i]
		part := Part{Job: m.Job, Replica: m.Replica, Member: m.Ref().String(), Milli: m.ShareMilli, Phase: "running"}
		if phase := phases[member{m.Job, m.Replica, m.Ref()}]; phase != "" {
			part.Phase = phase
		}
		loan := loans[berth.ReplicaRef{Job: m.Job, Replica: m.Replica}]
		part.Idle, part.Borrowed, part.GivesBack = loan.idle && m.GPUs != 0, m.Borrowed, loan.givesBack && m.Borrowed
		if m.Instance != (mig.Placement{}) {
			part.Instance = m.Instance.String()
		}
		if m.GPUs == 0 {
			n.Hosted = append(n.Hosted, part)
		}
		for _, g := range m.GPUs.Indexes() {
			n.GPUs[g].Parts = append(n.GPUs[g].Parts, part)
			n.GPUs[g].widen(m.Instance)
		}
	}
	return n
}

// cell is a GPU before what is held of it.
func cell(g *berth.GPU) GPU {
	drawn := GPU{Failed: g.Failed}
	if g.Mode != berth.GPUModeWhole {
		drawn.Mode = g.Mode.String()
	}
	if g.Mode == berth.GPUModeMIG {
		drawn.Slices = 8
	}
	for _, p := range g.Instances {
		drawn.widen(p)
		drawn.Instances = append(drawn.Instances, Instance{Name: p.String(), Start: int(p.Start), Size: int(p.Size)})
	}
	return drawn
}

// widen makes the cell wide enough for an instance.
func (g *GPU) widen(p mig.Placement) {
	if p != (mig.Placement{}) {
		g.Slices = max(g.Slices, 8, int(p.Start)+int(p.Size))
	}
}

// node finds a node, also one that is lost.
func (w *World) node(c *core.Core, id berth.NodeID) (berth.Node, bool) {
	if s, ok := c.Node(id); ok {
		return s.Node, true
	}
	i := slices.IndexFunc(w.annals.lost, func(n berth.Node) bool { return n.ID == id })
	if i < 0 {
		return berth.Node{}, false
	}
	return w.annals.lost[i], true
}
