package berth

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/topology"
)

// checkJob refuses a job that makes no sense, or that asks for what this version
// does not honour.
func (c *Core) checkJob(j *Job) *Error {
	if err := checkName(string(j.ID)); err != nil {
		return err.in("id")
	}
	if err := checkName(string(j.Queue)); err != nil {
		return err.in("queue")
	}
	if err := checkText(string(j.Tenant)); err != nil {
		return err.in("tenant")
	}
	if int(j.Class) >= len(classNames) {
		return refuse(ErrInvalid, "class", fmt.Sprintf("%d is out of range", j.Class))
	}
	if err := j.checkTimes(); err != nil {
		return err
	}
	if j.Service != nil {
		if err := c.checkReplicas(j.Service.Replicas); err != nil {
			return err.in("service.replicas")
		}
		if j.GangTimeout != 0 {
			return refuse(ErrUnsupported, "gangTimeout", "a service has none")
		}
	}
	if err := c.checkGroups(j); err != nil {
		return err
	}
	if j.Topology.Segment != 0 || j.Topology.SegmentLevel != "" {
		return refuse(ErrInvalid, "topology.segment", "is for groups")
	}
	return c.checkTopology(&j.Topology).in("topology")
}

func (j *Job) checkTimes() *Error {
	for _, f := range []struct {
		name  string
		value Duration
	}{
		{"minRuntime", j.MinRuntime},
		{"expectedRuntime", j.ExpectedRuntime},
		{"checkpoint.interval", j.Checkpoint.Interval},
		{"checkpoint.cost", j.Checkpoint.Cost},
		{"checkpoint.restartCost", j.Checkpoint.RestartCost},
		{"gangTimeout", j.GangTimeout},
	} {
		if err := checkSpan(f.value); err != nil {
			return err.in(f.name)
		}
	}
	return nil
}

func (c *Core) checkReplicas(n int) *Error {
	if n < 0 {
		return refuse(ErrInvalid, "", fmt.Sprintf("is negative: %d", n))
	}
	if n > c.config.Limits.Replicas {
		return refuse(ErrLimit, "", fmt.Sprintf("%d exceeds the limit of %d", n, c.config.Limits.Replicas))
	}
	return nil
}

func (c *Core) checkGroups(j *Job) *Error {
	if len(j.Groups) == 0 {
		return refuse(ErrInvalid, "groups", "is empty")
	}
	if len(j.Groups) > c.config.Limits.Groups {
		return refuse(ErrLimit, "groups", fmt.Sprintf("%d groups exceed the limit of %d", len(j.Groups), c.config.Limits.Groups))
	}
	members := 0
	for i := range j.Groups {
		g := &j.Groups[i]
		if err := c.checkGroup(j, g); err != nil {
			return err.in(index("groups", i))
		}
		if slices.ContainsFunc(j.Groups[:i], func(h Group) bool { return h.Name == g.Name }) {
			return refuse(ErrDuplicate, index("groups", i)+".name", fmt.Sprintf("%q names a group of the job already", g.Name))
		}
		members += g.Replicas
		if members > c.config.Limits.Members {
			return refuse(ErrLimit, index("groups", i)+".replicas", fmt.Sprintf("the gang exceeds the limit of %d members", c.config.Limits.Members))
		}
	}
	return nil
}

func (c *Core) checkGroup(j *Job, g *Group) *Error {
	if err := checkText(g.Name); err != nil {
		return err.in("name")
	}
	if g.Name == "" && len(j.Groups) > 1 {
		return refuse(ErrInvalid, "name", "is empty, and the job has several groups")
	}
	if g.Replicas < 1 {
		return refuse(ErrInvalid, "replicas", fmt.Sprintf("%d is not positive", g.Replicas))
	}
	if g.Replicas > c.config.Limits.Members {
		return refuse(ErrLimit, "replicas", fmt.Sprintf("%d exceed the limit of %d members", g.Replicas, c.config.Limits.Members))
	}
	if g.Min < 0 || g.Min > g.Replicas {
		return refuse(ErrInvalid, "min", fmt.Sprintf("%d is outside 0..%d, the group's replicas", g.Min, g.Replicas))
	}
	if err := g.Claim.check(j.Class); err != nil {
		return err.in("claim")
	}
	if err := g.Selector.check(); err != nil {
		return err.in("selector")
	}
	if err := c.checkTopology(&g.Topology); err != nil {
		return err.in("topology")
	}
	return c.checkSegment(g).in("topology")
}

func (cl *Claim) check(class Class) *Error {
	if cl.GPUs < 0 || cl.GPUs > MaxGPUs {
		return refuse(ErrInvalid, "gpus", fmt.Sprintf("%d is outside 0..%d, what a node can carry", cl.GPUs, MaxGPUs))
	}
	if cl.MIG != "" {
		return refuse(ErrUnsupported, "mig", "MIG instances are not scheduled yet")
	}
	if err := checkAmount(cl.CPUMilli); err != nil {
		return err.in("cpuMilli")
	}
	if err := checkAmount(cl.MemoryMiB); err != nil {
		return err.in("memoryMiB")
	}
	if cl.NVLink && cl.GPUs == 0 {
		return refuse(ErrInvalid, "nvlink", "needs whole GPUs")
	}
	if cl.Share == nil {
		if cl.GPUs == 0 && cl.CPUMilli == 0 && cl.MemoryMiB == 0 {
			return refuse(ErrInvalid, "", "asks for nothing")
		}
		return nil
	}
	if cl.GPUs > 0 {
		return refuse(ErrInvalid, "share", "a claim is for whole GPUs or for a share, not both")
	}
	return cl.Share.check(class).in("share")
}

func (s *Share) check(class Class) *Error {
	switch {
	case int(s.Mode) >= len(shareModeNames):
		return refuse(ErrInvalid, "mode", fmt.Sprintf("%d is out of range", s.Mode))
	case s.Mode == TimeSlice && class != Interactive:
		return refuse(ErrInvalid, "mode", "time slices are for interactive jobs")
	case s.Milli < 1 || s.Milli > 999:
		return refuse(ErrInvalid, "milli", fmt.Sprintf("%d is outside 1..999", s.Milli))
	}
	return checkAmount(s.MemoryMiB).in("memoryMiB")
}

func (s *Selector) check() *Error {
	for _, list := range []struct {
		field  string
		values []string
	}{{"pools", s.Pools}, {"products", s.Products}} {
		for i, v := range list.values {
			if err := checkName(v); err != nil {
				return err.in(index(list.field, i))
			}
		}
	}
	if err := checkAmount(s.MinGPUMemoryMiB); err != nil {
		return err.in("minGPUMemoryMiB")
	}
	return checkLabels(s.Labels).in("labels")
}

// checkTopology checks what jobs and groups have in common.
func (c *Core) checkTopology(t *Topology) *Error {
	required, err := c.checkLevel(t.Required)
	if err != nil {
		return err.in("required")
	}
	preferred, err := c.checkLevel(t.Preferred)
	if err != nil {
		return err.in("preferred")
	}
	if t.Preferred != "" && preferred < required {
		return refuse(ErrInvalid, "preferred", fmt.Sprintf("%q is wider than the required %q", t.Preferred, t.Required))
	}
	switch {
	case t.SpreadLevel != "" || t.MaxSkew != 0:
		return refuse(ErrUnsupported, "spreadLevel", "spreading is not in yet")
	case t.RailAligned:
		return refuse(ErrUnsupported, "railAligned", "rail alignment is not in yet")
	}
	return nil
}

func (c *Core) checkSegment(g *Group) *Error {
	t := &g.Topology
	level, err := c.checkLevel(t.SegmentLevel)
	required, _ := c.fleet.Tree().Level(t.Required)
	switch {
	case err != nil:
		return err.in("segmentLevel")
	case t.Segment < 0:
		return refuse(ErrInvalid, "segment", fmt.Sprintf("is negative: %d", t.Segment))
	case (t.Segment == 0) != (t.SegmentLevel == ""):
		return refuse(ErrInvalid, "segment", "segment and segmentLevel go together")
	case t.Segment == 0:
		return nil
	case g.Replicas%t.Segment != 0:
		return refuse(ErrInvalid, "segment", fmt.Sprintf("%d replicas are no multiple of %d", g.Replicas, t.Segment))
	case g.min() != g.Replicas:
		return refuse(ErrUnsupported, "segment", "a group in segments cannot start short yet")
	case level < required:
		return refuse(ErrInvalid, "segmentLevel", fmt.Sprintf("%q is wider than the required %q", t.SegmentLevel, t.Required))
	}
	return nil
}

func (c *Core) checkLevel(name string) (topology.Level, *Error) {
	if name == "" {
		return topology.Fleet, nil
	}
	level, ok := c.fleet.Tree().Level(name)
	if !ok {
		return 0, refuse(ErrUnknown, "", strconv.Quote(name)+" is not a level of the fleet")
	}
	return level, nil
}
