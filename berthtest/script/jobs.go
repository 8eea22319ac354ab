package script

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
)

func submitJob(_ *Session, a *arguments) ([]berth.Event, error) {
	return a.each(func(id berth.JobID) berth.Event {
		j := a.job()
		j.ID = id
		return berth.JobSubmitted{Job: j}
	})
}

// each makes an event for every job of a range of names, which is all that stands
// without a key.
func (a *arguments) each(make func(berth.JobID) berth.Event) ([]berth.Event, error) {
	names, err := expandNames(a.word(0))
	if err != nil {
		return nil, err
	}
	unread := slices.Clone(a.values)
	var events []berth.Event
	for _, name := range names {
		copy(a.values, unread)
		events = append(events, make(berth.JobID(name)))
	}
	return events, a.finish(1)
}

func submitService(_ *Session, a *arguments) ([]berth.Event, error) {
	return one(berth.JobSubmitted{Job: a.service()}, a.finish(1))
}

func (a *arguments) service() berth.Job {
	j := a.job()
	j.Service = &berth.Service{Replicas: a.integer("replicas", 1), Surge: a.integer("surge", 0)}
	return j
}

// job reads a job that is no service.
func (a *arguments) job() berth.Job {
	j := berth.Job{
		ID: berth.JobID(a.word(0)), Queue: berth.QueueID(a.text("queue")), Tenant: berth.TenantID(a.text("tenant")), User: a.text("user"),
		Program: a.text("program"), Priority: int32(a.integer("priority", 0)),
		GangTimeout: a.span("timeout"), ExpectedRuntime: a.span("runtime"), MinRuntime: a.span("min-runtime"), MaxRuntime: a.span("max-runtime"), NonPreemptible: a.yes("non-preemptible"),
		Topology: berth.Topology{
			Required: a.text("required"), Preferred: a.text("preferred"), Exclusive: a.text("exclusive"),
		},
	}
	j.SameLabels, j.Begin, j.After, j.Array = a.list("same-labels"), berth.Time(a.span("begin")), a.after(), a.array()
	for _, text := range a.list("max-requeues") {
		cause, digits, _ := strings.Cut(text, ":")
		requeues, err := strconv.Atoi(digits)
		if err != nil {
			a.fail("max-requeues=%s is not of the form member-failed:3", text)
		}
		j.MaxRequeues = append(j.MaxRequeues, berth.RequeueCap{Cause: berth.CauseCode(cause), Requeues: requeues})
	}
	if _, ok := a.lookup("checkpoint"); ok {
		j.Checkpoint = berth.Checkpoint{Supported: true, Cost: a.span("checkpoint")}
	}
	j.Checkpoint.Interval, j.Checkpoint.RestartCost = a.span("checkpoint-every"), a.span("restart")
	if _, ok := a.lookup("lend"); ok {
		j.Lend = &berth.Lend{MemoryMiB: a.memory("lend", 0), Within: a.span("lend-within")}
	}
	a.one("class", &j.Class)
	for _, text := range a.all("part") {
		j.Topology.Parts = append(j.Topology.Parts, a.part(text))
	}
	j.Topology.Apart = a.text("apart")
	for _, text := range a.all("or") {
		j.Alternatives = append(j.Alternatives, a.alternative(text))
	}
	a.one("choose", &j.Choose)
	groups := a.all("group")
	if len(groups) == 0 {
		j.Groups = []berth.Group{a.group("", a.integer("members", 1))}
		return j
	}
	for _, text := range groups {
		j.Groups = append(j.Groups, a.namedGroup(text))
	}
	return j
}

// after reads prep|check:any.
func (a *arguments) after() (list []berth.Dependency) {
	for _, text := range a.list("after") {
		d := berth.Dependency{}
		id, kind, told := strings.Cut(text, ":")
		if d.Job = berth.JobID(id); told {
			if err := d.Kind.UnmarshalText([]byte(kind)); err != nil {
				a.fail("after=%s: %v", text, err)
			}
		}
		list = append(list, d)
	}
	return list
}

// array reads sweep:4.
func (a *arguments) array() *berth.Array {
	text := a.text("array")
	if text == "" {
		return nil
	}
	name, width, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(width)
	if err != nil {
		a.fail("array=%s is not of the form name:width", text)
	}
	return &berth.Array{Name: name, Width: n}
}

// alternative reads driver:1:cpu=4+workers:8:gpus=8 or, of a single group without a name,
// :8:gpus=8, where the levels are those of the gang.
func (a *arguments) alternative(text string) (as berth.Alternative) {
	for group := range strings.SplitSeq(text, "+") {
		as.Groups = append(as.Groups, a.groupOf("or", group, &as.Topology))
	}
	return as
}

// part reads decode:rack:4, where the level and the copies may be left out.
func (a *arguments) part(text string) (p berth.Part) {
	fields := strings.Split(text, ":")
	p.Name = fields[0]
	if len(fields) > 1 {
		p.Required = fields[1]
	}
	if len(fields) > 2 {
		n, err := strconv.Atoi(fields[2])
		if err != nil || len(fields) > 3 {
			a.fail("part=%s is not of the form name:level:copies", text)
		}
		p.Copies = n
	}
	return p
}

// namedGroup reads workers:8:gpus=8,cpu=4.
func (a *arguments) namedGroup(text string) berth.Group { return a.groupOf("group", text, nil) }

// groupOf reads a group that is the value of a key. The levels of one without a name are those of
// its gang, if that has a place for them.
func (a *arguments) groupOf(key, text string, gang *berth.Topology) berth.Group {
	parts := strings.SplitN(text, ":", 3)
	members, err := strconv.Atoi(parts[min(1, len(parts)-1)])
	if err != nil || len(parts) < 2 {
		a.fail("%s=%s is not of the form name:members:key=value,...", key, text)
		return berth.Group{}
	}
	inner := &arguments{}
	if len(parts) == 3 {
		inner.add(strings.Split(parts[2], ","))
	}
	g := inner.group(parts[0], members)
	levels := &g.Topology
	if gang != nil && g.Name == "" {
		levels, gang.Exclusive = gang, inner.text("exclusive")
	}
	if g.Part = inner.text("part"); gang != nil {
		if p := a.part(g.Part); p != (berth.Part{Name: g.Part}) {
			g.Part, gang.Parts = p.Name, append(gang.Parts, p)
		}
		gang.Apart = cmp.Or(gang.Apart, inner.text("apart"))
	}
	levels.Required, levels.Preferred = inner.text("required"), inner.text("preferred")
	if err := inner.finish(0); err != nil {
		a.fail("%s=%s: %v", key, parts[0], err)
	}
	return g
}

// group reads the keys of a group that a job with one group has as its own.
func (a *arguments) group(name string, members int) berth.Group {
	g := berth.Group{
		Name: name, Members: members, MinMembers: a.integer("min", 0),
		Claim: berth.Claim{
			GPUs: a.integer("gpus", 0), MIG: a.text("mig"), MinInstance: a.minInstance(), NVLink: a.yes("nvlink"),
			CPUMilli: a.milli("cpu", 0), MemoryMiB: a.memory("memory", 0), Resources: a.resources("resources"),
		},
		Selector: berth.Selector{
			Pools: a.list("pool"), Products: a.list("product"), Labels: a.labels("labels"), Tolerations: a.tolerations(),
			MinGPUMemoryMiB: a.memory("min-gpu-memory", 0), MinComputeCapability: read(a, "min-compute", berth.ComputeCapability{}, berth.ParseComputeCapability),
		},
		Topology: berth.Topology{
			Balance: a.text("balance"), Spread: a.text("spread"), MaxSkew: a.integer("max-skew", 0),
			RailAligned: a.yes("rail-aligned"),
		},
		MixProducts: a.yes("mix-products"),
	}
	for _, text := range a.list("segment") {
		size, level, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(size)
		if err != nil {
			a.fail("segment=%s is not of the form 8:rack|2:node", text)
		}
		g.Topology.Segments = append(g.Topology.Segments, berth.Segment{Size: n, Level: level})
	}
	if _, ok := a.lookup("share"); ok {
		share := &berth.Share{GPUMilli: a.integer("share", 0), MemoryMiB: a.memory("share-memory", 0)}
		a.one("mode", &share.Mode)
		g.Claim.Share = share
	}
	if _, ok := a.lookup("borrow"); ok {
		g.Claim.Borrow = &berth.Borrow{MemoryMiB: a.memory("borrow", 0)}
	}
	return g
}

func observeJob(s *Session, a *arguments) ([]berth.Event, error) {
	e := berth.JobObserved{}
	if _, service := a.lookup("replicas"); service {
		e.Job = a.service()
	} else {
		e.Job = a.job()
	}
	incarnation, started, alternative := a.integer("incarnation", 1), a.span("started"), a.integer("alternative", 0)
	for _, text := range a.all("running") {
		r, err := observed(&e.Job, alternative, text)
		if err != nil {
			return nil, err
		}
		r.Incarnation, r.Started = berth.Incarnation(incarnation), berth.Time(started)
		e.Running = append(e.Running, r)
	}
	return one(e, a.finish(1))
}

// observed reads n1[0-7]|n2[0-7] or 2:n1[0], the members of one replica in the
// order of the groups of the job, as its own gang or as an alternative.
func observed(j *berth.Job, alternative int, text string) (berth.ObservedReplica, error) {
	r := berth.ObservedReplica{}
	if digits, rest, numbered := strings.Cut(text, ":"); numbered && !strings.Contains(digits, "[") {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return r, fmt.Errorf("running=%s: %q is not a number", text, digits)
		}
		r.Replica, text = n, rest
	}
	groups := j.Groups
	if r.Alternative = alternative; alternative > 0 && alternative <= len(j.Alternatives) {
		groups = j.Alternatives[alternative-1].Groups
	}
	places := strings.Split(text, "|")
	for i := range groups {
		g := &groups[i]
		for index := range g.Members {
			if len(places) == 0 {
				break
			}
			place := places[0]
			places = places[1:]
			if place == "-" {
				continue
			}
			p, err := parseHeld(place)
			if err != nil {
				return r, err
			}
			p.Group, p.Index, p.Borrowed = g.Name, index, g.Claim.Borrow != nil
			if g.Claim.Share != nil {
				p.ShareMilli = g.Claim.Share.GPUMilli
			}
			r.Members = append(r.Members, p)
		}
	}
	if len(places) > 0 {
		return r, fmt.Errorf("running= has %d places more than the job has members", len(places))
	}
	return r, nil
}

func scaleJob(_ *Session, a *arguments) ([]berth.Event, error) {
	return one(berth.JobScaled{Job: berth.JobID(a.word(0)), Replicas: a.number(1)}, a.finish(2))
}

func cancelJob(_ *Session, a *arguments) ([]berth.Event, error) {
	return a.each(func(id berth.JobID) berth.Event { return berth.JobCancelled{Job: id} })
}

func finishJob(s *Session, a *arguments) ([]berth.Event, error) {
	return a.each(func(id berth.JobID) berth.Event {
		return berth.JobFinished{Job: id, Incarnation: s.incarnation(a, id, 0), Failed: a.yes("failed"), Reason: a.reason}
	})
}

func failMembers(s *Session, a *arguments) ([]berth.Event, error) {
	id, replica, err := parseReplica(a.word(0))
	if err != nil {
		return nil, err
	}
	e := berth.MemberFailed{Job: id, Replica: replica, Incarnation: s.incarnation(a, id, replica), Reason: a.reason}
	if e.Members, err = a.members(1); err != nil {
		return nil, err
	}
	if text := a.text("fault"); text != "" {
		if err := e.Fault.UnmarshalText([]byte(text)); err != nil {
			return nil, err
		}
	}
	return one(e, a.finish(max(1, len(a.words))))
}

// incarnation returns the one that a command names, or the present one.
func (s *Session) incarnation(a *arguments, id berth.JobID, replica int) berth.Incarnation {
	present := 1
	if r, ok := s.replica(id, replica); ok {
		present = int(r.Incarnation)
	}
	return berth.Incarnation(a.integer("incarnation", present))
}

// replica asks the core where a replica stands.
func (s *Session) replica(id berth.JobID, number int) (berth.ReplicaExplanation, bool) {
	e, err := s.core.Explain(id)
	if err != nil {
		return berth.ReplicaExplanation{}, false
	}
	for _, r := range e.Replicas {
		if r.Replica <= number && number <= r.Replica+r.Alike {
			return r, true
		}
	}
	return berth.ReplicaExplanation{}, false
}
