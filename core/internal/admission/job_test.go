package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// machine is a fleet of two racks with two nodes of 8 GPUs each, n1 and n2, n3 and n4, and a queue.
// The limits are small.
func machine(t roomtest.TB) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{
		Levels: []string{"zone", "rack"}, Fabric: berth.Fabric{RailLevel: "rack"},
		Limits: berth.Limits{Replicas: 9, Members: 12, SurplusMembers: 4, Groups: 3},
	})
	m.Nodes(2, 8, "z", "r1")
	m.Nodes(2, 8, "z", "r2")
	m.Queue("a", 8)
	return m
}

func job(id berth.JobID, members, gpus int) berth.Job { return roomtest.Job(id, "a", members, gpus) }

func service(id berth.JobID, replicas, gpus int) berth.Job {
	j := job(id, 1, gpus)
	j.Service = &berth.Service{Replicas: replicas}
	return j
}

// checked is what comes of a job of four members with a GPU each, changed.
func checked(m *roomtest.Machine, change func(*berth.Job)) *berth.Error {
	j := job("job", 4, 1)
	change(&j)
	_, err := m.Admission.NewJob(&j)
	return err
}

// topology changes what the group of a job asks of its places.
func topology(change func(*berth.Topology)) func(*berth.Job) {
	return func(j *berth.Job) { change(&j.Groups[0].Topology) }
}

// Invariant 1.
func TestJobsThatMakeNoSenseAreRefused(t *testing.T) {
	m := machine(t)
	for name, c := range map[string]struct {
		kind   error
		field  string
		change func(*berth.Job)
	}{
		"no ID":                {berth.ErrInvalid, "id", func(j *berth.Job) { j.ID = "" }},
		"no queue":             {berth.ErrInvalid, "queue", func(j *berth.Job) { j.Queue = "" }},
		"a tenant of no text":  {berth.ErrInvalid, "tenant", func(j *berth.Job) { j.Tenant = "a\x00" }},
		"no class":             {berth.ErrInvalid, "class", func(j *berth.Job) { j.Class = berth.ClassLatencyCritical + 1 }},
		"a negative time":      {berth.ErrInvalid, "minRuntime", func(j *berth.Job) { j.MinRuntime = -1 }},
		"a negative limit":     {berth.ErrInvalid, "maxRuntime", func(j *berth.Job) { j.MaxRuntime = -1 }},
		"less than it may":     {berth.ErrInvalid, "maxRuntime", func(j *berth.Job) { j.MinRuntime, j.MaxRuntime = 2, 1 }},
		"no time to save":      {berth.ErrInvalid, "maxRuntime", func(j *berth.Job) { j.MaxRuntime, j.Checkpoint = 1, berth.Checkpoint{Supported: true, Cost: 1} }},
		"a service that ends":  {berth.ErrUnsupported, "maxRuntime", func(j *berth.Job) { j.Service, j.MaxRuntime = &berth.Service{}, 1 }},
		"negative replicas":    {berth.ErrInvalid, "service.replicas", func(j *berth.Job) { j.Service = &berth.Service{Replicas: -1} }},
		"a timeout":            {berth.ErrUnsupported, "gangTimeout", func(j *berth.Job) { j.Service, j.GangTimeout = &berth.Service{}, 1 }},
		"no groups":            {berth.ErrInvalid, "groups", func(j *berth.Job) { j.Groups = nil }},
		"no members":           {berth.ErrInvalid, "groups[0].members", func(j *berth.Job) { j.Groups[0].Members = 0 }},
		"a negative minimum":   {berth.ErrInvalid, "groups[0].minMembers", func(j *berth.Job) { j.Groups[0].MinMembers = -1 }},
		"a minimum above all":  {berth.ErrInvalid, "groups[0].minMembers", func(j *berth.Job) { j.Groups[0].MinMembers = 5 }},
		"a claim for nothing":  {berth.ErrInvalid, "groups[0].claim", func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{} }},
		"a pool without name":  {berth.ErrInvalid, "groups[0].selector.pools[0]", func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{""} }},
		"a name of no text":    {berth.ErrInvalid, "groups[0].name", func(j *berth.Job) { j.Groups[0].Name = "\x00" }},
		"groups without names": {berth.ErrInvalid, "groups[0].name", func(j *berth.Job) { j.Groups = append(j.Groups, j.Groups[0]) }},
		"a choice of nothing":  {berth.ErrInvalid, "choose", func(j *berth.Job) { j.Choose = berth.ChooseSoonest }},
		"no choice":            {berth.ErrInvalid, "choose", func(j *berth.Job) { j.Alternatives, j.Choose = make([]berth.Alternative, 1), 2 }},
		"too many alternatives": {berth.ErrLimit, "alternatives", func(j *berth.Job) {
			j.Alternatives = make([]berth.Alternative, 8)
		}},
		"a service with alternatives": {berth.ErrUnsupported, "alternatives", func(j *berth.Job) {
			j.Service, j.Alternatives = &berth.Service{}, make([]berth.Alternative, 1)
		}},
		"an alternative without groups": {berth.ErrInvalid, "alternatives[0].groups", func(j *berth.Job) {
			j.Alternatives = make([]berth.Alternative, 1)
		}},
		"an elastic alternative": {berth.ErrUnsupported, "alternatives[0].groups[0].minMembers", func(j *berth.Job) {
			j.Alternatives = []berth.Alternative{{Groups: []berth.Group{{Members: 2, MinMembers: 1, Claim: berth.WholeGPUs(1)}}}}
		}},
		"alternatives to an elastic gang": {berth.ErrUnsupported, "groups[0].minMembers", func(j *berth.Job) {
			j.Groups[0].Members, j.Groups[0].MinMembers = 2, 1
			j.Alternatives = []berth.Alternative{{Groups: []berth.Group{{Members: 2, Claim: berth.WholeGPUs(1)}}}}
		}},
		"an alternative that borrows": {berth.ErrUnsupported, "alternatives[0].groups[0].claim.borrow", func(j *berth.Job) {
			j.Alternatives = []berth.Alternative{{Groups: []berth.Group{{Members: 1, Claim: berth.BorrowedGPU(1)}}}}
		}},
		"an alternative with topology for groups": {berth.ErrInvalid, "alternatives[0].topology.spread", func(j *berth.Job) {
			j.Alternatives = []berth.Alternative{{Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}, Topology: berth.Topology{Spread: "node"}}}
		}},
		"a cap on a start": {berth.ErrInvalid, "maxRequeues[0].cause", func(j *berth.Job) { j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseFits}} }},
		"a cap below none": {berth.ErrInvalid, "maxRequeues[0].requeues", func(j *berth.Job) {
			j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseDrained, Requeues: -1}}
		}},
		"two caps on a cause": {berth.ErrDuplicate, "maxRequeues[1].cause", func(j *berth.Job) {
			j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseDrained}, {Cause: berth.CauseDrained}}
		}},
		"too many caps": {berth.ErrLimit, "maxRequeues", func(j *berth.Job) { j.MaxRequeues = make([]berth.RequeueCap, 17) }},
		"a service with a cap": {berth.ErrUnsupported, "maxRequeues", func(j *berth.Job) {
			j.Service, j.MaxRequeues = &berth.Service{}, []berth.RequeueCap{{Cause: berth.CauseDrained}}
		}},
		"a label without name": {berth.ErrInvalid, "sameLabels[0]", func(j *berth.Job) { j.SameLabels = []string{""} }},
		"groups of one name": {berth.ErrDuplicate, "groups[1].name", func(j *berth.Job) {
			j.Groups[0].Name = "g"
			j.Groups = append(j.Groups, j.Groups[0])
		}},

		"segments of a job":        {berth.ErrInvalid, "topology.segments", func(j *berth.Job) { j.Topology.Segments = []berth.Segment{{Size: 1, Level: "rack"}} }},
		"a balanced job":           {berth.ErrInvalid, "topology.balance", func(j *berth.Job) { j.Topology.Balance = "rack" }},
		"a job spread":             {berth.ErrInvalid, "topology.spread", func(j *berth.Job) { j.Topology.Spread = "rack" }},
		"a skew of a job":          {berth.ErrInvalid, "topology.spread", func(j *berth.Job) { j.Topology.MaxSkew = 1 }},
		"rails of a job":           {berth.ErrInvalid, "topology.railAligned", func(j *berth.Job) { j.Topology.RailAligned = true }},
		"a part in no level":       {berth.ErrUnknown, "topology.parts[0].required", parted("", berth.Part{Name: "x", Required: "row"})},
		"a part without a name":    {berth.ErrInvalid, "topology.parts[0].name", parted("", berth.Part{})},
		"parts of one name":        {berth.ErrDuplicate, "topology.parts[1].name", parted("", berth.Part{Name: "x"}, berth.Part{Name: "x"})},
		"fewer copies than none":   {berth.ErrInvalid, "topology.parts[0].copies", parted("", berth.Part{Name: "x", Copies: -1})},
		"too many copies":          {berth.ErrLimit, "topology.parts[1].copies", parted("", berth.Part{Name: "x", Copies: 1024}, berth.Part{Name: "y"})},
		"too many parts":           {berth.ErrLimit, "topology.parts", parted("", make([]berth.Part, 65)...)},
		"apart in no level":        {berth.ErrUnknown, "topology.apart", parted("row", berth.Part{Name: "x"})},
		"apart on nodes":           {berth.ErrUnsupported, "topology.apart", parted("node", berth.Part{Name: "x"})},
		"apart in the whole fleet": {berth.ErrInvalid, "topology.apart", parted("fleet", berth.Part{Name: "x"})},
		"apart without parts":      {berth.ErrInvalid, "topology.apart", parted("rack")},
		"a part wider than apart":  {berth.ErrInvalid, "topology.parts[0].required", parted("rack", berth.Part{Name: "x", Required: "zone"})},
		"apart within itself": {berth.ErrInvalid, "topology.apart", func(j *berth.Job) {
			parted("rack", berth.Part{Name: "x"})(j)
			j.Topology.Required = "rack"
		}},
		"no such part":             {berth.ErrUnknown, "groups[0].part", func(j *berth.Job) { j.Groups[0].Part = "x" }},
		"half a member in a copy":  {berth.ErrInvalid, "groups[0].members", inPart(3, func(*berth.Group) {})},
		"half a segment in a copy": {berth.ErrInvalid, "groups[0].topology.segments[0].size", inPart(4, func(g *berth.Group) { g.Topology.Segments = []berth.Segment{{Size: 2, Level: "rack"}} })},
		"copies, starting short":   {berth.ErrUnsupported, "groups[0].minMembers", inPart(2, func(g *berth.Group) { g.MinMembers = 2 })},
		"copies, balanced":         {berth.ErrUnsupported, "groups[0].topology", inPart(2, func(g *berth.Group) { g.Topology.Balance = "rack" })},
		"parts of a group":         {berth.ErrInvalid, "groups[0].topology.parts", topology(func(p *berth.Topology) { p.Parts = []berth.Part{{Name: "x"}} })},
		"a group apart":            {berth.ErrInvalid, "groups[0].topology.apart", topology(func(p *berth.Topology) { p.Apart = "rack" })},
		"spread within its part": {berth.ErrInvalid, "groups[0].topology.spread", func(j *berth.Job) {
			parted("", berth.Part{Name: "x", Required: "rack"})(j)
			j.Groups[0].Part, j.Groups[0].Topology.Spread = "x", "rack"
		}},

		"exclusive in no level":   {berth.ErrUnknown, "topology.exclusive", func(j *berth.Job) { j.Topology.Exclusive = "row" }},
		"the fleet for one alone": {berth.ErrInvalid, "topology.exclusive", func(j *berth.Job) { j.Topology.Exclusive = "fleet" }},
		"required in no level":    {berth.ErrUnknown, "topology.required", func(j *berth.Job) { j.Topology.Required = "row" }},
		"preferred in no level":   {berth.ErrUnknown, "topology.preferred", func(j *berth.Job) { j.Topology.Preferred = "row" }},
		"wider preferred":         {berth.ErrInvalid, "topology.preferred", func(j *berth.Job) { j.Topology.Preferred, j.Topology.Required = "zone", "rack" }},

		"wider preferred of a group": {berth.ErrInvalid, "groups[0].topology.preferred", topology(func(p *berth.Topology) { p.Preferred, p.Required = "zone", "rack" })},
		"a group exclusive":          {berth.ErrInvalid, "groups[0].topology.exclusive", topology(func(p *berth.Topology) { p.Exclusive = "rack" })},
		"balance at no level":        {berth.ErrUnknown, "groups[0].topology.balance", topology(func(p *berth.Topology) { p.Balance = "row" })},
		"balance within itself":      {berth.ErrInvalid, "groups[0].topology.balance", topology(func(p *berth.Topology) { p.Balance, p.Required = "rack", "rack" })},
		"balance within the job's": {berth.ErrInvalid, "groups[0].topology.balance", func(j *berth.Job) {
			j.Topology.Required, j.Groups[0].Topology.Balance = "rack", "zone"
		}},
		"balance inside segments": {berth.ErrInvalid, "groups[0].topology.balance", topology(func(p *berth.Topology) {
			p.Balance, p.Segments = "rack", []berth.Segment{{Size: 2, Level: "zone"}}
		})},
		"spread at no level":   {berth.ErrUnknown, "groups[0].topology.spread", topology(func(p *berth.Topology) { p.Spread = "row" })},
		"spread within itself": {berth.ErrInvalid, "groups[0].topology.spread", topology(func(p *berth.Topology) { p.Spread, p.Required = "rack", "rack" })},
		"a negative skew":      {berth.ErrInvalid, "groups[0].topology.maxSkew", topology(func(p *berth.Topology) { p.Spread, p.MaxSkew = "rack", -1 })},
		"a skew of nothing":    {berth.ErrInvalid, "groups[0].topology.maxSkew", topology(func(p *berth.Topology) { p.MaxSkew = 1 })},
		"spread and balanced":  {berth.ErrInvalid, "groups[0].topology.spread", topology(func(p *berth.Topology) { p.Spread, p.Balance = "rack", "rack" })},
		"spread, starting short": {berth.ErrUnsupported, "groups[0].topology.spread", func(j *berth.Job) {
			j.Groups[0].Topology.Spread, j.Groups[0].MinMembers = "rack", 2
		}},
		"rails without GPUs": {berth.ErrInvalid, "groups[0].topology.railAligned", func(j *berth.Job) {
			j.Groups[0].Topology.RailAligned, j.Groups[0].Claim = true, berth.Claim{CPUMilli: 1}
		}},
		"rails in segments": {berth.ErrInvalid, "groups[0].topology.railAligned", topology(func(p *berth.Topology) { p.RailAligned, p.Balance = true, "rack" })},
		"rails, starting short": {berth.ErrUnsupported, "groups[0].topology.railAligned", func(j *berth.Job) {
			j.Groups[0].Topology.RailAligned, j.Groups[0].MinMembers = true, 2
		}},

		"segments of no level":     {berth.ErrInvalid, "groups[0].topology.segments[0].level", segments(berth.Segment{Size: 2})},
		"segments of another":      {berth.ErrUnknown, "groups[0].topology.segments[0].level", segments(berth.Segment{Size: 2, Level: "row"})},
		"empty segments":           {berth.ErrInvalid, "groups[0].topology.segments[0].size", segments(berth.Segment{Level: "rack"})},
		"segments that leave some": {berth.ErrInvalid, "groups[0].topology.segments[0].size", segments(berth.Segment{Size: 3, Level: "rack"})},
		"segments that do not nest": {
			berth.ErrInvalid, "groups[0].topology.segments[1].size",
			segments(berth.Segment{Size: 4, Level: "rack"}, berth.Segment{Size: 3, Level: "rack"}),
		},
		"wider segments inside": {
			berth.ErrInvalid, "groups[0].topology.segments[1].level",
			segments(berth.Segment{Size: 4, Level: "rack"}, berth.Segment{Size: 2, Level: "zone"}),
		},
		"segments wider than required": {berth.ErrInvalid, "groups[0].topology.segments[0].level", func(j *berth.Job) {
			j.Topology.Required = "rack"
			segments(berth.Segment{Size: 2, Level: "zone"})(j)
		}},
		"a minimum that cuts a segment": {berth.ErrInvalid, "groups[0].topology.segments[0].size", func(j *berth.Job) {
			j.Groups[0].MinMembers = 3
			segments(berth.Segment{Size: 2, Level: "rack"})(j)
		}},
		"too many segments": {berth.ErrLimit, "groups[0].topology.segments", segments(make([]berth.Segment, 64)...)},

		"no such queue": {berth.ErrUnknown, "queue", func(j *berth.Job) { j.Queue = "b" }},
		"the root":      {berth.ErrInvalid, "queue", func(j *berth.Job) { j.Queue = berth.QueueID(m.State.Quota.Name(quota.RootQueue)) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			m.Refused(checked(m, c.change), c.kind, c.field)
			require.Empty(t, m.State.Jobs)
		})
	}
}

func parted(apart string, list ...berth.Part) func(*berth.Job) {
	return func(j *berth.Job) { j.Topology.Parts, j.Topology.Apart = list, apart }
}

// inPart has the group of four be of a part with so many copies.
func inPart(copies int, change func(*berth.Group)) func(*berth.Job) {
	return func(j *berth.Job) {
		parted("", berth.Part{Name: "x", Copies: copies})(j)
		j.Groups[0].Part = "x"
		change(&j.Groups[0])
	}
}

func segments(list ...berth.Segment) func(*berth.Job) {
	return topology(func(p *berth.Topology) { p.Segments = list })
}

func TestJobsThatMakeSenseAreTaken(t *testing.T) {
	m := machine(t)
	for name, change := range map[string]func(*berth.Job){
		"plain": func(*berth.Job) {},
		"preferred": func(j *berth.Job) {
			j.Topology = berth.Topology{Required: "zone", Preferred: "rack", Exclusive: "rack"}
		},
		"preferred alike": func(j *berth.Job) { j.Topology = berth.Topology{Required: "rack", Preferred: "rack"} },
		"segments": func(j *berth.Job) {
			j.Topology.Required, j.Groups[0].MinMembers = "zone", 2
			segments(berth.Segment{Size: 2, Level: "zone"}, berth.Segment{Size: 1, Level: "rack"})(j)
		},
		"segments, balanced": topology(func(p *berth.Topology) { p.Segments, p.Balance = []berth.Segment{{Size: 2, Level: "rack"}}, "zone" }),
		"spread":             topology(func(p *berth.Topology) { p.Spread, p.MaxSkew, p.Required = "rack", 2, "zone" }),
		"balanced":           topology(func(p *berth.Topology) { p.Balance = "rack" }),
		"on rails":           topology(func(p *berth.Topology) { p.RailAligned = true }),
		"copies apart": func(j *berth.Job) {
			inPart(2, func(g *berth.Group) { g.Topology.Required = "node" })(j)
			j.Topology.Apart = "rack"
		},
		"no replicas":      func(j *berth.Job) { j.Service = &berth.Service{} },
		"so many replicas": func(j *berth.Job) { j.Service = &berth.Service{Replicas: 9} },
		"so many members":  func(j *berth.Job) { j.Groups[0].Members = 12 },
		"so much surplus":  func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 5, 1 },
		"as much surplus as the minimum": func(j *berth.Job) {
			j.Groups[0].Members, j.Groups[0].MinMembers = 12, 6
		},
	} {
		m.NoRefusal(checked(m, change))
		require.Empty(t, m.State.Jobs, "%s: it is built, and nothing is changed", name)
	}
	plain := roomtest.New(t, berth.Config{})
	plain.Queue("a", 0)
	plain.Refused(checked(plain, topology(func(p *berth.Topology) { p.RailAligned = true })), berth.ErrUnsupported, "groups[0].topology.railAligned")
}

// Invariant 2.
func TestLimitsHold(t *testing.T) {
	m := machine(t)
	for field, change := range map[string]func(*berth.Job){
		"service.replicas": func(j *berth.Job) { j.Service = &berth.Service{Replicas: 10} },
		"groups": func(j *berth.Job) {
			for i := range 4 {
				j.Groups = append(j.Groups[:i:i], berth.Group{Name: string(rune('a' + i)), Members: 1, Claim: berth.WholeGPUs(1)})
			}
		},
		"groups[0].members": func(j *berth.Job) { j.Groups[0].Members = 13 },
		"groups[1].members": func(j *berth.Job) {
			j.Groups = []berth.Group{{Name: "a", Members: 12, Claim: berth.WholeGPUs(1)}, {Name: "b", Members: 1, Claim: berth.WholeGPUs(1)}}
		},
	} {
		m.Refused(checked(m, change), berth.ErrLimit, field)
	}
	m.Refused(checked(m, func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 6, 1 }), berth.ErrLimit, "groups")
	m.Refused(m.Admission.CheckReplicas(10), berth.ErrLimit, "")
	m.Refused(m.Admission.CheckReplicas(-1), berth.ErrInvalid, "")
	m.NoRefusal(m.Admission.CheckReplicas(9))
}

// Invariant 3.
func TestAJobIsTakenOnce(t *testing.T) {
	m := machine(t)
	told := service("job", 2, 1)
	m.Wait(told)
	_, err := m.Admission.NewJob(&told)
	m.Refused(err, berth.ErrRepeated, "id")
	scaled := service("job", 3, 1)
	_, err = m.Admission.NewJob(&scaled)
	m.Refused(err, berth.ErrRepeated, "id")
	for _, other := range []berth.Job{service("job", 2, 2), job("job", 1, 1)} {
		_, err = m.Admission.NewJob(&other)
		m.Refused(err, berth.ErrDuplicate, "id")
	}
}

// Jobs go to the leaves of the tree.
func TestAJobGoesToALeaf(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "below", Parent: "a"})
	m.Refused(checked(m, func(*berth.Job) {}), berth.ErrInvalid, "queue")
	m.NoRefusal(checked(m, func(j *berth.Job) { j.Queue = "below" }))
}

// Invariant 6: between whole GPUs and shares a GPU is in the mode of those that run on it; an
// instance needs one that is divided, and others one that is not.
func TestAMemberIsObservedOnAGPUInItsMode(t *testing.T) {
	m := machine(t)
	n := m.NodeNamed("n1")
	at := &berth.MemberPlacement{Node: "n1", GPUs: berth.GPUSetOf(1)}
	claims := map[berth.GPUMode]berth.Claim{
		berth.GPUModeWhole: berth.WholeGPUs(1), berth.GPUModeMIG: berth.MIGInstance("1g.10gb"),
		berth.GPUModeMPS: berth.SharedGPU(berth.ShareMPS, 500), berth.GPUModeTimeSlice: berth.SharedGPU(berth.ShareTimeSlice, 500),
	}
	for mode := range claims {
		for needs, claim := range claims {
			n.Spec.GPUs[1].Mode = mode
			err := m.Admission.CheckMode(&claim, at)
			if same := mode == needs; !same && (mode == berth.GPUModeMIG || needs == berth.GPUModeMIG) {
				m.Refused(err, berth.ErrConflict, "gpus")
			} else {
				m.NoRefusal(err)
			}
		}
	}
	n.Spec.GPUs[1].Mode = berth.GPUModeWhole
	m.Bind(m.Wait(berth.Job{ID: "share", Queue: "a", Class: berth.ClassInteractive, Groups: []berth.Group{{Members: 1, Claim: claims[berth.GPUModeMPS]}}}), "n1")
	require.Equal(t, berth.GPUModeMPS, n.Spec.GPUs[0].Mode)
	whole := claims[berth.GPUModeWhole]
	m.Refused(m.Admission.CheckMode(&whole, &berth.MemberPlacement{Node: "n1", GPUs: berth.GPUSetOf(0)}), berth.ErrConflict, "gpus")
	mps := claims[berth.GPUModeMPS]
	m.NoRefusal(m.Admission.CheckMode(&mps, &berth.MemberPlacement{Node: "n1", GPUs: berth.GPUSetOf(0)}))
}
