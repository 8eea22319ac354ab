package tidy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lower are the packages below the samples: one that is changed behind doors, and a room with a
// record.
var lower = map[string]string{
	"": `package berth
		type Config struct { Level int; Policy Policy; Names []string }
		type Policy struct { Most int; Worth Worth }
		type Worth struct { Milli int }`,
	"gang": `package gang
		type Fleet struct{}
		func (f *Fleet) Place() bool { return f.Release() == nil }
		func (f *Fleet) Release() error { return nil }
		func (f *Fleet) Fits() bool { return true }`,
	"core/internal/values": `package values
		type Rare[T any] struct { noted *T }
		func (r *Rare[T]) Get() T { return *r.noted }
		func (r *Rare[T]) Set(v T) { *r.noted = v }
		func (r *Rare[T]) Note() *T { return r.noted }`,
	"core/internal/state": `package state
		import ("github.com/google/btree"; "github.com/berth-sched/berth"; "github.com/berth-sched/berth/core/internal/values")
		type RestPart struct { At int }
		type LifePart struct { At int; Avoid []int; By map[int]int; In [2]int }
		func (l LifePart) Old() bool { return l.At < 3 }
		type LookPart struct { At int }
		type Replica struct { LifePart; Look LookPart; Rest values.Rare[RestPart]; Job *Job; Free int }
		type Job struct { Replicas []*Replica; Windows []LookPart }
		type Agenda struct { Due bool }
		func (a *Agenda) Freed() { a.Due = true }
		type State struct { Now int; Config berth.Config; Jobs map[int]*Job; Agenda Agenda; Names []string; Todo *btree.BTreeG[int] }
		func (s *State) Tick() { s.Now++ }`,
}

// sampled type-checks a sample as package life above the packages of lower.
func sampled(t *testing.T, l *loader, text string) unit {
	t.Helper()
	u, err := l.check(module+"/core/internal/life", map[string]any{"life.go": `package life
		import ("github.com/google/btree"; "github.com/berth-sched/berth/gang"; "github.com/berth-sched/berth/core/internal/state")
		type Life struct { state *state.State; fleet *gang.Fleet; tree *btree.BTreeG[int]; parts []state.LookPart }
		` + text})
	require.NoError(t, err, text)
	return u
}

func lowerLoader(t *testing.T) *loader {
	t.Helper()
	l := newLoader(list(t, "github.com/google/btree"))
	for _, path := range []string{"", "gang", "core/internal/values", "core/internal/state"} {
		_, err := l.check(strings.TrimSuffix(module+"/"+path, "/"), map[string]any{"lower.go": lower[path]})
		require.NoError(t, err, path)
	}
	return l
}

func TestOwnersCatch(t *testing.T) {
	l := lowerLoader(t)
	rooms := map[string]string{"core/internal/state.State": "core/internal/state"}
	require.Equal(t, []string{".Config", ".Policy", ".Worth"}, settings(l.checked[module]))
	for _, name := range settings(l.checked[module]) {
		rooms[name] = ""
	}
	parts := map[string][]string{
		"core/internal/state.LifePart": {"core/internal/state"},
		"core/internal/state.LookPart": {"core/internal/life", "core/internal/search"},
		"core/internal/state.RestPart": {"core/internal/search"},
	}
	const args = "(s *state.State, r *state.Replica, j *state.Job, l *Life)"
	for _, s := range []struct{ body, want string }{
		{"s.Now = 3", "writes Now of core/internal/state.State"},
		{"s.Now++", "writes Now"},
		{"s.Now += 3", "writes Now"},
		{"s.Jobs[1] = nil", "writes Jobs"},
		{"delete(s.Jobs, 1)", "writes Jobs"},
		{"clear(s.Jobs)", "writes Jobs"},
		{"s.Names = append(s.Names, ``)", "writes Names"},
		{"copy(s.Names[1:], s.Names)", "writes Names"},
		{"for _, s.Now = range []int{1} {}", "writes Now"},
		{"p := &s.Now; *p = 3", "writes Now"},
		{"p := &(s.Names[1]); *p = ``", "writes Names"},
		{"_, s.Now = 1, 2", "writes Now"},
		{"s.Agenda.Due = true", "writes Agenda of core/internal/state.State"},
		{"s.Agenda = state.Agenda{}", "writes Agenda"},
		{"s.Todo.ReplaceOrInsert(1)", "writes Todo"},
		{"s.Todo.DeleteMin()", "writes Todo"},
		{"l.state.Now = 3", "writes Now"},
		{"func() { s.Now = 3 }()", "writes Now"},

		{"r.At = 3", "Life.f writes At of core/internal/state.LifePart"},
		{"r.LifePart.At = 3", "writes At"},
		{"j.Replicas[0].At++", "writes At"},
		{"r.Avoid = append(r.Avoid, 1)", "writes Avoid"},
		{"r.Avoid[0] = 3", "writes Avoid"},
		{"r.In[0] = 3", "writes In"},
		{"r.By[0] = 3", "writes By"},
		{"r.LifePart = state.LifePart{}", "writes LifePart of core/internal/state.Replica"},
		{"p := &r.LifePart; _ = p", "writes LifePart of core/internal/state.Replica"},
		{"p := &r.At; _ = p", "writes At"},
		{"var p *state.LifePart; *p = state.LifePart{}", "writes all of core/internal/state.LifePart"},

		{"r.Rest.Set(state.RestPart{})", "writes Rest of core/internal/state.Replica"},
		{"r.Rest.Note().At = 3", "writes At of core/internal/state.RestPart"},
		{"p := r.Rest.Note(); p.At = 3", "writes Rest of core/internal/state.Replica"},
		{"r.Rest = l.state.Jobs[1].Replicas[0].Rest", "writes Rest of core/internal/state.Replica"},

		{"s.Config = l.state.Config", "writes Config"},
		{"s.Config.Policy.Most = 3", "writes Most of .Policy"},
		{"p := &s.Config.Policy; p.Most = 3", "writes Most of .Policy"},
		{"p := &s.Config.Names; *p = nil", "writes Names of .Config"},

		{"p := &s.Config.Policy.Worth; _ = p.Milli", ""},
		{"policy := s.Config.Policy; policy.Most = 3; _ = policy", ""},
		{"s.Tick(); s.Agenda.Freed()", ""},
		{"now := s.Now; now++; _ = now", ""},
		{"l.state = s; l.tree.Clear(false); l.parts[0].At = 3", ""},
		{"r.Look.At = 3; r.Look = state.LookPart{}; j.Windows[0].At = 3", ""},
		{"r.Job = j; r.Free = 3; s.Jobs[1].Replicas = nil", ""},
		{"copied := r.LifePart; copied.At = 3; copied.In[0] = 3", ""},
		{"_ = &state.Replica{LifePart: state.LifePart{At: 3}}", ""},
		{"_ = s.Todo.Len(); _ = s.Jobs[1]; _ = r.Old()", ""},
		{"rest := r.Rest.Get(); rest.At = 3; _ = r.Rest.Get().At", ""},
		{"for i := range s.Names { _ = s.Names[i] }", ""},
	} {
		found := foreign(sampled(t, l, "func (*Life) f"+args+" { "+s.body+" }"), rooms, parts)
		if s.want == "" {
			require.Empty(t, found, s.body)
			continue
		}
		require.NotEmpty(t, found, s.body)
		require.Contains(t, found[0].text, s.want, s.body)
		require.Regexp(t, `^life\.go:\d+: core/internal/life\.Life\.f writes `, found[0].text)
		require.Regexp(t, `^core/internal/life\.Life\.f: (core/internal/state)?\.[A-Z]`, found[0].key)
	}
}

func TestDoorsCatch(t *testing.T) {
	l := lowerLoader(t)
	for _, s := range []struct{ text, want string }{
		{"func (l *Life) f() { l.fleet.Place() }", "core/internal/life/life.go:4: core/internal/life.Life.f calls Place of gang.Fleet"},
		{"func f(fleet *gang.Fleet) func() error { return fleet.Release }", "core/internal/life.f calls Release"},
		{"var f = (*gang.Fleet).Release", "core/internal/life.a declaration calls Release"},
		{"type with struct { *gang.Fleet }; func f(w with) { w.Place() }", "f calls Place"},
		{"func f(fleet *gang.Fleet) bool { return fleet.Fits() }", ""},
		{"type other struct{}; func (other) Place() {}; func f(o other) { o.Place() }", ""},
	} {
		found := changes(sampled(t, l, s.text))
		if s.want == "" {
			require.Empty(t, found, s.text)
			continue
		}
		require.Len(t, found, 1, s.text)
		require.Contains(t, found[0].text, s.want, s.text)
	}
	fleet := l.checked[module+"/gang"]
	require.Empty(t, sortedOut(fleet, "gang.Fleet", doorsOf{[]string{"Place", "Release"}, []string{"Fits"}}))
	require.Equal(t, []string{"gang.Fleet.Fits is said to change it, or to ask it, 0 times: say it once"},
		sortedOut(fleet, "gang.Fleet", doorsOf{changes: []string{"Place", "Release"}}))
	require.Equal(t, []string{"gang.Fleet.Fits is said to change it, or to ask it, 2 times: say it once"},
		sortedOut(fleet, "gang.Fleet", doorsOf{[]string{"Place", "Release", "Fits"}, []string{"Fits"}}))
	require.Equal(t, []string{"gang.Fleet has no method Move"},
		sortedOut(fleet, "gang.Fleet", doorsOf{[]string{"Place", "Release", "Move"}, []string{"Fits"}}))
	_, err := l.check(module+"/gang", map[string]any{"lower.go": lower["gang"]})
	require.NoError(t, err)
}

func TestHostNamesCatch(t *testing.T) {
	for _, s := range []struct {
		text string
		want []string
	}{
		{"type Node struct { CPUMilli, MemoryMiB int }", []string{"declares CPUMilli", "declares MemoryMiB"}},
		{"type Node struct { cpu int }; type GPU struct { MemoryMiB int }; func f(g GPU) int { return g.MemoryMiB }", nil},
		{"type Share struct { MemoryMiB int }; func f() Share { return Share{MemoryMiB: 3} }", nil},
		{"func f(MemoryMiB int) (CPUMilli int) { return MemoryMiB }", nil},
	} {
		u, err := newLoader(nil).check(module, map[string]any{"bad.go": "package p; " + s.text})
		require.NoError(t, err)
		found := hostNames(u)
		require.Len(t, found, len(s.want), s.text)
		for i := range s.want {
			require.Contains(t, found[i].text, "bad.go:1: "+s.want[i])
			require.Equal(t, "bad.go", found[i].key)
		}
	}
	l := newLoader(nil)
	_, err := l.check(module, map[string]any{"api.go": "package berth; type Node struct { CPUMilli, MemoryMiB int }"})
	require.NoError(t, err)
	for text, want := range map[string]string{
		"func f(n berth.Node) int { return n.CPUMilli }":               "core/bad.go:2: core.f uses CPUMilli",
		"func f(n *berth.Node) int { return n.MemoryMiB }":             "core/bad.go:2: core.f uses MemoryMiB",
		"func f() berth.Node { return berth.Node{MemoryMiB: 3} }":      "core/bad.go:2: core.f uses MemoryMiB",
		"type t struct{ berth.Node }; func f(t t) { t.MemoryMiB = 3 }": "core/bad.go:2: core.f uses MemoryMiB",
	} {
		u, err := l.check(module+"/core", map[string]any{"bad.go": "package core; import \"" + module + "\"\n" + text})
		require.NoError(t, err)
		found := hostNames(u)
		require.Len(t, found, 1, text)
		require.Equal(t, want, found[0].text)
		require.Equal(t, "core/bad.go", found[0].key)
	}
}
