package fields_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/fields"
	"github.com/berth-sched/berth/internal/sample"
)

// A world is a core to which each of the samples may be told next.
type world struct {
	t        *testing.T
	prepared []byte
	core     *core.Core
}

func newWorld(t *testing.T) *world {
	t.Helper()
	sched, err := core.New(sample.Config())
	require.NoError(t, err)
	require.NoError(t, sample.Prepare(sched))
	w := &world{t: t, core: sched}
	w.prepared = w.snapshot()
	return w
}

func (w *world) snapshot() []byte {
	w.t.Helper()
	b, err := w.core.Snapshot()
	require.NoError(w.t, err)
	return b
}

// again makes the core anew, as it was prepared.
func (w *world) again() {
	w.t.Helper()
	sched, err := core.Restore(w.prepared)
	require.NoError(w.t, err)
	w.core = sched
}

// tell has the core take the event that a pointer leads to, or refuse it.
func (w *world) tell(boxed any) error {
	return w.core.Apply(sample.Now, fields.Unboxed(boxed).(berth.Event))
}

// after is a snapshot of the prepared core once it has been told an event.
func (w *world) after(boxed any) []byte {
	w.t.Helper()
	w.again()
	require.NoError(w.t, w.tell(boxed))
	return w.snapshot()
}

// name is how a leaf of an event is told from those of others.
func name(e berth.Event, path string) string { return reflect.TypeOf(e).Name() + "." + path }

// gaps are reported once for each field, though it stands in many events.
type gaps struct {
	t     *testing.T
	known map[string]bool
}

func (g *gaps) report(leaf *fields.Leaf, format string, args ...any) {
	g.t.Helper()
	if field := leaf.Field(); !g.known[field] {
		g.known[field] = true
		g.t.Errorf("%s "+format, append([]any{field}, args...)...)
	}
}

// Every sample is accepted, and a restored core knows what it said.
func TestSamplesAreAcceptedAndRestored(t *testing.T) {
	w := newWorld(t)
	kinds := map[string]bool{}
	for _, e := range sample.Events() {
		kinds[e.Kind()] = true
		saved := w.after(fields.Boxed(e))
		restored, err := core.Restore(saved)
		require.NoError(t, err, "%T", e)
		require.NoError(t, restored.Check(), "%T: an index is not restored", e)
		again, err := restored.Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(saved), string(again), "%T is forgotten by a restore", e)
	}
	for _, kind := range berth.EventKinds() {
		require.True(t, kinds[kind], "no sample of %s: add one to Events of internal/sample", kind)
	}
}

// What the core keeps of an event it copies: whatever the caller does to the memory that the event
// was made of, the core stays as it was.
func TestNothingIsSharedWithTheCaller(t *testing.T) {
	w, gaps := newWorld(t), gaps{t, map[string]bool{}}
	for _, e := range sample.Events() {
		boxed := fields.Boxed(e)
		before := string(w.after(boxed))
		fields.Scribble(boxed)
		if string(w.snapshot()) == before {
			continue
		}
		shared := false
		for i := range fields.SharedLeaves(fields.Boxed(e)) {
			boxed := fields.Boxed(e)
			w.after(boxed)
			leaf := fields.SharedLeaves(boxed)[i]
			if leaf.Scribble(); string(w.snapshot()) != before {
				gaps.report(&leaf, "is shared with the caller in %s: copy it in %s", name(e, leaf.Path), leaf.CopyOf())
				shared = true
			}
		}
		require.True(t, shared, "%T shares a list or a pointer within another with the caller", e)
	}
}

// A text that nobody can print, or that is too long, is refused wherever it stands, by a typed
// error that names the field, or the list or the object that it stands in. A field that the sample
// leaves out may be refused for what the sample says instead.
func TestEveryTextIsCheckedAtTheDoor(t *testing.T) {
	w, gaps := newWorld(t), gaps{t, map[string]bool{}}
	texts := 0
	for _, e := range sample.Events() {
		for i, leaf := range fields.Leaves(fields.Boxed(e)) {
			if !leaf.IsText() {
				continue
			}
			for _, bad := range []string{"a\x00b", strings.Repeat("x", 1025), "a\xffb"} {
				boxed := fields.Boxed(e)
				fields.Leaves(boxed)[i].SetText(bad)
				var refusal *berth.Error
				switch err := w.tell(boxed); {
				case !errors.As(err, &refusal):
					gaps.report(&leaf, "takes %.20q in %s: check it in %s", bad, name(e, leaf.Path), leaf.CheckOf())
					w.again()
				case !sample.Complete(refusal),
					!errors.Is(refusal, berth.ErrInvalid) && !errors.Is(refusal, berth.ErrUnknown),
					!leaf.Zero() && !names(refusal.Field, &leaf):
					gaps.report(&leaf, "of %s is %s in JSON, and is not refused as such in %s: %v", name(e, leaf.Path), leaf.JSON, leaf.CheckOf(), refusal)
				}
				texts++
			}
		}
	}
	require.Greater(t, texts, 300)
}

// names reports whether the field of a refusal is that of a leaf, or of what it stands in. A key
// that is bad is named as it is.
func names(field string, leaf *fields.Leaf) bool {
	if strings.HasSuffix(leaf.Place, ".key") {
		return strings.HasPrefix(field, outer(leaf.JSON)+"[")
	}
	return field == leaf.JSON || field == outer(leaf.JSON)
}

// outer is the path of what a field stands in.
func outer(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// cannotBe are places of events that nothing can stand in, and why.
var cannotBe = placesOfGangs(map[string]string{
	"Topology.Segments[].Size":           forGroups,
	"Topology.Segments[].Level":          forGroups,
	"Topology.Balance":                   forGroups,
	"Topology.Spread":                    forGroups,
	"Topology.MaxSkew":                   forGroups,
	"Topology.RailAligned":               forGroups,
	"Groups[].Topology.Exclusive":        forJobs,
	"Groups[].Topology.Apart":            forJobs,
	"Groups[].Topology.Parts[].Name":     forJobs,
	"Groups[].Topology.Parts[].Required": forJobs,
	"Groups[].Topology.Parts[].Copies":   forJobs,
})

// placesOfGangs are those in what a job is, and in what it is as an alternative, which borrows
// nothing.
func placesOfGangs(gang map[string]string) map[string]string {
	all := map[string]string{}
	for _, event := range []string{"JobSubmitted", "JobObserved"} {
		for place, why := range gang {
			all[event+".Job."+place], all[event+".Job.Alternatives[]."+place] = why, why
		}
		all[event+".Job.Alternatives[].Groups[].Claim.Borrow.MemoryMiB"] = "a borrower has no alternatives"
	}
	return all
}

const (
	partNames = "is what groups name: it cannot change alone"
	forGroups = "is for groups, and not for jobs"
	forJobs   = "is for jobs, and not for groups"
)

// Every field that an event can have is in a sample of its kind, so that the other tests look at
// it.
func TestEveryFieldIsInASample(t *testing.T) {
	said := map[string]bool{}
	places := map[string]bool{}
	for _, e := range sample.Events() {
		for _, place := range fields.Places(reflect.TypeOf(e)) {
			places[name(e, place)] = true
		}
		for _, leaf := range fields.Leaves(fields.Boxed(e)) {
			if !leaf.Zero() {
				said[name(e, leaf.Place)] = true
			}
		}
	}
	require.Empty(t, missing(places, said, cannotBe), "no sample of internal/sample says these: add them to Events, or to what Events is made of")
	config := sample.Config()
	said, places = map[string]bool{}, map[string]bool{}
	for _, place := range fields.Places(reflect.TypeFor[berth.Config]()) {
		places[place] = true
	}
	for _, leaf := range fields.Leaves(&config) {
		said[leaf.Place] = said[leaf.Place] || !leaf.Zero()
	}
	require.Empty(t, missing(places, said, map[string]string{"Gain": "is a function", "Scorer": "is a function"}), "Config of internal/sample does not say these")
}

// missing are the wanted places that are neither there nor excused. An excuse for what is there, or
// for what is not wanted, is one too many.
func missing(wanted, there map[string]bool, excused map[string]string) []string {
	var list []string
	for place := range wanted {
		if excused[place] == "" && !there[place] {
			list = append(list, place)
		}
	}
	for place := range excused {
		if !wanted[place] || there[place] {
			list = append(list, "excused for nothing: "+place)
		}
	}
	slices.Sort(list)
	return list
}

const declaredName = "is one of the few names that the config declares, and kept with its amount"

// notKept are places of events of which a snapshot says nothing, and why.
var notKept = map[string]string{
	"JobObserved.Job.Alternatives[].Groups[].Claim.Resources[].key":  declaredName,
	"JobObserved.Job.Groups[].Claim.Resources[].key":                 declaredName,
	"JobSubmitted.Job.Alternatives[].Groups[].Claim.Resources[].key": declaredName,
	"JobSubmitted.Job.Groups[].Claim.Resources[].key":                declaredName,
	"NodeJoined.Node.Resources[].key":                                declaredName,
	"NodeUpdated.Node.Resources[].key":                               declaredName,

	"ActivityReported.Incarnation":                          oneLife,
	"CheckpointWritten.Incarnation":                         oneLife,
	"JobFinished.Incarnation":                               oneLife,
	"MemberFailed.Incarnation":                              oneLife,
	"MemberFailed.Bind":                                     "tells which members are meant, and is not kept",
	"JobFinished.Reason":                                    "is for people and for the journal",
	"PolicyChanged.Policy.ZeroIsOff":                        "is how zeros are meant, and the policy is kept without any",
	"JobSubmitted.Job.Topology.Parts[].Name":                partNames,
	"JobSubmitted.Job.Alternatives[].Topology.Parts[].Name": partNames,
	"JobObserved.Job.Topology.Parts[].Name":                 partNames,
	"JobObserved.Job.Alternatives[].Topology.Parts[].Name":  partNames,
	"NodeJoined.Node.Links[][]":                             bothWays,
	"NodeUpdated.Node.Links[][]":                            bothWays,

	"NodeJoined.Node.Taints[].Effect":  oneEffect,
	"NodeUpdated.Node.Taints[].Effect": oneEffect,

	"NodeUpdated.Node.GPUs[].Mode":               known,
	"NodeUpdated.Node.GPUs[].Instances[]":        known,
	"JobObserved.Running[].Members[].ShareMilli": "is what the claim says",
	"JobObserved.Running[].Members[].Borrowed":   "is what the claim says",
}

const (
	oneLife   = "names the life that the replica leads: any other is stale"
	oneEffect = "is NoSchedule: there is no other"
	bothWays  = "is told for both ways, so that one cannot change by itself"
	known     = "is what the core knows, whatever is told"
)

// Whatever an event says makes a difference to a snapshot. So a field that the core forgets is
// noticed, and so is what keeps something out of snapshots: the other tests look there.
func TestEveryFieldIsKept(t *testing.T) {
	w := newWorld(t)
	words := []string{"leaf", "leaf-1", "spine", "node", "other", "n2", "d1", "serves-too", "runs-too", "idle", "org", "second", "1g.10gb", "2g.20gb", "h100", "T4", "H100-80GB", "NV4", "gpuMilli", "cpuMilli", "memoryMiB", "A100-80GB", "drained", "b", "h"}
	places, kept, refused := map[string]bool{}, map[string]bool{}, map[string]error{}
	for _, e := range sample.Events() {
		before := ""
		for i, leaf := range fields.Leaves(fields.Boxed(e)) {
			place := name(e, leaf.Place)
			if kept[place] || cannotBe[place] != "" {
				continue
			}
			places[place] = true
			if before == "" {
				before = string(w.after(fields.Boxed(e)))
				w.again()
			}
			for _, other := range leaf.Others(words...) {
				boxed := fields.Boxed(e)
				fields.Leaves(boxed)[i].Set(other)
				if err := w.tell(boxed); err != nil {
					refused[place] = err
					continue
				}
				kept[place] = string(w.snapshot()) != before
				w.again()
				if kept[place] {
					break
				}
			}
		}
	}
	for _, place := range missing(places, kept, notKept) {
		if err := refused[place]; err != nil {
			t.Logf("%s: no other value is taken: %v", place, err)
		}
	}
	require.Empty(t, missing(places, kept, notKept), "these make no difference to a snapshot: keep them, where Keepers of internal/fields says, or say in notKept why not")
}
