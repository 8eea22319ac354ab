package books_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// picture is what a bill may change.
func picture(m *roomtest.Machine) string {
	text := ""
	for _, n := range m.State.Nodes {
		text += fmt.Sprintf("%s free %b\n", n.Spec.ID, m.State.Fleet.FreeMask(n.Index))
	}
	for _, q := range m.Books.Queues {
		text += fmt.Sprintf("queue %s uses %d of H100 and %d of A100, sizes %v\n", m.State.Quota.Name(q.Index),
			m.State.Quota.Used(q.Index, quota.GPUMilliOf("H100")), m.State.Quota.Used(q.Index, quota.GPUMilliOf("A100")), q.Sizes)
	}
	for _, r := range []quota.Resource{quota.GPUMilli, quota.GPUMilliOf("H100"), quota.GPUMilliOf("A100")} {
		text += fmt.Sprintf("%d of %v\n", capacity(m, r), r)
	}
	return text
}

// crowd is a machine with gangs of all kinds that a bill tells apart: of several queues, on nodes
// of several products, one of which takes no more work, with a surplus and without.
func crowd(t *testing.T) (*roomtest.Machine, []record.Piece) {
	m := machine(t, berth.Config{})
	list := []record.Piece{
		{Rep: m.Run(roomtest.Job("a1", "a", 1, 2), "n1")},
		{Rep: m.Run(roomtest.Job("a2", "a", 1, 2), "n1")},
		{Rep: m.Run(roomtest.Job("a3", "a", 3, 1), "n1", "a1", "n2")},
		{Rep: m.Run(roomtest.Job("b1", "b", 1, 2), "a1")},
	}
	stretches := roomtest.Job("b2", "b", 3, 1)
	stretches.Groups[0].MinMembers = 1
	rep := m.Run(stretches, "n2", "n2", "n2")
	list = append(list, record.Piece{Rep: rep, Flats: []int{1}}, record.Piece{Rep: rep, Flats: []int{2}})
	m.Upkeep.Cordon(m.NodeNamed("a1"), true, "")
	m.Books.TellCapacity()
	return m, list
}

// A bill is its pieces taken one by one: whichever they are, and in whichever order.
func TestABillIsTheSumOfItsPieces(t *testing.T) {
	m, all := crowd(t)
	before := picture(m)
	drawn.Check(t, func(t *rapid.T) {
		pieces := rapid.Permutation(all).Draw(t, "pieces")[:rapid.IntRange(0, len(all)).Draw(t, "many")]
		for _, p := range pieces {
			m.Books.Vanish(p)
			m.Books.DischargeAll(p)
			if p.IsSized() {
				m.Books.CountSize(p.Rep, -1)
			}
		}
		want := picture(m)
		for _, p := range pieces {
			if p.IsSized() {
				m.Books.CountSize(p.Rep, 1)
			}
			m.Books.ChargeAll(p)
			m.Books.Reappear(p)
		}
		require.Equal(t, before, picture(m))

		var bill books.Bill
		for _, p := range pieces {
			bill.Add(p)
		}
		require.Equal(t, len(pieces), bill.Len())
		m.Books.VanishAll(&bill)
		require.Equal(t, want, picture(m))
		for _, p := range pieces {
			gone := p.Rep.Imagined
			if !p.Whole() {
				gone = p.Rep.Members[p.Flats[0]].Imagined
			}
			require.True(t, gone)
		}
		m.Books.ReappearAll(&bill)
		require.Equal(t, before, picture(m), "it comes back without a trace")
	})
}

func TestABillThatIsClearedIsEmpty(t *testing.T) {
	m, all := crowd(t)
	before := picture(m)
	var bill books.Bill
	for _, p := range all {
		bill.Add(p)
	}
	bill.Clear()
	require.Zero(t, bill.Len())
	m.Books.VanishAll(&bill)
	require.Equal(t, before, picture(m))
}
