package sim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// A record is what a world was told, with the answers, once it was run to its end.
type record struct {
	once   sync.Once
	config berth.Config
	log    []worlds.Step
}

// records are by seed: several tests tell the same worlds again.
var records sync.Map

// recorded runs a world to its end, unless that was done.
func recorded(t *testing.T, seed uint64) (berth.Config, []worlds.Step) {
	t.Helper()
	known, _ := records.LoadOrStore(seed, &record{})
	r := known.(*record)
	r.once.Do(func() {
		run := worlds.NewRunWith(seed, faulty(seed))
		must(t, run, seed)
		r.config, r.log = worlds.NewGenerator(seed).Config(), run.Log
	})
	require.NotEmpty(t, r.log, "seed %d did not run to its end", seed)
	return r.config, r.log
}

// faulty has all faults happen at once in every other world.
func faulty(seed uint64) func(*sim.Options) {
	return func(o *sim.Options) {
		if seed%2 == 0 {
			o.Faults = sim.Faults{
				BindPartial: 0.4, BindFail: 0.1, ReleasePartial: 0.2, ReportLost: 0.1, ReportLate: 0.1, ReportOld: 0.1,
				MemberDie: 0.05, NodeLost: 0.02, GPUFail: 0.02, Until: worlds.Faults,
			}
		}
	}
}

// tellAgain tells a core what another was told, with the books looked at and the core restored now
// and then.
func tellAgain(t *testing.T, config berth.Config, log []worlds.Step, seed uint64) {
	t.Helper()
	sched := fresh(t, config)
	for i := range log {
		tell(t, sched, &log[i])
		if i%16 == 0 {
			require.NoError(t, sched.Check(), "seed %d, step %d", seed, i)
			saved := snapshot(t, sched)
			sched = restored(t, saved)
			sameState(t, saved, snapshot(t, sched), "seed %d, step %d", seed, i)
		}
	}
}

// tell gives a core one step, and returns its orders as bytes. An answer to an event
// must be the recorded one.
func tell(t *testing.T, sched *core.Core, s *worlds.Step) string {
	t.Helper()
	if s.Event != nil {
		err := sched.Apply(s.Now, s.Event)
		if s.Refused == nil {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, s.Refused.Error())
		}
		return ""
	}
	actions, err := sched.Schedule(s.Now)
	require.NoError(t, err)
	return encode(t, actions)
}

func encode(t *testing.T, actions []berth.Order) string {
	t.Helper()
	var b strings.Builder
	for _, a := range actions {
		line, err := berth.EncodeOrder(a)
		require.NoError(t, err)
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func fresh(t *testing.T, config berth.Config) *core.Core {
	t.Helper()
	sched, err := core.New(config)
	require.NoError(t, err)
	return sched
}

func snapshot(t *testing.T, sched *core.Core) string {
	t.Helper()
	b, err := sched.Snapshot()
	require.NoError(t, err)
	return string(b)
}

// sameState compares two snapshots, and shows where they differ.
func sameState(t *testing.T, want, got, format string, args ...any) {
	t.Helper()
	if want == got {
		return
	}
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	near := func(s string) string { return s[max(0, i-400):min(len(s), i+200)] }
	t.Fatalf(format+": the states differ\n%s\n---\n%s", append(args, near(want), near(got))...)
}

func restored(t *testing.T, snapshot string) *core.Core {
	t.Helper()
	sched, err := core.Restore([]byte(snapshot))
	require.NoError(t, err)
	return sched
}

// childEnv has this test binary print the fingerprint of a world and nothing else.
const childEnv = "BERTH_FINGERPRINT"

// fingerprinted is how many worlds TestD1 looks at in every run.
const fingerprinted = 3

// fingerprint is a hash of all orders of the worlds, which are run anew, and unchecked.
func fingerprint(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	for seed := range drawn.Seeds(fingerprinted) {
		config, options, list := worlds.NewGenerator(seed).World()
		faulty(seed)(&options)
		options.Scheduled = func(_ berth.Time, actions []berth.Order) { h.Write([]byte(encode(t, actions))) }
		s := sim.New(fresh(t, config), sim.FromSlice(list), options)
		for at, more := s.Next(); more; at, more = s.Next() {
			require.NoError(t, s.Run(at), "seed %d", seed)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The same configuration and events give the same orders, byte for byte: side by
// side, with other numbers of processors, and in another process.
func TestD1_SameFactsSameOrders(t *testing.T) {
	t.Parallel()
	if os.Getenv(childEnv) != "" {
		t.Logf("%s=%s", childEnv, fingerprint(t))
		return
	}
	h := sha256.New()
	for seed := range drawn.Seeds(fingerprinted) {
		config, log := recorded(t, seed)
		a, b := fresh(t, config), fresh(t, config)
		for i := range log {
			want := encode(t, log[i].Actions)
			h.Write([]byte(want))
			require.Equal(t, want, tell(t, a, &log[i]))
			require.Equal(t, want, tell(t, b, &log[i]))
		}
		sameState(t, snapshot(t, a), snapshot(t, b), "seed %d", seed)
	}
	want := hex.EncodeToString(h.Sum(nil))
	before := runtime.GOMAXPROCS(1)
	one := fingerprint(t)
	runtime.GOMAXPROCS(before)
	require.Equal(t, want, one)

	child := exec.Command(os.Args[0], "-test.run=^TestD1_", "-test.v")
	child.Env = append(os.Environ(), childEnv+"=1", "GOMAXPROCS=3")
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), childEnv+"="+want)
}

// A core that is restored at every single step gives the orders of one that never
// was, and has its state.
func TestD2_RestoredBehavesTheSame(t *testing.T) {
	t.Parallel()
	for seed := range drawn.Seeds(2) {
		config, log := recorded(t, seed)
		plain, twin := fresh(t, config), fresh(t, config)
		for i := range log {
			require.Equal(t, tell(t, plain, &log[i]), tell(t, twin, &log[i]), "seed %d, step %d", seed, i)
			saved := snapshot(t, twin)
			sameState(t, snapshot(t, plain), saved, "seed %d, step %d", seed, i)
			twin = restored(t, saved)
			require.NoError(t, twin.Check())
			require.Equal(t, plain.Outstanding(), twin.Outstanding())
		}
	}
}

// A crash at any point loses nothing: an older snapshot, and the log of events and
// passes since, give the same core again.
func TestD3_CrashAtAnyPoint(t *testing.T) {
	t.Parallel()
	for seed := range drawn.Seeds(2) {
		config, log := recorded(t, seed)
		random := rand.New(rand.NewPCG(seed, 3))
		sched, saved, since := fresh(t, config), snapshot(t, fresh(t, config)), 0
		for i := range log {
			tell(t, sched, &log[i])
			if random.IntN(20) == 0 {
				saved, since = snapshot(t, sched), i+1
			}
			again := restored(t, saved)
			for k := since; k <= i; k++ {
				require.Equal(t, encode(t, log[k].Actions), tell(t, again, &log[k]))
			}
			sameState(t, snapshot(t, sched), snapshot(t, again), "seed %d, crash after step %d, snapshot after %d", seed, i, since)
			require.Equal(t, sched.Outstanding(), again.Outstanding())
		}
	}
}

// A what-if says what would come, and leaves the state byte-identical.
func TestD4_WhatIfChangesNothing(t *testing.T) {
	t.Parallel()
	answers := 0
	for seed := range drawn.Seeds(2) {
		config, log := recorded(t, seed)
		sched := fresh(t, config)
		for i := range log {
			before := snapshot(t, sched)
			// What if everything up to the next pass came now?
			next := i
			var events []berth.Event
			for next < len(log) && log[next].Event != nil && log[next].Now == log[i].Now {
				if log[next].Refused == nil {
					events = append(events, log[next].Event)
				}
				next++
			}
			actions, err := sched.WhatIf(log[i].Now, events...)
			require.NoError(t, err)
			sameState(t, before, snapshot(t, sched), "seed %d, step %d", seed, i)
			if next < len(log) && log[next].Event == nil && log[next].Now == log[i].Now {
				answers++
				require.Equal(t, encode(t, log[next].Actions), encode(t, actions))
			}
			_, err = sched.WhatIf(log[i].Now, berth.JobCancelled{Job: "nobody"})
			require.ErrorIs(t, err, berth.ErrUnknown)
			sameState(t, before, snapshot(t, sched), "seed %d, step %d", seed, i)
			tell(t, sched, &log[i])
		}
	}
	if drawn.Many() {
		require.Greater(t, answers, 500)
	}
}
