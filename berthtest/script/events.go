package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

// events makes the events of a command: several for a range of
// nodes, or for a report about all orders. It reports false for a
// question.
func (s *Session) events(command, rest string) ([]berth.Event, bool, error) {
	build, known := factories[command]
	if !known {
		return nil, false, nil
	}
	events, err := build(s, parseArguments(rest))
	return events, true, err
}

// A factory makes the events of one command.
type factory func(*Session, *arguments) ([]berth.Event, error)

var factories = map[string]factory{
	"node":          nodeEvents,
	"update":        updateEvent,
	"cordon":        about(func(n berth.NodeID, reason string) berth.Event { return berth.NodeCordoned{Node: n, Reason: reason} }),
	"uncordon":      about(func(n berth.NodeID, _ string) berth.Event { return berth.NodeUncordoned{Node: n} }),
	"drain":         drainNode,
	"lose":          about(func(n berth.NodeID, reason string) berth.Event { return berth.NodeLost{Node: n, Reason: reason} }),
	"fail-gpu":      failGPU,
	"repair-gpu":    repairGPU,
	"xid":           xidReported,
	"fabric":        fabricReported,
	"partition-gpu": partitionGPU,
	"table":         setTable,
	"reserve":       reserve,
	"unreserve":     about(func(r berth.ReservationID, _ string) berth.Event { return berth.ReservationRemoved{Reservation: r} }),
	"queue":         setQueue,
	"remove-queue":  about(func(q berth.QueueID, _ string) berth.Event { return berth.QueueRemoved{Queue: q} }),
	"policy":        changePolicy,

	"job":           submitJob,
	"service":       submitService,
	"observe":       observeJob,
	"scale":         scaleJob,
	"cancel":        cancelJob,
	"finish":        finishJob,
	"member-failed": failMembers,
	"checkpoint":    writeCheckpoint,
	"activity":      reportActivity,
	"report":        reportOrders,
}

func one(e berth.Event, err error) ([]berth.Event, error) { return []berth.Event{e}, err }

func nodeEvents(_ *Session, a *arguments) ([]berth.Event, error) {
	names, err := expandNames(a.word(0))
	if err != nil {
		return nil, err
	}
	spec := a.node()
	var events []berth.Event
	for _, name := range names {
		events = append(events, berth.NodeJoined{Node: named(spec, name)})
	}
	return events, a.finish(1)
}

func updateEvent(_ *Session, a *arguments) ([]berth.Event, error) {
	return one(berth.NodeUpdated{Node: named(a.node(), a.word(0))}, a.finish(1))
}

// named returns a node under a name, with what hangs on the name.
func named(spec berth.Node, name string) berth.Node {
	spec.ID = berth.NodeID(name)
	gpus := make([]berth.GPU, len(spec.GPUs))
	copy(gpus, spec.GPUs)
	for i := range gpus {
		if gpus[i].Clique != "" {
			gpus[i].Clique = "nvlink-" + name
		}
	}
	spec.GPUs = gpus
	return spec
}

// node reads the description of a node, but for its name.
func (a *arguments) node() berth.Node {
	n := berth.Node{
		Pool:      a.text("pool"),
		CPUMilli:  a.milli("cpu", 112_000),
		MemoryMiB: a.memory("memory", 2<<20),
		Labels:    a.labels("labels"),
		Taints:    a.taints(),
		Resources: a.resources("resources"),
	}
	if at := a.text("at"); at != "" {
		n.Domains = strings.Split(at, "/")
	}
	gpu := berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}}
	if product, ok := a.lookup("product"); ok {
		gpu = berth.GPU{Product: product}
	}
	gpu.MemoryMiB = a.memory("gpu-memory", gpu.MemoryMiB)
	gpu.ComputeCapability = read(a, "compute", gpu.ComputeCapability, berth.ParseComputeCapability)
	if a.yes("nvlink") {
		gpu.Clique = "nvlink"
	}
	gpu.MIGTable, gpu.MaxShares = a.text("table"), a.integer("max-shares", 0)
	gpu.Mode, gpu.Instances = a.partition()
	for range min(a.integer("gpus", 8), berth.MaxGPUs+1) { // one too many is enough to be refused
		n.GPUs = append(n.GPUs, gpu)
	}
	for i, text := range a.list("nics") {
		gbit, err := strconv.Atoi(text)
		if err != nil {
			a.fail("nics=: %q is no number of Gbit/s", text)
		}
		n.NICs = append(n.NICs, berth.NIC{Name: "nic" + strconv.Itoa(i), MbitPerSecond: 1000 * int64(gbit)})
	}
	for _, text := range a.list("failed") {
		i, err := strconv.Atoi(text)
		if err != nil || i < 0 || i >= len(n.GPUs) {
			a.fail("failed=: %q is no GPU of the node", text)
			continue
		}
		n.GPUs[i].Failed = true
	}
	return n
}

// about is a command with a name alone, and perhaps a reason.
func about[ID ~string](make func(ID, string) berth.Event) factory {
	return func(_ *Session, a *arguments) ([]berth.Event, error) {
		return one(make(ID(a.word(0)), a.reason), a.finish(1))
	}
}

func failGPU(_ *Session, a *arguments) ([]berth.Event, error) {
	return one(berth.GPUFailed{Node: berth.NodeID(a.word(0)), GPU: a.number(1), Reason: a.reason}, a.finish(2))
}

func repairGPU(_ *Session, a *arguments) ([]berth.Event, error) {
	return one(berth.GPURepaired{Node: berth.NodeID(a.word(0)), GPU: a.number(1)}, a.finish(2))
}

func setQueue(_ *Session, a *arguments) ([]berth.Event, error) {
	q := quota.Queue{
		Name: berth.QueueID(a.word(0)), Parent: berth.QueueID(a.text("parent")),
		Guarantee: a.amounts("guarantee"), Limit: a.amounts("limit"),
		LendingLimit: a.amounts("lending"), BorrowingLimit: a.amounts("borrowing"),
		GuaranteeShare: a.thousandths("guarantee-share"), LimitShare: a.thousandths("limit-share"),
		Weight: int64(a.integer("weight", 0)),
	}
	return one(berth.QueueSet{Queue: q}, a.finish(1))
}

func changePolicy(_ *Session, a *arguments) ([]berth.Event, error) {
	return one(berth.PolicyChanged{Policy: a.policy()}, a.finish(0))
}

func (a *arguments) policy() berth.Policy {
	p := berth.Policy{
		BindTimeout: a.span("bind-timeout"), ReleaseTimeout: a.span("release-timeout"),
		ReleaseAttempts: a.integer("release-attempts", 0),
		RetryBackoff:    a.span("retry-backoff"), MaxRetryBackoff: a.span("max-retry-backoff"),
		PassBudget:   a.integer("pass-budget", 0),
		Stretch:      a.integer("stretch", 0),
		ReserveAfter: a.span("reserve-after"), ReservedGangs: a.integer("reserved-gangs", 0),
		ReservationTimeout: a.span("reservation-timeout"), AssumedRuntime: a.span("assumed-runtime"), RuntimeSamples: a.integer("runtime-samples", 0),
		BackfillBudget:     a.integer("backfill-budget", 0),
		RepartitionTimeout: a.span("repartition-timeout"),
		UsageHalfLife:      a.span("half-life"),
		Preemption:         a.preemption(),
		Defragmentation:    a.defragmentation(),
		Caps:               a.caps(),
		Budgets:            a.budgets(),
		OverLimit:          berth.OverLimit{Stop: a.yes("stop-over-limit"), After: a.span("over-limit-after")},
		Lending:            a.lending(),
		Idle:               a.idle(),
		Health:             a.health(),
		HotSpares:          a.hotSpares(),
	}
	a.one("locality", &p.Locality)
	for _, text := range a.all("geometry") {
		p.Geometry = append(p.Geometry, a.geometry(text))
	}
	return p
}

func (a *arguments) config() berth.Config {
	c := berth.Config{Policy: a.policy(), Limits: berth.Limits{
		Nodes: a.integer("limit-nodes", 0), Queues: a.integer("limit-queues", 0), Replicas: a.integer("limit-replicas", 0),
		Members: a.integer("limit-members", 0), SurplusMembers: a.integer("limit-surplus-members", 0),
		Groups: a.integer("limit-groups", 0), Reservations: a.integer("limit-reservations", 0),
	}}
	c.Fabric = a.fabric()
	for _, text := range a.list("resources") {
		name, unit, _ := strings.Cut(text, ":")
		c.Resources = append(c.Resources, countable.Declaration{Name: name, Unit: unit})
	}
	if levels := a.text("levels"); levels != "" {
		c.Levels = strings.Split(levels, ",")
	}
	return c
}

func (a *arguments) fabric() berth.Fabric {
	f := berth.Fabric{IslandLevel: a.text("island"), RailLevel: a.text("rail")}
	for _, text := range a.list("oversubscription") {
		level, digits, _ := strings.Cut(text, ":")
		ratio, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			a.fail("oversubscription=%s is not of the form leaf:2000", text)
		}
		f.Oversubscription = append(f.Oversubscription, berth.Oversubscription{Level: level, RatioMilli: ratio})
	}
	return f
}

func reportOrders(s *Session, a *arguments) ([]berth.Event, error) {
	var outcome berth.Outcome
	if err := outcome.UnmarshalText([]byte(a.word(1))); err != nil {
		return nil, err
	}
	members, err := a.members(2)
	if err != nil {
		return nil, err
	}
	var events []berth.Event
	report := func(id berth.OrderID) {
		events = append(events, berth.OrderReported{Order: id, Outcome: outcome, Members: members, Reason: a.reason})
	}
	if a.word(0) == "all" {
		for _, order := range s.core.Outstanding() {
			report(order.Header().ID)
		}
		if events == nil {
			return nil, fmt.Errorf("no order is out")
		}
	} else {
		report(berth.OrderID(a.number(0)))
	}
	return events, a.finish(max(2, len(a.words)))
}
