package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/statetable"
)

// The tables of package statetable are true: the core takes no step that no row allows, in worlds
// and in the scripts of testdata/machines, and each row is taken there. Where many worlds are
// drawn, more of each generator are looked at.
func TestMachines(t *testing.T) {
	t.Parallel()
	o := newObserver()
	for _, name := range scriptsOfMachines(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, o.script(string(text)), name)
	}
	for _, g := range []struct {
		name  string
		draw  drawing
		seeds []uint64
	}{
		{"world", (*generator).world, []uint64{2}},
		{"contended", (*generator).contended, []uint64{16, 22, 29}},
		{"failing", (*generator).failing, []uint64{16, 40}},
		{"moving", (*generator).moving, []uint64{2}},
		{"drained", (*generator).drained, []uint64{11}},
		{"hectic", (*generator).hectic, []uint64{1}},
	} {
		if drawn.Many() {
			g.seeds = slices.AppendSeq(g.seeds, drawn.Seeds(2))
		}
		for _, seed := range g.seeds {
			config, options, list := g.draw(newGenerator(seed))
			require.NoError(t, o.world(config, options, list), "%s %d", g.name, seed)
		}
	}
	for _, w := range o.watched() {
		for _, s := range w.machine.Steps() {
			if w.seen[s] == 0 {
				t.Errorf("machine %s: nothing takes the step %s; if a change of decisions has lost it, a script of testdata/machines is to show it", w.machine.Name, s)
			}
		}
	}
}

func scriptsOfMachines(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "machines", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

// A step that no row allows is named.
func TestMachinesNameTheMissingRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ machine, script, missing string }{
		{"replica", "gangs", "repairing --hardware lost--> repairing"},
		{"replica", "gangs", "pending --memberFailed--> refused, stale"},
		{"member", "members", "binding --died--> failed"},
		{"order", "evictions", "request out --partial--> refused, invalid"},
		{"order", "members", "release out --partial--> over"},
		{"gpu-mode", "modes", "mps --gpuPartitioned--> time-slice"},
		{"reservation", "evictions", "preemption --until--> -"},
		{"node-health", "health", "quarantine --quarantine over--> trusted"},
	} {
		o := newObserver()
		for _, w := range o.watched() {
			w.forget(c.machine + " " + c.missing)
		}
		text, err := os.ReadFile(filepath.Join("testdata", "machines", c.script+".txt"))
		require.NoError(t, err)
		err = o.script(string(text))
		require.ErrorContains(t, err, "machine "+c.machine+" has no row for")
		require.ErrorContains(t, err, c.missing)
	}
}

// forget drops a step from the table.
func (w *watcher) forget(step string) {
	for _, s := range w.machine.Steps() {
		at := [2]string{s.From, s.Event}
		if w.machine.Name+" "+s.String() == step {
			w.next[at] = slices.DeleteFunc(w.next[at], func(to string) bool { return to == s.To })
			w.refusal[at] = nil
		}
	}
}

// An observer looks at a core from outside, after each event and each pass, and follows each thing
// that a machine is about from row to row.
type observer struct {
	core   func() *core.Core
	before *view
	// orders has all that were given.
	orders map[berth.OrderID]berth.Order

	replicas, members, order, modes, reservations, health *watcher
	err                                                   error
}

func newObserver() *observer {
	return &observer{
		replicas: newWatcher(statetable.Replica()), members: newWatcher(statetable.Member()), order: newWatcher(statetable.Order()),
		modes: newWatcher(statetable.GPUMode()), reservations: newWatcher(statetable.Reservation()), health: newWatcher(statetable.NodeHealth()),
	}
}

func (o *observer) watched() []*watcher {
	return []*watcher{o.replicas, o.members, o.order, o.modes, o.reservations, o.health}
}

// begin has the observer look at another core.
func (o *observer) begin(sched func() *core.Core) {
	o.core, o.orders, o.before, o.err = sched, map[berth.OrderID]berth.Order{}, viewOf(sched()), nil
}

func (o *observer) applied(now berth.Time, e berth.Event, refused error) {
	o.observe(&turn{now: now, event: e, refused: refused})
}

func (o *observer) scheduled(now berth.Time, actions []berth.Order) {
	o.observe(&turn{now: now, actions: actions})
}

// world runs a world to its end, and stops at the first step that no row allows.
func (o *observer) world(config berth.Config, options sim.Options, list []sim.Arrival) error {
	sched, err := core.New(config)
	if err != nil {
		return err
	}
	options.Applied, options.Scheduled = o.applied, o.scheduled
	s := sim.New(sched, sim.FromSlice(list), options)
	o.begin(s.Core)
	for passes := 0; passes < 20_000 && o.err == nil; passes++ {
		at, any := s.Next()
		if !any {
			break
		}
		if err := s.Run(at); err != nil {
			return err
		}
	}
	return o.err
}

// script runs a script.
func (o *observer) script(text string) error {
	s := script.NewSession()
	s.Applied, s.Scheduled = o.applied, o.scheduled
	o.begin(s.Core)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "  ") {
			continue
		}
		if _, err := s.Do(line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if o.err != nil {
			return fmt.Errorf("%s: %w", line, o.err)
		}
		if strings.HasPrefix(line, "config") || line == "snapshot-restore" {
			o.before = viewOf(s.Core())
		}
	}
	return nil
}

// A turn is an event, or a pass, and what is seen before and after it.
type turn struct {
	now           berth.Time
	event         berth.Event // nil: a pass
	actions       []berth.Order
	refused       error
	before, after *view
	orders        map[berth.OrderID]berth.Order
}

func (o *observer) observe(t *turn) {
	if o.err != nil {
		return
	}
	t.before, t.after, t.orders = o.before, o.before, o.orders
	if t.refused == nil {
		t.after = viewOf(o.core())
	}
	for _, follow := range []func(*turn) error{o.followReplicas, o.followMembers, o.followOrders, o.followModes, o.followReservations, o.followHealth} {
		if err := follow(t); err != nil {
			o.err = fmt.Errorf("%s at %d: %w", t, t.now, err)
			return
		}
	}
	for _, a := range t.actions {
		o.orders[a.Header().ID] = a
	}
	o.before = t.after
}

func (t *turn) String() string {
	if t.event == nil {
		return fmt.Sprintf("a pass that gave %d orders", len(t.actions))
	}
	line, _ := berth.EncodeEvent(t.event)
	return string(line)
}

// A signal is an event of a machine that may have happened in a turn.
type signal struct {
	event string
	how   certainty
}

type certainty uint8

const (
	// must: it has happened, and there has to be a row for it.
	must certainty = iota
	// may: it has happened, or not.
	may
	// concerns: it has happened, and matters in states with a row alone.
	concerns
)

// A watcher holds what happens against a machine.
type watcher struct {
	machine statetable.Machine
	next    map[[2]string][]string
	refusal map[[2]string][]string
	seen    map[statetable.Step]int
}

func newWatcher(m statetable.Machine) *watcher {
	w := &watcher{machine: m, next: map[[2]string][]string{}, refusal: map[[2]string][]string{}, seen: map[statetable.Step]int{}}
	for _, s := range m.Steps() {
		at := [2]string{s.From, s.Event}
		if s.Refused != "" {
			w.refusal[at] = append(w.refusal[at], s.Refused)
		} else {
			w.next[at] = append(w.next[at], s.To)
		}
	}
	return w
}

// follow asserts that there is a way from one state to another by some signals, in their order.
// The steps that are on all ways have been seen.
func (w *watcher) follow(what any, from, to string, signals ...signal) error {
	if from == to && !slices.ContainsFunc(signals, func(s signal) bool { return s.how != may }) {
		return nil
	}
	ways := w.ways(from, to, signals)
	if len(ways) == 0 {
		var events []string
		for _, s := range signals {
			events = append(events, s.event)
		}
		return fmt.Errorf("machine %s has no row for %v: %s --%s--> %s", w.machine.Name, what, from, strings.Join(events, ", "), to)
	}
	for _, s := range ways[0] {
		if !slices.ContainsFunc(ways, func(way []statetable.Step) bool { return !slices.Contains(way, s) }) {
			w.seen[s]++
		}
	}
	return nil
}

func (w *watcher) ways(from, to string, signals []signal) [][]statetable.Step {
	if len(signals) == 0 {
		if from == to {
			return [][]statetable.Step{nil}
		}
		return nil
	}
	first := signals[0]
	all := w.next[[2]string{from, first.event}]
	var ways [][]statetable.Step
	for _, next := range all {
		for _, rest := range w.ways(next, to, signals[1:]) {
			ways = append(ways, append([]statetable.Step{{From: from, Event: first.event, To: next}}, rest...))
		}
	}
	if first.how == may || first.how == concerns && len(all) == 0 {
		ways = append(ways, w.ways(from, to, signals[1:])...)
	}
	return ways
}

// refused asserts that there is a row that says so.
func (w *watcher) refused(what any, from, event, kind string) error {
	if !slices.Contains(w.refusal[[2]string{from, event}], kind) {
		return fmt.Errorf("machine %s has no row for %v: %s --%s--> refused, %s", w.machine.Name, what, from, event, kind)
	}
	w.seen[statetable.Step{From: from, Event: event, To: from, Refused: kind}]++
	return nil
}
