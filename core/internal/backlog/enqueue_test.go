package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/mig"
)

func TestAPlacementIsRefusedThatHasNotWhatItsClaimAsksFor(t *testing.T) {
	whole, share, instance := berth.WholeGPUs(2), berth.SharedGPU(berth.ShareTimeSlice, 500), berth.MIGInstance("1g.10gb")
	for name, c := range map[string]struct {
		claim berth.Claim
		at    berth.MemberPlacement
		kind  error
		field string
	}{
		"unknown node":     {whole, berth.MemberPlacement{Node: "nowhere"}, berth.ErrUnknown, "node"},
		"no such GPU":      {whole, berth.MemberPlacement{Node: "n1", GPUs: 1<<8 | 1}, berth.ErrInvalid, "gpus"},
		"a failed GPU":     {whole, berth.MemberPlacement{Node: "n1", GPUs: 1<<7 | 1}, berth.ErrConflict, "gpus"},
		"too few GPUs":     {whole, berth.MemberPlacement{Node: "n1", GPUs: 1}, berth.ErrInvalid, "gpus"},
		"a share of two":   {share, berth.MemberPlacement{Node: "n1", GPUs: 3, ShareMilli: 500}, berth.ErrInvalid, "gpus"},
		"a smaller share":  {share, berth.MemberPlacement{Node: "n1", GPUs: 1, ShareMilli: 400}, berth.ErrInvalid, "shareMilli"},
		"negative memory":  {share, berth.MemberPlacement{Node: "n1", GPUs: 1, ShareMilli: 500, ShareMemoryMiB: -1}, berth.ErrInvalid, "shareMemoryMiB"},
		"memory of none":   {whole, berth.MemberPlacement{Node: "n1", GPUs: 3, ShareMemoryMiB: 1}, berth.ErrInvalid, "shareMemoryMiB"},
		"no instance":      {instance, berth.MemberPlacement{Node: "n1", GPUs: 1}, berth.ErrInvalid, "instance"},
		"an instance more": {whole, berth.MemberPlacement{Node: "n1", GPUs: 3, Instance: mig.Placement{Size: 1}}, berth.ErrInvalid, "instance"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			m.NodeNamed("n1").Spec.GPUs[7].Failed = true
			m.Books.SettleGPU(m.NodeNamed("n1"), 7)
			m.Break() // the capacity is not counted
			m.Refused(m.Backlog.CheckPlacement(&c.claim, &c.at), c.kind, c.field)
		})
	}
	m := machine(t)
	require.Nil(t, m.Backlog.CheckPlacement(&whole, &berth.MemberPlacement{Node: "n1", GPUs: 3}))
	require.Nil(t, m.Backlog.CheckPlacement(&share, &berth.MemberPlacement{Node: "n1", GPUs: 1, ShareMilli: 500}))
}

// The owner of a share is retained, and the memory is as much of the GPU as the share if nobody
// says otherwise.
func TestAShareHasItsPartOfTheMemory(t *testing.T) {
	m := machine(t)
	job := roomtest.Job("shares", "a", 1, 0)
	job.Class, job.Groups[0].Claim = berth.ClassInteractive, berth.SharedGPU(berth.ShareTimeSlice, 500)
	rep := m.Wait(job)
	p := berth.MemberPlacement{Node: "n1", GPUs: 1, ShareMilli: 500}
	hold := m.Backlog.HoldOf(rep.Job, &p)
	require.Equal(t, int64(40<<10), hold.Share.MemoryMiB)
	require.NotZero(t, hold.Share.Owner)
	p.ShareMemoryMiB = 1 << 10
	again := m.Backlog.HoldOf(rep.Job, &p)
	require.Equal(t, int64(1<<10), again.Share.MemoryMiB)
	require.Equal(t, hold.Share.Owner, again.Share.Owner)
	m.Catalogue.Owners.ReleaseShare(hold.Share)
	m.Catalogue.Owners.ReleaseShare(again.Share)
}

func TestAMemberComesBackToItsNodeAsLongAsThatIsTheSame(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("back", "a", 1, 8))
	p := berth.MemberPlacement{Node: "n1", GPUs: 0xff}
	stood, there := m.Backlog.Stood(rep, &p)
	require.True(t, there)
	require.Equal(t, record.MemberRunning, stood.State)
	require.Same(t, m.NodeNamed("n1"), stood.Node)
	p.Node = "gone"
	_, there = m.Backlog.Stood(rep, &p)
	require.False(t, there)
}

func TestALevelIsKnownByItsName(t *testing.T) {
	m := machine(t)
	rack, err := m.Backlog.CheckLevel("rack")
	m.NoRefusal(err)
	fleet, err := m.Backlog.CheckLevel("")
	m.NoRefusal(err)
	require.Less(t, fleet, rack)
	_, err = m.Backlog.CheckLevel("row")
	m.Refused(err, berth.ErrUnknown, "")
}
