package berth

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/mig"
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
	if int(j.Class) >= classNames.Len() {
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
	if err := c.checkGangTopology(&j.Topology); err != nil {
		return err.in("topology")
	}
	return c.checkGroups(j)
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
	return c.checkGroupTopology(j, g).in("topology")
}

func (cl *Claim) check(class Class) *Error {
	if cl.GPUs < 0 || cl.GPUs > MaxGPUs {
		return refuse(ErrInvalid, "gpus", fmt.Sprintf("%d is outside 0..%d, what a node can carry", cl.GPUs, MaxGPUs))
	}
	if err := checkHost(cl.Host()); err != nil {
		return err
	}
	if !cl.device() && cl.Host() == (host.Amounts{}) {
		return refuse(ErrInvalid, "", "asks for nothing")
	}
	if err := cl.checkDevice(class); err != nil {
		return err
	}
	if cl.NVLink && cl.GPUs == 0 {
		return refuse(ErrInvalid, "nvlink", "needs whole GPUs: instances and shares have no NVLink of their own")
	}
	return nil
}

// checkDevice checks what the claim wants of the GPUs.
func (cl *Claim) checkDevice(class Class) *Error {
	for _, part := range []struct {
		field  string
		wanted bool
		beside bool
	}{
		{"share", cl.Share != nil, cl.GPUs > 0 || cl.instance()},
		{"mig", cl.MIG != "", cl.GPUs > 0 || cl.Fraction != nil},
		{"fraction", cl.Fraction != nil, cl.GPUs > 0},
	} {
		if part.wanted && part.beside {
			return refuse(ErrInvalid, part.field, "a claim is for whole GPUs, an instance or a share: one of them")
		}
	}
	switch {
	case cl.Share != nil:
		return cl.Share.check(class).in("share")
	case cl.MIG != "":
		if _, err := mig.ParseProfileName(cl.MIG); err != nil {
			return refuse(ErrInvalid, "mig", fmt.Sprintf("%q is not the name of a profile", cl.MIG))
		}
	case cl.Fraction != nil:
		return cl.Fraction.check().in("fraction")
	}
	return nil
}

func (f *Fraction) check() *Error {
	switch {
	case f.MinSMs < 0 || f.MinSMs > maxOrdinal:
		return refuse(ErrInvalid, "minSMs", fmt.Sprintf("%d is outside 0..%d", f.MinSMs, maxOrdinal))
	case f.MinSMs == 0 && f.MinMemoryMiB == 0:
		return refuse(ErrInvalid, "", "asks for nothing")
	}
	return checkAmount(f.MinMemoryMiB).in("minMemoryMiB")
}

func (s *Share) check(class Class) *Error {
	switch {
	case int(s.Mode) >= shareModeNames.Len():
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
	return nil
}

// checkGangTopology checks what is for the gang as a whole.
func (c *Core) checkGangTopology(t *Topology) *Error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"segments", len(t.Segments) > 0},
		{"balance", t.Balance != ""},
		{"spread", t.Spread != "" || t.MaxSkew != 0},
		{"railAligned", t.RailAligned},
	} {
		if f.set {
			return refuse(ErrInvalid, f.name, "is for groups, not for jobs")
		}
	}
	if _, err := c.checkLevel(t.Exclusive); err != nil {
		return err.in("exclusive")
	}
	if t.Exclusive == levelFleet {
		return refuse(ErrInvalid, "exclusive", "the fleet is for all")
	}
	return c.checkTopology(t)
}

// checkGroupTopology checks what is for one group, given its widest level.
func (c *Core) checkGroupTopology(j *Job, g *Group) *Error {
	t := &g.Topology
	if err := c.checkTopology(t); err != nil {
		return err
	}
	if t.Exclusive != "" {
		return refuse(ErrInvalid, "exclusive", "is for jobs, not for groups")
	}
	required, _ := c.fleet.Tree().Level(t.Required)
	whole, _ := c.fleet.Tree().Level(j.Topology.Required)
	required = max(required, whole)
	if err := c.checkSegments(g, required); err != nil {
		return err
	}
	if len(t.Segments) > 0 && t.Balance != "" {
		level, _ := c.checkLevel(t.Balance)
		if widest, _ := c.checkLevel(t.Segments[0].Level); level > widest {
			return refuse(ErrInvalid, "balance", fmt.Sprintf("%q is narrower than %q, in which segments stay", t.Balance, t.Segments[0].Level))
		}
	}
	for _, f := range []struct{ name, level string }{{"balance", t.Balance}, {"spread", t.Spread}} {
		level, err := c.checkLevel(f.level)
		switch {
		case err != nil:
			return err.in(f.name)
		case f.level != "" && level <= required:
			return refuse(ErrInvalid, f.name, fmt.Sprintf("%q is not narrower than the required level", f.level))
		}
	}
	switch {
	case t.MaxSkew < 0 || t.MaxSkew > maxOrdinal:
		return refuse(ErrInvalid, "maxSkew", fmt.Sprintf("%d is outside 0..%d", t.MaxSkew, maxOrdinal))
	case t.MaxSkew != 0 && t.Spread == "":
		return refuse(ErrInvalid, "maxSkew", "needs spread")
	case t.Spread != "" && (len(t.Segments) > 0 || t.Balance != "" || t.RailAligned):
		return refuse(ErrInvalid, "spread", "excludes segments, balance and rail alignment")
	case t.Spread != "" && g.min() != g.Replicas:
		return refuse(ErrUnsupported, "spread", "a group that is spread cannot start short")
	}
	return c.checkRails(g)
}

func (c *Core) checkRails(g *Group) *Error {
	t := &g.Topology
	switch {
	case !t.RailAligned:
		return nil
	case c.config.Fabric.RailLevel == "":
		return refuse(ErrUnsupported, "railAligned", "the fleet has no rails: see Fabric.RailLevel")
	case g.Claim.GPUs == 0:
		return refuse(ErrInvalid, "railAligned", "needs whole GPUs")
	case len(t.Segments) > 0 || t.Balance != "":
		return refuse(ErrInvalid, "railAligned", "excludes segments and balance")
	case g.min() != g.Replicas:
		return refuse(ErrUnsupported, "railAligned", "a group on aligned rails cannot start short")
	}
	return nil
}

func (c *Core) checkSegments(g *Group, required topology.Level) *Error {
	t := &g.Topology
	if len(t.Segments) > maxLevels {
		return refuse(ErrLimit, "segments", fmt.Sprintf("%d nested segments; the most is %d", len(t.Segments), maxLevels))
	}
	for i, s := range t.Segments {
		if err := c.checkSegment(t.Segments, i, required); err != nil {
			return err.in(index("segments", i))
		}
		if i == 0 && (g.Replicas%s.Size != 0 || g.Min%s.Size != 0) {
			return refuse(ErrInvalid, "segments[0].size", fmt.Sprintf("%d replicas, at least %d, do not come in segments of %d", g.Replicas, g.min(), s.Size))
		}
	}
	return nil
}

func (c *Core) checkSegment(list []Segment, i int, required topology.Level) *Error {
	s := list[i]
	level, err := c.checkLevel(s.Level)
	switch {
	case err != nil:
		return err.in("level")
	case s.Level == "":
		return refuse(ErrInvalid, "level", "is empty")
	case s.Size < 1 || s.Size > c.config.Limits.Members:
		return refuse(ErrInvalid, "size", fmt.Sprintf("%d is outside 1..%d", s.Size, c.config.Limits.Members))
	case level < required:
		return refuse(ErrInvalid, "level", fmt.Sprintf("%q is wider than the required level", s.Level))
	case i == 0:
		return nil
	}
	outer, _ := c.fleet.Tree().Level(list[i-1].Level)
	switch {
	case list[i-1].Size%s.Size != 0:
		return refuse(ErrInvalid, "size", fmt.Sprintf("%d does not divide %d, the segment around it", s.Size, list[i-1].Size))
	case level < outer:
		return refuse(ErrInvalid, "level", fmt.Sprintf("%q is wider than %q, that of the segment around it", s.Level, list[i-1].Level))
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
