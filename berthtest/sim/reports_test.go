package sim_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// The table "What each report does" of the manual says what a core did, in the scripts of
// testdata/machines and in worlds: nobody writes it by hand, and -rewrite does. A core that does
// something else fails it, and so does a cell that nothing shows any more; then a script of
// testdata/machines is to show it. Where many worlds are drawn, more of each generator are played.
func TestTheManualSaysWhatEachReportDoes(t *testing.T) {
	t.Parallel()
	w := &witness{seen: map[[2]string]map[string]bool{}}
	names, err := filepath.Glob(filepath.Join("testdata", "machines", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, w.script(string(text)), name)
	}
	for _, g := range []struct {
		name  string
		draw  worlds.Drawing
		seeds []uint64
	}{
		{"world", (*worlds.Generator).World, []uint64{2}},
		{"contended", (*worlds.Generator).Contended, []uint64{16, 22, 29}},
		{"failing", (*worlds.Generator).Failing, []uint64{16, 40}},
		{"moving", (*worlds.Generator).Moving, []uint64{2}},
		{"drained", (*worlds.Generator).Drained, []uint64{11}},
		{"hectic", (*worlds.Generator).Hectic, []uint64{1, 2, 3}},
	} {
		if drawn.Many() && !*rewrite {
			g.seeds = slices.AppendSeq(g.seeds, drawn.Seeds(2))
		}
		for _, seed := range g.seeds {
			config, options, list := g.draw(worlds.NewGenerator(seed))
			require.NoError(t, w.world(config, options, list), "%s %d", g.name, seed)
		}
	}
	manual := filepath.Join("..", "..", "doc.go")
	b, err := os.ReadFile(manual)
	require.NoError(t, err)
	const begins, ends = "// # What each report does\n", "//\n// Which of several it is:"
	before, rest, found := strings.Cut(string(b), begins)
	require.True(t, found)
	intro, rest, _ := strings.Cut(rest, "//\t")
	_, after, found := strings.Cut(rest, ends)
	require.True(t, found)
	text := before + begins + intro + w.table() + ends + after
	if *rewrite {
		require.NoError(t, os.WriteFile(manual, []byte(text), 0o644))
		return
	}
	require.Equal(t, strings.Split(string(b), "\n"), strings.Split(text, "\n"))
}

// reports are the lines of the table, and what they are in a core.
var reports = []string{
	"Bind done", "Bind partial", "Bind failed", "Bind, deadline",
	"Release done", "Release partial", "Release failed", "Release, deadline",
	"RequestCheckpoint done", "RequestCheckpoint partial", "RequestCheckpoint failed", "RequestCheckpoint, deadline",
	"Repartition failed", "MemberFailed", "NodeLost, GPUFailed", "CheckpointWritten", "JobFinished", "JobCancelled",
}

// A witness looks at a core from outside, and notes what becomes of a replica by a report.
type witness struct {
	core   func() *core.Core
	before map[berth.ReplicaRef]*gangView
	orders map[berth.OrderID]berth.Order // all that were given
	// seen has the states that came of a report in a state, and the kinds of refusals.
	seen map[[2]string]map[string]bool
}

func (w *witness) note(report string, before, after *gangView, refused error) {
	if before == nil {
		return
	}
	became := "gone"
	switch {
	case errors.Is(refused, berth.ErrStale):
		return // of most reports in most states, and nothing comes of it
	case refused != nil:
		became = "refused"
	case after != nil:
		became = after.State.String()
	}
	at := [2]string{report, before.State.String()}
	if w.seen[at] == nil {
		w.seen[at] = map[string]bool{}
	}
	w.seen[at][became] = true
}

// applied notes what an event did to the replicas that it is about.
func (w *witness) applied(_ berth.Time, event berth.Event, refused error) {
	after := w.before
	if refused == nil {
		after = gangsOf(w.core())
	}
	defer func() { w.before = after }()
	if refused != nil && !errors.Is(refused, berth.ErrStale) && !errors.Is(refused, berth.ErrConflict) {
		if e, ok := event.(berth.OrderReported); !ok || e.Outcome != berth.OutcomePartial || len(e.Members) == 0 {
			return // it makes no sense in any state
		}
	}
	of := func(report string, job berth.JobID, number int, life berth.Incarnation) {
		ref := berth.ReplicaRef{Job: job, Replica: number}
		if g := w.before[ref]; g != nil && (life == 0 || life == g.Incarnation) {
			w.note(report, g, after[ref], refused)
		}
	}
	switch e := event.(type) {
	case berth.OrderReported:
		order := w.orders[e.Order]
		if order == nil {
			return
		}
		if r, ok := order.(berth.Repartition); ok {
			w.lost("Repartition failed", after, func(m *memberView) bool {
				return e.Outcome == berth.OutcomeFailed && refused == nil && m.on(r.Node, r.GPU)
			})
			return
		}
		h, kind := order.Header(), order.Kind()
		of(strings.ToUpper(kind[:1])+kind[1:]+" "+e.Outcome.String(), h.Job, h.Replica, 0)
	case berth.MemberFailed:
		of("MemberFailed", e.Job, e.Replica, e.Incarnation)
	case berth.CheckpointWritten:
		of("CheckpointWritten", e.Job, e.Replica, e.Incarnation)
	case berth.JobFinished:
		of("JobFinished", e.Job, 0, e.Incarnation)
	case berth.JobCancelled:
		for ref := range w.before {
			if ref.Job == e.Job {
				of("JobCancelled", ref.Job, ref.Replica, 0)
			}
		}
	case berth.NodeLost:
		w.lost("NodeLost, GPUFailed", after, func(m *memberView) bool { return refused == nil && m.on(e.Node, -1) })
	case berth.GPUFailed:
		w.lost("NodeLost, GPUFailed", after, func(m *memberView) bool { return refused == nil && m.on(e.Node, e.GPU) })
	}
}

// lost notes what became of the replicas that lost members which are meant, and hold something no
// more.
func (w *witness) lost(report string, after map[berth.ReplicaRef]*gangView, meant func(*memberView) bool) {
	for ref, g := range w.before {
		now := after[ref]
		if slices.ContainsFunc(g.Members, func(m *memberView) bool { return meant(m) && (now == nil || !now.holds(m)) }) {
			w.note(report, g, now, nil)
		}
	}
}

// scheduled notes what the deadlines did that a pass found.
func (w *witness) scheduled(now berth.Time, orders []berth.Order) {
	after := gangsOf(w.core())
	for ref, g := range w.before {
		for kind, order := range g.Order {
			if order.Deadline > now {
				continue
			}
			is := after[ref]
			for _, o := range orders { // in the same pass it may begin its next life, or be given up
				h := o.Header()
				if b, ok := o.(berth.Bind); (ok && b.Incarnation > g.Incarnation || o.Kind() == "drop") && ref == (berth.ReplicaRef{Job: h.Job, Replica: h.Replica}) {
					is = &gangView{State: berth.ReplicaPending}
				}
			}
			if kind == "checkpoint" {
				kind = "requestCheckpoint"
			}
			w.note(strings.ToUpper(kind[:1])+kind[1:]+", deadline", g, is, nil)
		}
	}
	for _, o := range orders {
		w.orders[o.Header().ID] = o
	}
	w.before = after
}

// table is what was seen. A refusal counts where a report is never accepted.
func (w *witness) table() string {
	states := []berth.ReplicaState{berth.ReplicaPending, berth.ReplicaBinding, berth.ReplicaRepairing, berth.ReplicaRunning, berth.ReplicaReleasing}
	rows := [][]string{{""}}
	for _, s := range states {
		rows[0] = append(rows[0], s.String())
	}
	for _, report := range reports {
		row := []string{report}
		for _, s := range states {
			seen := w.seen[[2]string{report, s.String()}]
			if len(seen) > 1 {
				delete(seen, "refused")
			}
			var cell []string
			for _, name := range []string{"refused", "pending", "binding", "repairing", "running", "releasing", "gone"} {
				if seen[name] {
					cell = append(cell, name)
				}
			}
			if cell == nil {
				cell = []string{"-"}
			}
			row = append(row, strings.Join(cell, ", "))
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(states)+1)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := "//\t"
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// begin has the witness look at another core.
func (w *witness) begin(sched func() *core.Core) {
	w.core, w.orders, w.before = sched, map[berth.OrderID]berth.Order{}, gangsOf(sched())
}

// world runs a world to its end.
func (w *witness) world(config berth.Config, options sim.Options, list []sim.Arrival) error {
	sched, err := core.New(config)
	if err != nil {
		return err
	}
	options.Applied, options.Scheduled = w.applied, w.scheduled
	s := sim.New(sched, sim.FromSlice(list), options)
	w.begin(s.Core)
	for range 20_000 {
		at, any := s.Next()
		if !any {
			break
		}
		if err := s.Run(at); err != nil {
			return err
		}
	}
	return nil
}

// script runs a script.
func (w *witness) script(text string) error {
	s := script.NewSession()
	s.Applied, s.Scheduled = w.applied, w.scheduled
	w.begin(s.Core)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "  ") {
			continue
		}
		if _, err := s.Do(line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if strings.HasPrefix(line, "config") || line == "snapshot-restore" {
			w.before = gangsOf(s.Core())
		}
	}
	return nil
}

// A gangView is what a snapshot tells of a replica.
type gangView struct {
	Replica     int
	Alike       int
	State       berth.ReplicaState
	Incarnation berth.Incarnation
	Order       map[string]berth.OrderHeader
	Members     []*memberView
}

type memberView struct {
	State string
	Bind  berth.OrderID
	berth.MemberPlacement
}

func gangsOf(sched *core.Core) map[berth.ReplicaRef]*gangView {
	b, err := sched.Snapshot()
	if err != nil {
		panic(err)
	}
	var v struct {
		Jobs []struct {
			Job      struct{ ID berth.JobID }
			Replicas []*gangView
		}
	}
	if err := json.Unmarshal(b, &v); err != nil {
		panic(err)
	}
	gangs := map[berth.ReplicaRef]*gangView{}
	for _, j := range v.Jobs {
		for _, g := range j.Replicas {
			for i := range g.Alike + 1 {
				gangs[berth.ReplicaRef{Job: j.Job.ID, Replica: g.Replica + i}] = g
			}
		}
	}
	return gangs
}

func compareRefs(a, b berth.ReplicaRef) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Replica, b.Replica))
}

// on reports whether a member holds something of a GPU, or, of GPU -1, of a node.
func (m *memberView) on(id berth.NodeID, gpu int) bool {
	return m.State != "lost" && m.Node == id && (gpu < 0 || m.GPUs.Has(gpu))
}

// holds reports whether a replica holds what a member of it held.
func (g *gangView) holds(m *memberView) bool {
	return slices.ContainsFunc(g.Members, func(is *memberView) bool {
		return is.Ref() == m.Ref() && is.State != "lost" && is.Node == m.Node && is.Bind == m.Bind
	})
}
