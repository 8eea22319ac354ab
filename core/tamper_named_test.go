package core_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
)

// What no core saves is refused by its name, case by case: each of these was accepted, and made a
// core that panicked later, contradicted itself, or could not be saved.
func TestR1_WhatNoCoreSavesIsRefused(t *testing.T) {
	const release = `"code":"cancelled"},"members":[{"index":0,"node":"n2","gpus":[0,1,2,3]}]`
	const bind = `"code":"grows"},"members":[{"index":1,"node":"n5"`
	varied, moving, dead, divides := newVariedCore(t), newMovingCore(t), newDeadCore(t), newDividingCore(t)
	torn, whole := newTornCore(t), fleetOf(t, "n1", "n2")
	whole.runs(gang("whole", 2))
	ends := fleetOf(t, "n1")
	ends.runs(one("q", "ends", 1, func(j *berth.Job) { j.MaxRuntime = berth.Hour }))
	surging := newSurgingCore(t)
	either := fleetOf(t, "n1")
	either.tell(gang("either", 2, func(j *berth.Job) { j.Alternatives = []berth.Alternative{{Groups: gangJob("", 1, 8).Groups}} }))
	require.Len(t, either.pass(), 1)
	for _, c := range []struct {
		name          string
		core          *core.Core
		before, after string
		field, reason string
	}{
		{"a clock after the last instant", varied, `"now":1000`, fmt.Sprintf(`"now":%d`, int64(limits.MaxInstant)+1), "now", "outside"},
		{"more orders than there are", varied, `"lastOrder":11`, fmt.Sprintf(`"lastOrder":%d`, uint64(2*limits.MaxOrder)+1), "lastOrder", "exceeds"},
		{"an end that never comes", varied, `"endsAt":61000`, fmt.Sprintf(`"endsAt":%d`, int64(limits.MaxFuture)+1), "jobs[0].replicas[0].endsAt", "out of range"},
		{"a replica of tomorrow", varied, `"created":1000`, `"created":1001`, "jobs[0].replicas[0].created", "yet to come"},
		{"a wait of tomorrow", varied, `"pendingSince":1000`, `"pendingSince":1001`, "jobs[0].replicas[0].pendingSince", "yet to come"},
		{"a start of tomorrow", varied, `"started":1000`, `"started":1001`, "jobs[0].replicas[0].started", "yet to come"},
		{"a rank of tomorrow", varied, `"cameAt":1000`, `"cameAt":1001`, "jobs[0].replicas[0].cameAt", "yet to come"},
		{"a start before the epoch", varied, `"started":1000`, `"started":-1`, "jobs[0].replicas[0].started", "before the epoch"},

		{"a limit that does not end a job", ends.Core, `"limitAt":3600000`, `"limitAt":3600001`, "jobs[0].replicas[0].limitAt", "does not go with"},
		{"a limit that is not looked at", ends.Core, `,"limitAt":3600000`, ``, "jobs[0].replicas[0].limitAt", "does not go with"},
		{"a limit of a job without one", whole.Core, `"endsAt":`, `"limitAt":1,"endsAt":`, "jobs[0].replicas[0].limitAt", "does not go with"},

		{"an order for another replica", varied, `"job":"serves","replica":1`, `"job":"serves","replica":2`, "jobs[5].replicas[1].order.bind.job", "another replica"},
		{"an order of another life", varied, `"job":"elastic","incarnation":1`, `"job":"elastic","incarnation":2`, "jobs[1].replicas[0].order.bind.incarnation", "another life"},
		{"an order of tomorrow", varied, `"id":6,"at":1000`, `"id":6,"at":1001`, "jobs[1].replicas[0].order.bind.at", "yet to come"},
		{"a deadline before its order", varied, `"id":6,"at":1000,"deadline":121000`, `"id":6,"at":1000,"deadline":999`, "jobs[1].replicas[0].order.bind.deadline", "before the order"},
		{"a deadline that never comes", varied, `"id":6,"at":1000,"deadline":121000`, fmt.Sprintf(`"id":6,"at":1000,"deadline":%d`, int64(limits.MaxFuture)+1), "jobs[1].replicas[0].order.bind.deadline", "out of range"},
		{"a Bind of another alternative", either.Core, `,"alternative":1}},"endsAt"`, `}},"endsAt"`, "jobs[0].replicas[0].order.bind.alternative", "is 0"},
		{"an order without its job", varied, `"job":"elastic","incarnation":1`, `"incarnation":1`, "jobs[1].replicas[0].order.bind.job", "is missing"},
		{"a Bind of a member that there is not", varied, bind, `"code":"grows"},"members":[{"index":7,"node":"n5"`, "jobs[1].replicas[0].order.bind.members", "leaves out"},
		{"a Bind to another node", varied, bind, `"code":"grows"},"members":[{"index":1,"node":"n6"`, "jobs[1].replicas[0].order.bind.members[0]", "is not where"},
		{"a Bind of a member and of one that there is not", varied, bind, `"code":"grows"},"members":[{"index":1,"node":"n5","gpus":[0,1,2,3,4,5,6,7]},{"index":7,"node":"n5"`, "jobs[1].replicas[0].order.bind.members[1]", "is not a member"},
		{"a Bind of a member twice", varied, bind, `"code":"grows"},"members":[{"index":1,"node":"n5","gpus":[0,1,2,3,4,5,6,7]},{"index":1,"node":"n5"`, "jobs[1].replicas[0].order.bind.members[1]", "out of order"},
		{"a Release of nobody", varied, release, `"code":"cancelled"},"members":[]`, "jobs[0].replicas[0].order.release.members", "leaves out"},
		{"a Release of other GPUs", varied, release, `"code":"cancelled"},"members":[{"index":0,"node":"n2","gpus":[0,1,2]}]`, "jobs[0].replicas[0].order.release.members[0]", "is not where"},
		{"a request to nobody", moving, `is being drained: firmware"},"members":[{"index":0,"node":"n1","gpus":[0,1,2,3,4,5,6,7]}]`, `"},"members":[]`, "order.requestCheckpoint.members", "leaves out"},

		{"a member that ran before it was started", varied, `"state":"binding",`, `"state":"binding","ran":true,`, "jobs[1].replicas[0].members[1].ran", "is being started"},
		{"a member that failed to start in a gang that is released", torn, `"state":"stopping"`, `"state":"failed"`, "jobs[0].replicas[0].state", "does not go with"},
		{"a place of a gang that was not hit", torn, `"attempt":1}},"cause":{"code":"member-failed"`, `"attempt":1}},"cause":{"code":"cancelled"`, "jobs[0].replicas[0].stood", "no member of it died"},
		{"a place of a gang that will not back off", torn, `,"backoff":true`, ``, "jobs[0].replicas[0].stood", "does not back off"},
		{"a plan that tears the gang", dead, `"job":{"id":"kept","queue":"q",`, `"job":{"id":"kept","queue":"q","topology":{"required":"node"},`, "jobs[1].replicas[0].moving.where", "several domains of level node"},
		{"a turn in a round of moves that is over", dead, `"stood":`, `"sought":true,"stood":`, "jobs[0].replicas[0].sought", "no round"},
		{"a GPU that was in no mode", divides, `"before":{"mode":"whole"}`, `"before":{}`, "nodes[0].gpus[0].before.mode", "is not set"},
		{"a GPU with an order out, of which nothing is known", divides, `"before":{"mode":"whole"}`, `"before":{"mode":"whole"},"unknown":true`, "nodes[0].gpus[0].overdue", "not known"},
		{"a gang to repair that is complete", whole.Core, `"replica":0,"state":"running"`, `"replica":0,"state":"repairing"`, "jobs[0].replicas[0].state", "does not go with"},
		{"a table by another name", divides, `"table":{"name":"tiny"`, `"table":{"name":"other"`, "tables[0].table.name", "not the name"},
		{"a table that there is not", divides, `"tables":[`, `"tables":[{"name":"none"},`, "tables[0].name", "none"},
		{"a stand-in for nobody", surging, `"instead":0`, `"instead":7`, "jobs[0].replicas[2].instead", "no replica"},
		{"a stand-in for itself", surging, `"instead":0`, `"instead":2`, "jobs[0].replicas[2].instead", "cannot be"},
		{"a stand-in without a surge", surging, `,"surge":1`, ``, "jobs[0].replicas[2].instead", "no replica"},
		{"a replica that runs as a stand-in", surging, `"replica":1,"state":"running"`, `"replica":1,"instead":0,"state":"running"`, "jobs[0].replicas[1].instead", "is running"},
		{"a Bind in the place of another", surging, `"instead":{"job":"chat"}`, `"instead":{"job":"chat","replica":1}`, "jobs[0].replicas[2].order", "names"},
		{"a Bind in the place of one, of no stand-in", surging, `,"instead":0}`, `}`, "jobs[0].replicas[2].order", "is none"},
		{"a negative count of stand-ins", surging, `"instead":0`, `"standInsFailed":-1,"instead":0`, "jobs[0].replicas[2].attempts", "out of range"},
		{"a spare in use that holds nothing", varied, `"cordoned":true`, `"cordoned":true,"spareInUse":true`, "nodes[6].spareInUse", "holds no member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			saved, err := c.core.Snapshot()
			require.NoError(t, err)
			require.True(t, bytes.Contains(saved, []byte(c.before)), "the test changes nothing: %s", saved)
			_, err = core.Restore(bytes.Replace(saved, []byte(c.before), []byte(c.after), 1))
			var refused *berth.Error
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Field, c.field)
			require.Contains(t, refused.Reason, c.reason)
		})
	}
}

// newDividingCore has a table that was told, and a Repartition out.
func newDividingCore(t *testing.T) *core.Core {
	d := newDivided(t, berth.Geometry{})
	d.tell(berth.MIGTableSet{Table: mig.Product{
		Name: "tiny", ComputeSlices: 1, MemorySlices: 1,
		Profiles: []mig.Profile{{Name: mig.ProfileName{ComputeSlices: 1, MemoryGB: 5}, ComputeSlices: 1, MemorySlices: 1, Starts: []int{0}, MaxCount: 1}},
	}})
	d.node("n1", 1, berth.GPUModeWhole)
	d.job("shares", 1, berth.Claim{Share: &berth.Share{Mode: berth.ShareMPS, GPUMilli: 500}})
	d.pass()
	return d.Core
}

// newTornCore has a gang that is released because one of its members died.
func newTornCore(t *testing.T) *core.Core {
	d := fleetOf(t, "n1", "n2")
	d.runs(gang("torn", 2))
	d.tell(berth.MemberFailed{Job: "torn", Incarnation: 1, Members: []berth.MemberRef{{Index: 1}}})
	require.Len(t, d.pass(), 1)
	return d.Core
}

// newSurgingCore has a replica being started in the place of the first of a service of two.
func newSurgingCore(t *testing.T) *core.Core {
	d := fleetOf(t, "n1", "n2", "n3")
	d.tell(one("q", "chat", 1, func(j *berth.Job) { j.Service = &berth.Service{Replicas: 2, Surge: 1} }))
	for _, order := range d.pass() {
		d.tell(berth.OrderReported{Order: order.Header().ID, Outcome: berth.OutcomeDone})
	}
	d.tell(berth.NodeDraining{Node: "n1"})
	require.Len(t, d.pass(), 1)
	return d.Core
}
