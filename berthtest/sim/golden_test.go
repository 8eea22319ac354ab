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
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/golden.txt anew")

// goldenWorlds is how many worlds of each generator have a hash in testdata/golden.txt, and
// goldenEachRun how many of them every run of the tests looks at. A run that draws many worlds
// looks at all of them, and so does BERTH_GOLDEN=all.
const goldenWorlds, goldenEachRun = 40, 4

// TestGolden compares runs with the hashes of testdata/golden.txt: a change that is said to
// change no decision changes none of them. A hash covers events and refusals, orders, when the
// next pass is due, and now and then snapshots, explanations and the report of the fleet. A
// change of decisions writes them anew: go test ./berthtest/sim -run TestGolden -rewrite
func TestGolden(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "golden.txt")
	each := uint64(goldenEachRun)
	if drawn.Many() || os.Getenv("BERTH_GOLDEN") == "all" || *rewrite {
		each = goldenWorlds
	}
	generators := []struct {
		name string
		draw drawing
	}{
		{"world", (*generator).world},
		{"contended", (*generator).contended},
		{"failing", (*generator).failing},
		{"moving", (*generator).moving},
		{"drained", (*generator).drained},
		{"hectic", (*generator).hectic},
	}
	want := map[string]string{}
	if !*rewrite {
		want = readGolden(t, file)
	}
	var b strings.Builder
	for _, g := range generators {
		for seed := uint64(1); seed <= each; seed++ {
			key, got := fmt.Sprintf("%s %d", g.name, seed), goldenHash(t, g.draw, seed)
			fmt.Fprintf(&b, "%s %s\n", key, got)
			if !*rewrite && want[key] != got {
				t.Errorf("%s: %s, not %s: the run is another", key, got, want[key])
			}
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
}

func readGolden(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	hashes := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		at := strings.LastIndexByte(s.Text(), ' ')
		hashes[s.Text()[:at]] = s.Text()[at+1:]
	}
	return hashes
}

// goldenHash runs one world to its end, unchecked, and returns the hash of what came of it.
func goldenHash(t *testing.T, draw drawing, seed uint64) string {
	t.Helper()
	config, options, list := draw(newGenerator(seed))
	sched, err := core.New(config)
	require.NoError(t, err)
	g := &golden{t: t, hash: sha256.New(), thorough: seed%4 == 0}
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
	return hex.EncodeToString(g.hash.Sum(nil)[:8])
}

// A golden hashes a run. A thorough one looks at the whole state after every step.
type golden struct {
	t        *testing.T
	sim      *sim.Simulation
	hash     hash.Hash
	jobs     []berth.JobID
	steps    int
	thorough bool
}

func (g *golden) applied(now berth.Time, e berth.Event, refused error) {
	line, err := berth.EncodeEvent(e)
	fmt.Fprintf(g.hash, "%d %s %v %v\n", now, line, err, refused)
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
	fmt.Fprintf(g.hash, "%d pass, next %d %v\n%s", now, wake, due, encode(g.t, actions))
	if g.thorough {
		g.save()
	}
	if g.steps++; g.steps%64 == 0 {
		g.look()
	}
}

func (g *golden) save() { g.hash.Write([]byte(snapshot(g.t, g.sim.Core()))) }

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
	require.NoError(g.t, json.NewEncoder(g.hash).Encode(answers))
}
