package sim_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/golden.txt anew")

// goldenWorlds is how many worlds of each generator have a hash in testdata/golden.txt, and
// goldenEachRun how many of them every run of the tests looks at. A run that draws many worlds
// looks at all of them, and so does BERTH_GOLDEN=all.
const goldenWorlds, goldenEachRun = 40, 4

// TestGolden compares runs with the hashes of testdata/golden.txt, two for each world:
//
//   - decisions: the events, which field of them is refused and as what, the orders, and when the
//     next pass is due. A change that is said to change no decision changes none of these.
//   - form: the words of refusals, and now and then snapshots, explanations, the report, the
//     ledger. A new field that is always saved or told changes these alone; a new one that is
//     left out where it is zero changes none, as no world uses it.
//
// What is meant to change them writes them anew, and the failure before says which of the two
// it was: go test ./berthtest/sim -run TestGolden -rewrite
func TestGolden(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "golden.txt")
	each := uint64(goldenEachRun)
	if drawn.Many() || os.Getenv("BERTH_GOLDEN") == "all" || *rewrite {
		each = goldenWorlds
	}
	generators := []struct {
		name string
		draw worlds.Drawing
	}{
		{"world", (*worlds.Generator).World},
		{"contended", (*worlds.Generator).Contended},
		{"failing", (*worlds.Generator).Failing},
		{"moving", (*worlds.Generator).Moving},
		{"drained", (*worlds.Generator).Drained},
		{"hectic", (*worlds.Generator).Hectic},
	}
	want := map[string]hashes{}
	if !*rewrite {
		want = readGolden(t, file)
	}
	var b strings.Builder
	for _, g := range generators {
		for seed := uint64(1); seed <= each; seed++ {
			key, got := fmt.Sprintf("%s %d", g.name, seed), goldenHashes(t, g.draw, seed)
			fmt.Fprintf(&b, "%s %s %s\n", key, got.decisions, got.form)
			switch {
			case *rewrite || got == want[key]:
			case got.decisions == want[key].decisions:
				t.Errorf("%s: the form is another, %s and not %s; the decisions are the same", key, got.form, want[key].form)
			default:
				t.Errorf("%s: the decisions are others, %s and not %s", key, got.decisions, want[key].decisions)
			}
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
}

// hashes are those of a run.
type hashes struct{ decisions, form string }

func readGolden(t *testing.T, file string) map[string]hashes {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	byWorld := map[string]hashes{}
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		require.Len(t, words, 4, "a generator, a seed, two hashes")
		byWorld[words[0]+" "+words[1]] = hashes{decisions: words[2], form: words[3]}
	}
	return byWorld
}

// goldenHashes runs one world to its end, unchecked, and returns the hashes of what came of it.
func goldenHashes(t *testing.T, draw worlds.Drawing, seed uint64) hashes {
	t.Helper()
	config, options, list := draw(worlds.NewGenerator(seed))
	sched, err := core.New(config)
	require.NoError(t, err)
	g := &golden{t: t, decisions: sha256.New(), form: sha256.New(), thorough: seed%4 == 0}
	options.Applied, options.Scheduled = g.applied, g.scheduled
	g.sim = sim.New(sched, sim.FromSlice(list), options)
	for g.steps < 20_000 {
		at, any := g.sim.Next()
		if !any {
			break
		}
		require.NoError(t, g.sim.Run(at), "seed %d", seed)
	}
	g.look()
	return hashes{decisions: short(g.decisions), form: short(g.form)}
}

func short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }

// A golden hashes a run. A thorough one looks at the whole state after every step.
type golden struct {
	t         *testing.T
	sim       *sim.Simulation
	decisions hash.Hash
	form      hash.Hash
	jobs      []berth.JobID
	steps     int
	thorough  bool
}

func (g *golden) applied(now berth.Time, e berth.Event, refused error) {
	line, err := berth.EncodeEvent(e) // a refused one may have what cannot be written
	fmt.Fprintf(g.decisions, "%d %s %v", now, line, err)
	if refused != nil {
		var e *berth.Error
		require.ErrorAs(g.t, refused, &e)
		fmt.Fprintf(g.decisions, " refused: %s, %v", e.Field, e.Kind)
		fmt.Fprintln(g.form, e.Reason)
	}
	fmt.Fprintln(g.decisions)
	switch e := e.(type) {
	case berth.JobSubmitted:
		g.jobs = append(g.jobs, e.Job.ID)
	case berth.JobObserved:
		g.jobs = append(g.jobs, e.Job.ID)
	}
	if g.thorough {
		g.save()
	}
}

func (g *golden) scheduled(now berth.Time, actions []berth.Order) {
	wake, due := g.sim.Core().NextWake()
	fmt.Fprintf(g.decisions, "%d pass, next %d %v\n%s", now, wake, due, encode(g.t, actions))
	if g.thorough {
		g.save()
	}
	if g.steps++; g.steps%64 == 0 {
		g.look()
	}
}

func (g *golden) save() { g.form.Write([]byte(snapshot(g.t, g.sim.Core()))) }

// look adds the state, and what is answered about it.
func (g *golden) look() {
	g.save()
	sched := g.sim.Core()
	lines, times := sched.Ledger()
	answers := []any{sched.Report(), sched.Outstanding(), lines, times}
	for _, id := range g.jobs {
		if e, err := sched.Explain(id); err == nil {
			answers = append(answers, e)
		}
	}
	require.NoError(g.t, json.NewEncoder(g.form).Encode(answers))
}
