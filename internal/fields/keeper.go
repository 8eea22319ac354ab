package fields

import "strings"

// A Keeper names the functions that list the fields of a type by hand: a place in the module as
// "FILE: FUNC", in which FUNC is how the function is declared up to its name.
type Keeper struct {
	// Check refuses what makes no sense, and Copy makes a copy for the core to keep. Empty: that of
	// the struct around does it.
	Check, Copy string
}

// Keepers are by the name of the type. TestKeepersAreThere holds them to the source.
func Keepers() map[string]Keeper {
	const (
		admission = "core/internal/admission/job_check.go: "
		checks    = "core/internal/spec/claim_check.go: "
		clone     = "core/internal/values/clone.go: "
	)
	policy := Keeper{"config.go: func (p *Policy) check", "defaults.go: func (p Policy) WithDefaults"}
	return map[string]Keeper{
		"berth.Node":            {"core/internal/spec/node_check.go: func CheckNode", clone + "func CloneNode"},
		"berth.GPU":             {"core/internal/spec/node_check.go: func checkGPU", "core/internal/spec/node.go: func NodeOf"},
		"berth.NIC":             {Check: "core/internal/spec/node_check.go: func checkNIC"},
		"berth.Job":             {admission + "func (ad *Admission) checkJob", "core/internal/spec/job.go: func JobOf"},
		"berth.Array":           {Check: "core/internal/admission/gates.go: func checkGates"},
		"berth.Dependency":      {Check: "core/internal/admission/gates.go: func checkAfter"},
		"berth.Checkpoint":      {Check: admission + "func checkTimes"},
		"berth.Group":           {admission + "func (ad *Admission) checkGroup", clone + "func CloneGroups"},
		"berth.Topology":        {admission + "func (ad *Admission) checkTopology", clone + "func CloneTopology"},
		"berth.Segment":         {Check: admission + "func (ad *Admission) checkSegment"},
		"berth.Claim":           {checks + "func CheckClaim", clone + "func CloneClaim"},
		"berth.Share":           {Check: checks + "func checkShare"},
		"berth.MinInstance":     {Check: checks + "func checkMinInstance"},
		"berth.Selector":        {"core/internal/spec/selector_check.go: func CheckSelector", clone + "func CloneSelector"},
		"berth.Reservation":     {"core/internal/backlog/reservation.go: func (bl *Backlog) checkReserved", "core/internal/backlog/reservation.go: func cloneReservation"},
		"berth.ObservedReplica": {Check: "core/apply_job.go: func (c *Core) checkObserved"},
		"berth.MemberPlacement": {Check: "core/internal/backlog/enqueue.go: func (bl *Backlog) CheckPlacement"},
		"berth.Config":          {"config.go: func (c *Config) check", clone + "func CloneConfig"},
		"berth.Fabric":          {Check: "config.go: func (f *Fabric) check"},
		"berth.Limits":          {Check: "config.go: func (l *Limits) check"},
		"berth.Policy":          policy,
		"berth.Preemption":      {Check: "preemption.go: func (p *Preemption) checkHysteresis"},
		"berth.GainPolicy":      {Check: "preemption.go: func (w *GainPolicy) check"},
		"berth.Health":          {Check: "health.go: func (h *Health) check"},
		"berth.HotSpares":       {Check: "health.go: func checkHotSpares"},
		"berth.Geometry":        {"geometry.go: func (g *Geometry) check", "defaults.go: func (g Geometry) WithDefaults"},
		"quota.Queue":           {"quota/quota.go: func (q *Queue) check", "quota/quota.go: func (q *Queue) clone"},
		"mig.Product":           {"core/internal/gpus/saved_table.go: func checkTexts", "mig/product.go: func (p Product) clone"},
		"mig.Profile":           {"mig/validate.go: func (p *Product) refusal", "mig/product.go: func (p Profile) clone"},
		"berth.NodeCordoned":    {Check: "core/apply_node.go: func (c *Core) nodeCordoned"},
		"berth.NodeUncordoned":  {Check: "core/apply_node.go: func (c *Core) nodeUncordoned"},
		"berth.NodeDraining":    {Check: "core/apply_node.go: func (c *Core) nodeDraining"},
		"berth.NodeLost":        {Check: "core/apply_node.go: func (c *Core) nodeLost"},
		"berth.GPUFailed":       {Check: "core/apply_node.go: func (c *Core) gpuFailed"},
		"berth.XidReported":     {Check: "core/apply_gpu.go: func (c *Core) xidReported"},
		"berth.FabricReported":  {Check: "core/internal/upkeep/fabric.go: func (u *Upkeep) FabricReported"},
		"berth.GPURepaired":     {Check: "core/apply_node.go: func (c *Core) gpuRepaired"},
		"berth.JobScaled":       {Check: "core/apply_job.go: func (c *Core) jobScaled"},
		"berth.OrderReported":   {Check: "core/apply_report.go: func (c *Core) orderReported"},
		"berth.QueueSet":        {Check: "core/apply_job.go: func (c *Core) queueSet"},
		"berth.PolicyChanged":   {Check: "core/apply.go: func (c *Core) policyChanged"},
	}
}

// CheckOf names the function that checks the leaf.
func (l *Leaf) CheckOf() string {
	return l.keeper(func(k Keeper) string { return k.Check }, "core/apply.go: func (c *Core) apply")
}

// CopyOf names the function that copies the leaf for the core.
func (l *Leaf) CopyOf() string {
	return l.keeper(func(k Keeper) string { return k.Copy }, "core/apply.go: func (c *Core) apply")
}

func (l *Leaf) keeper(function func(Keeper) string, handlers string) string {
	known := Keepers()
	for i := len(l.Within) - 1; i >= 0; i-- {
		if name := function(known[l.Within[i].String()]); name != "" {
			return name
		}
	}
	return "the handler of the event: see " + handlers
}

// Field is the leaf by its struct, such as berth.Selector.Pools, for messages.
func (l *Leaf) Field() string {
	name := strings.TrimRight(strings.TrimSuffix(l.Place, ".key"), "[]")
	return l.Within[len(l.Within)-1].String() + "." + name[strings.LastIndexByte(name, '.')+1:]
}
