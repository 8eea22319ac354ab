package script_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/fields"
	"github.com/berth-sched/berth/internal/sample"
)

// A question asks a core, and returns pointers to its answers.
type question struct {
	// in is where the answer is made.
	in  string
	ask func(c *core.Core) []any
}

// questions are by the method of the core.
var questions = map[string]question{
	"Report": {"core/internal/answer/report.go", func(c *core.Core) []any {
		r := c.Report()
		return []any{&r}
	}},
	"Explain": {"core/internal/answer/explain.go", func(c *core.Core) (list []any) {
		for _, id := range c.JobIDs() {
			if e, err := c.Explain(id); err == nil {
				list = append(list, &e)
			}
		}
		return list
	}},
	"StartPlan": {"core/internal/answer/start_plan.go", func(c *core.Core) (list []any) {
		for _, id := range c.JobIDs() {
			if p, err := c.StartPlan(c.Now(), id, 0); err == nil {
				list = append(list, &p)
			}
		}
		return list
	}},
	"Job":     {"core/internal/answer/status.go", func(c *core.Core) []any { return all(c.Jobs()) }},
	"Node":    {"core/internal/answer/status.go", func(c *core.Core) []any { return all(c.Nodes()) }},
	"Queue":   {"core/internal/answer/status.go", func(c *core.Core) []any { return all(c.Queues()) }},
	"Running": {"core/internal/answer/status.go", func(c *core.Core) []any { return all(c.Running()) }},
	"Diff": {"core/internal/answer/diff.go", func(c *core.Core) (list []any) {
		var known, unknown berth.World // in both nothing runs
		for n := range c.Nodes() {
			known.Nodes = append(known.Nodes, n.Node)
			n.Node.ID += "-unknown"
			unknown.Nodes = append(unknown.Nodes, n.Node)
		}
		for _, d := range append(c.Diff(known), c.Diff(unknown)...) {
			list = append(list, &d)
			if d.Event != nil {
				list = append(list, fields.Boxed(d.Event))
			}
		}
		return list
	}},
	"BlastRadius": {"core/internal/answer/blast.go", func(c *core.Core) (list []any) {
		for n := range c.Nodes() {
			for gpu := range n.Node.GPUs {
				if r, err := c.BlastRadius(n.Node.ID, gpu); err == nil {
					list = append(list, &r)
				}
			}
		}
		return list
	}},
	"Ledger": {"core/core.go", func(c *core.Core) []any {
		lines, queues := c.Ledger()
		return []any{&lines, &queues}
	}},
	"Lost": {"core/answers.go", func(c *core.Core) []any {
		lost := c.Lost()
		return []any{&lost}
	}},
	"Config": {"core/internal/values/clone.go", func(c *core.Core) []any {
		config := c.Config()
		return []any{&config}
	}},
	"JobIDs": {"core/core.go", func(c *core.Core) []any {
		ids := c.JobIDs()
		return []any{&ids}
	}},
}

func all[V any](seq func(func(V) bool)) (list []any) {
	seq(func(v V) bool {
		list = append(list, &v)
		return true
	})
	return list
}

// unasked are methods of the core that hand out nothing that a caller may change, and why.
var unasked = map[string]string{
	"Apply": "an error", "Check": "an error", "Now": "an instant", "NextWake": "an instant",
	"Outstanding": orders, "Schedule": orders, "WhatIf": orders,
	"Snapshot": "a text", "Cut": "a text in parts",
	"Jobs": "as Job", "Nodes": "as Node", "Queues": "as Queue",
}

const orders = "orders are immutable, as their comment says"

// stories are scripts in which, together with the samples, every field of every answer is handed
// out. They are few, as to ask everything after each line takes its time: of all scripts, a small
// set with all that any of them reaches.
var stories = []string{
	"54-number-used-again", "57-as-much-as-the-limit-leaves", "74-tensor-parallel-stays-on-its-island",
	"118-idle-after-a-gpu-hold-that-ended", "120-borrowing-has-a-limit", "130-surplus-goes-in-whole-segments",
	"141-grace-by-class", "196-shares-without-a-tenant", "201-an-order-follows-the-claim", "209-there-and-back",
	"212-labels-of-one-value", "232-a-spare-for-a-gang-that-backs-off", "242-burn-in-behind-many",
	"254-a-repair-leaves-what-is-not-lent", "270-instances-of-one-product", "282-rather-there",
	"312-growth-ends-a-round-of-bids", "341-a-special-pool-repels-what-does-not-name-it",
	"366-a-lender-is-preempted", "402-some-are-warned-and-nothing-is-done-to-them", "460-comes-back-so-often-and-no-more", "424-gates-together",
	"467-a-cap-on-the-gpus-of-a-user", "413-an-alternative-has-parts-of-its-own", "433-alternatives-with-declared-resources", "493-a-switch-that-lost-links", "436-a-service-is-drained-by-surge", "503-room-is-made-for-one-alternative", "508-an-alternative-asks-for-whatever-a-job-may", "455-a-guarantee-follows-the-fleet",
}

// notHandedOut are places of answers that no story reaches, and why.
var notHandedOut = map[string]string{
	"Job.Job.Topology.Segments[].Size":                          "are for groups, and not for jobs",
	"Job.Job.Topology.Segments[].Level":                         "are for groups, and not for jobs",
	"Job.Job.Alternatives[].Topology.Segments[].Size":           "are for groups, and not for jobs",
	"Job.Job.Alternatives[].Topology.Segments[].Level":          "are for groups, and not for jobs",
	"Job.Job.Groups[].Topology.Parts[].Name":                    forJobs,
	"Job.Job.Groups[].Topology.Parts[].Required":                forJobs,
	"Job.Job.Groups[].Topology.Parts[].Copies":                  forJobs,
	"Job.Job.Alternatives[].Groups[].Topology.Parts[].Name":     forJobs,
	"Job.Job.Alternatives[].Groups[].Topology.Parts[].Required": forJobs,
	"Job.Job.Alternatives[].Groups[].Topology.Parts[].Copies":   forJobs,
	"Job.Job.Alternatives[].Groups[].Claim.Borrow.MemoryMiB":    "a borrower has no alternatives",
	"StartPlan.Reason.Reservation.Alternative":                  asExplain,
	"StartPlan.Choice.Keeps[].Claim.MinInstance.MinSMs":         noInstances,
	"StartPlan.Choice.Keeps[].Claim.MinInstance.MinMemoryMiB":   noInstances,
	"StartPlan.Choice.Keeps[].Claim.Borrow.MemoryMiB":           "is not what kinds are made of: nothing is kept free for a borrower",
	"StartPlan.Choice.Keeps[].Claim.Share.Mode":                 asProducts,
	"StartPlan.Choice.Keeps[].Claim.Share.GPUMilli":             asProducts,
	"StartPlan.Choice.Keeps[].Claim.Share.MemoryMiB":            asProducts,
	"StartPlan.Choice.Keeps[].Selector.Pools[]":                 asProducts,
	"StartPlan.Choice.Keeps[].Selector.Labels[].key":            asProducts,
	"StartPlan.Choice.Keeps[].Selector.Labels[]":                asProducts,
	"StartPlan.Choice.Keeps[].Selector.Tolerations[].Key":       asProducts,
	"StartPlan.Choice.Keeps[].Selector.Tolerations[].Operator":  asProducts,
	"StartPlan.Choice.Keeps[].Selector.Tolerations[].Value":     asProducts,
	"StartPlan.Choice.Keeps[].Selector.Tolerations[].Effect":    asProducts,
	"StartPlan.Reason.Reservation.ID":                           asExplain,
	"StartPlan.Reason.Reservation.Job":                          asExplain,
	"StartPlan.Reason.Reservation.Replica":                      asExplain,
	"StartPlan.Reason.Reservation.Moving":                       asExplain,
	"StartPlan.Reason.Reservation.Partial":                      asExplain,
	"StartPlan.Reason.Reservation.Members":                      asExplain,
	"StartPlan.Reason.Reservation.From":                         asExplain,
	"StartPlan.Reason.Reservation.Until":                        asExplain,
	"StartPlan.Reason.Reservation.Every":                        asExplain,
	"StartPlan.Reason.Reservation.Clear":                        asExplain,
	"StartPlan.Reason.Reservation.Nodes[]":                      asExplain,
	"StartPlan.Reason.Reservation.Conflicts[]":                  asExplain,
	"StartPlan.Choice.Keeps[].Claim.Resources[].key":            "is not what kinds are made of",
	"StartPlan.Choice.Keeps[].Claim.Resources[]":                "is not what kinds are made of",
}

const (
	forJobs     = "are for jobs, and not for groups"
	noInstances = "no kind that is expected is one of instances"
	asProducts  = "is copied with the products, by CloneClaim and CloneSelector"
	asExplain   = "is made by the function that makes that of Explain"
)

// What the core hands out is the caller's: whatever happens to it, the core stays as it was, and
// answers as before.
func TestNothingThatIsHandedOutIsShared(t *testing.T) {
	methods := reflect.TypeFor[*core.Core]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		_, asked := questions[name]
		require.True(t, asked != (unasked[name] != ""), "Core.%s: ask it in questions, or say in unasked why nothing can be shared", name)
	}
	h := handed{t: t, types: map[string]bool{}, wanted: map[string]bool{}, reached: map[string]bool{}}
	sampled, err := core.New(sample.Config())
	require.NoError(t, err)
	require.NoError(t, sample.Prepare(sampled))
	h.ask(sampled)
	for _, story := range stories {
		text, err := os.ReadFile(filepath.Join("testdata", story+".txt"))
		require.NoError(t, err)
		s := script.NewUnwatched()
		for _, line := range commands(string(text)) {
			_, err := s.Do(line)
			require.NoError(t, err, "%s: %s", story, line)
			h.ask(s.Core())
		}
	}
	for _, place := range slices.Sorted(maps.Keys(h.wanted)) {
		if !h.reached[place] && notHandedOut[place] == "" {
			t.Errorf("no story hands out %s: add a script that does to stories", place)
		}
	}
	for place := range notHandedOut {
		require.True(t, h.wanted[place] && !h.reached[place], "%s is handed out, or is no more", place)
	}
}

// A handed notes what was handed out.
type handed struct {
	t *testing.T
	// wanted are the places in memory that answers of the types could share, and reached those that
	// there were.
	types           map[string]bool
	wanted, reached map[string]bool
}

// ask asks a core everything, and has answers with something that was not handed out before
// scribbled over.
func (h *handed) ask(c *core.Core) {
	for _, what := range slices.Sorted(maps.Keys(questions)) {
		q := questions[what]
		anew := false
		answers := q.ask(c)
		for _, answer := range answers {
			if kind := reflect.TypeOf(answer).Elem(); !h.types[what+kind.String()] {
				h.types[what+kind.String()] = true
				for _, leaf := range fields.SharedLeaves(fields.Filled(kind)) {
					h.wanted[what+"."+leaf.Place] = true
				}
			}
			for _, leaf := range fields.SharedLeaves(answer) {
				if place := what + "." + leaf.Place; !h.reached[place] {
					h.reached[place], anew = true, true
				}
			}
		}
		if anew {
			h.requireOwn(what, &q, c, answers)
		}
	}
}

// requireOwn scribbles over the answers to a question, and asks again.
func (h *handed) requireOwn(what string, q *question, c *core.Core, answers []any) {
	before, err := c.Snapshot()
	require.NoError(h.t, err)
	want := make([]any, len(answers))
	for i, answer := range answers {
		want[i] = fields.Boxed(fields.Unboxed(answer))
	}
	for _, answer := range answers {
		fields.Scribble(answer)
	}
	if h.same(c, q, before, want) {
		return
	}
	c, err = core.Restore(before) // which has all but what is lost
	require.NoError(h.t, err)
	for i, answer := range q.ask(c) {
		for _, leaf := range fields.SharedLeaves(answer) {
			if leaf.Scribble(); !h.same(c, q, before, want) {
				h.t.Fatalf("%s of answer %d of %s is shared with the core: copy it in %s", leaf.Path, i, what, q.in)
			}
		}
	}
	h.t.Fatalf("%s hands out memory that the core keeps: copy it in %s", what, q.in)
}

func (h *handed) same(c *core.Core, q *question, before []byte, want []any) bool {
	after, err := c.Snapshot()
	require.NoError(h.t, err)
	return string(after) == string(before) && reflect.DeepEqual(q.ask(c), want)
}
