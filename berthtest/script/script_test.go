package script_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/berthtest/script"
	"github.com/berth-sched/berth/internal/drawn"
)

var rewrite = flag.Bool("rewrite", false, "write the scripts anew with what they print now")

func TestScripts(t *testing.T) { script.Files(t, "testdata/*.txt", *rewrite) }

// The documents name scripts that are there.
func TestStoriesOfTheDocumentsAreThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/packages.md")
	require.NoError(t, err)
	names := regexp.MustCompile(`\d+-[a-z0-9-]+\.txt`).FindAllString(string(text), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.FileExists(t, filepath.Join("testdata", name))
	}
}

// Each failure of others names scripts that are there and name it, and each script that was written
// for one is named.
func TestKnownFailuresAreHeldUp(t *testing.T) {
	text, err := os.ReadFile("../../docs/known-failures.md")
	require.NoError(t, err)
	named := map[string]bool{}
	reference := regexp.MustCompile(`^\| \[(([A-Za-z-]+)#(\d+))\]\(https://github\.com/[\w.-]+/([\w.-]+)/issues/(\d+)\) \|`)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| [") {
			continue
		}
		of := reference.FindStringSubmatch(line)
		require.NotNil(t, of, line)
		require.Equal(t, of[2]+"#"+of[3], of[4]+"#"+of[5], "the link is that of the reference")
		for _, name := range regexp.MustCompile(`\d+-[a-z0-9-]+\.txt`).FindAllString(line, -1) {
			told, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			require.Regexp(t, `(?m)^#.*\b`+of[1]+`\b`, string(told), name)
			named[name] = true
		}
	}
	written, err := filepath.Glob("testdata/5[4-7][0-9]-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, written)
	for _, name := range written {
		require.True(t, named[filepath.Base(name)], "docs/known-failures.md does not name %s", name)
	}
}

// A transcript stays as it is when it is run again, and what somebody changed in
// it comes out as it should be.
func TestRunRewritesOutputAlone(t *testing.T) {
	const right, changed = `# A title.
node n1

queue q
job a queue=q gpus=1
pass
  #1 bind a/0 incarnation 1 (fits): n1[0] by 2m0s
`, `# A title.
node n1
  what nobody printed

queue q
job a queue=q gpus=1
pass
  #7 bind a/0 incarnation 1 (fits): n1[5] by 2m0s
  no orders
`
	for _, text := range []string{right, changed} {
		out, err := script.Run([]byte(text))
		require.NoError(t, err)
		require.Equal(t, right, string(out))
	}
}

// A script that makes no sense is told so, by line.
func TestMistakes(t *testing.T) {
	const fleet = "node n1\nqueue q\njob a queue=q gpus=8\npass\n"
	for _, c := range []struct{ line, says string }{
		{"dance", `no command "dance"`},
		{"node n1 colour=red", "does not know colour="},
		{"node n1 gpus=four", "is not a number"},
		{"node n1 gpus=1 gpus=2", "twice"},
		{"node n1 memory=2TB", "units MiB, GiB, TiB"},
		{"node n1 cpu=0.0001", "finer than a thousandth"},
		{"node n1..m2", "not a range"},
		{"node n9..n1", "not a range"},
		{"node n5 nvlink=no", "yes is all"},
		{"node n5 labels=x", "key:value"},
		{"node n5 failed=9", "no GPU of the node"},
		{"cordon n1 n2", "has 2 words"},
		{"fail-gpu n1 x", "is not a number"},
		{"queue r limit=gpu:many", "is not a number"},
		{"job b queue=q class=royal", "royal"},
		{"job b queue=q mode=mps share=1 segment=two", "2:node"},
		{"job b queue=q group=w", "name:members"},
		{"job b queue=q group=w:1:speed=9", "does not know speed="},
		{"job b queue=q timeout=soon", "invalid duration"},
		{"observe b queue=q gpus=1 running=n1[0]|n1[1]", "1 places more"},
		{"observe b queue=q gpus=1 running=n1[0", "not a place"},
		{"report 1 maybe", "maybe"},
		{"report 1 partial w", "not a member"},
		{"pass now", "takes no arguments"},
		{"config levels=leaf", "comes first"},
		{"what-if pass", "is not an event"},
		{"diff sees=a", "not an observed member"},
		{"expect a running", "it is binding"},
		{"expect a binding incarnation=2", "it is in incarnation 1"},
		{"expect a binding on=n2", "it has on=n1"},
		{"expect a binding at=n1[0]", "it has at=n1[0-7]"},
		{"expect a binding reason=quota", "its reason is"},
		{"expect a binding held=n1[0]", "it has held="},
		{"blast n1", "is not a number"},
		{"expect a gone", "it is binding"},
		{"expect a dancing", "none of"},
		{"expect b pending", "no such replica"},
		{"expect orders 0", "orders of the latest pass: 1"},
		{"expect attempts 9", "searches: 1"},
		{"expect reserved r", "there is no reservation"},
		{"expect a binding start=1h", "expected to start at 0s at the earliest"},
		{"reserve r from=0s until=1h nodes=n1..m4", "not a range"},
		{"reserve r from=soon until=1h gpus=8", "invalid duration"},
		{"policy locality=near", "near"},
		{"policy geometry=main", "main is not of the form pool:kind"},
		{"policy geometry=main:elastic", "elastic"},
		{"policy geometry=main:adaptive:speed=9", "does not know speed="},
		{"policy geometry=main:adaptive:layout=half", "half"},
		{"node n5 mode=shared", "shared"},
		{"node n5 mode=mig instances=3g.40gb", "3g.40gb"},
		{"partition-gpu n1 x", "is not a number"},
		{"table mine like=H100", "no such table"},
		{"table mine like=H100-80GB without=9g.80gb", "has no 9g.80gb"},
		{"observe b queue=q mig=1g.10gb running=n1[0:1g]", "1g"},
		{"expect refused stale", "not refused so"},
	} {
		t.Run(c.line, func(t *testing.T) {
			out, err := script.Run([]byte(fleet + c.line + "\n"))
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "line 5: "+c.line)
			var broken *script.Violation
			require.False(t, errors.As(err, &broken), "it is the script that is wrong")
			require.Contains(t, string(out), "#1 bind a/0", "what was printed before comes with it")
		})
	}
}

// What every script says in its first line is what a reader finds it by.
func TestScriptsHaveTitles(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 25)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "# "), name)
		require.GreaterOrEqual(t, strings.Count(string(text), "\n# "), 1, "%s: a script explains what it shows", name)
		require.Contains(t, string(text), "\nexpect ", "%s: a script expects something that a rewrite cannot change", name)
	}
}

// do runs commands, returns what they print and holds the core to its promises.
// That the commands may make no sense is no matter.
func do(t interface {
	Fatalf(format string, args ...any)
}, lines []string,
) string {
	var all strings.Builder
	s := script.NewSession()
	for i, line := range lines {
		out, err := s.Do(line)
		all.WriteString(out)
		var broken *script.Violation
		if errors.As(err, &broken) {
			t.Fatalf("%s\n%v", strings.Join(lines[:i+1], "\n"), err)
		}
	}
	return all.String()
}

// commands returns the lines of a script that are to be run, without
// expectations.
func commands(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "expect ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func readScripts(t testing.TB) []string {
	names, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var texts []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// The scripts use the same few names, so their lines make sense in any order:
// whatever is drawn from them, the core keeps its promises.
func TestShuffledScripts(t *testing.T) {
	shuffle(t, readScripts(t), 40, []string{
		"node n1..n4", "config levels=leaf\nnode n1..n2 at=l0\nnode n3..n4 at=l1",
		"config bind-timeout=5s release-timeout=2s pass-budget=2\nnode n1..n3",
	}, []string{
		"node n1..n4", "node n1 at=l0", "node n2 at=l0", "node n3 at=l1", "uncordon n1",
	}, " bind ", " release ", "refused, stale")
}

// The same for the scripts about divided GPUs, among themselves.
func TestShuffledDivisions(t *testing.T) {
	var divided []string
	for _, text := range readScripts(t) {
		if strings.Contains(text, "mode=mig") {
			divided = append(divided, strings.ReplaceAll(text, "\nfail-gpu", "\n# fail-gpu"))
		}
	}
	shuffle(t, divided, 20, []string{
		"config geometry=:adaptive:cost=1s,interval=10s repartition-timeout=3s reserve-after=20s\nnode n1..n2 gpus=2 table=H100-80GB mode=mig",
		"config geometry=:adaptive:cost=1s,interval=5s,layout=3g.40gb|3g.40gb\nnode n1..n2 gpus=1 table=H100-80GB",
		"config geometry=:per-claim:interval=10s\nnode n1..n2 gpus=2 table=H100-80GB",
		"node n1..n2 gpus=2 table=H100-80GB mode=mig instances=3g.40gb@0:4|1g.10gb@4:1|1g.10gb@5:1",
	}, []string{
		"job small queue=q mig=1g.10gb runtime=1m", "job large queue=q mig=7g.80gb runtime=1m", "job shared queue=q share=300 tenant=a runtime=1m",
		"job whole queue=q gpus=1 runtime=1m", "finish small", "finish large", "finish shared", "finish whole", "advance 10s", "advance 1m",
		"partition-gpu n1 0 mode=whole", "partition-gpu n1 1 mode=mig", "repair-gpu n1 0", "node n1 gpus=2 table=H100-80GB", "lose n1",
	}, " bind ", " release ", " repartition ", " after #", "gb@", "+7g.80gb@", "refused, stale")
}

// shuffle runs lines, at least so many, drawn from scripts and from those that should
// come often. A run in
// which too little happened would prove nothing, so what happened is counted.
func shuffle(t *testing.T, texts []string, least int, starts, often []string, wanted ...string) {
	var jobs, others []string
	for _, text := range texts {
		for _, line := range commands(text) {
			switch command, _, _ := strings.Cut(line, " "); command {
			case "config", "json", "restore", "advance", "policy", "fleet", "totals", "outstanding":
			case "job", "service", "observe":
				jobs = append(jobs, line)
			default:
				others = append(others, line)
			}
		}
	}
	often = append(often,
		"pass", "pass", "pass", "report all done", "report all done", "report all failed", "wake", "advance 1s", "snapshot-restore", "queue q")
	line := rapid.OneOf(rapid.SampledFrom(jobs), rapid.SampledFrom(others), rapid.SampledFrom(often), rapid.SampledFrom(often))
	start := rapid.SampledFrom(starts)
	seen := map[string]int{}
	counted := append([]string{
		" drop ", "(grows", "(repair", "(hardware-lost", "(member-failed", "(repartition-failed", "(bind-expired", "(layout)", "attempt 2",
	}, wanted...)
	drawn.Check(t, func(t *rapid.T) {
		lines := append(strings.Split(start.Draw(t, "start"), "\n"), "queue q", "queue a", "queue b", "queue team")
		out := do(t, append(lines, rapid.SliceOfN(line, least, 2*least).Draw(t, "lines")...))
		for _, what := range counted {
			seen[what] += strings.Count(out, what)
		}
	})
	for _, what := range wanted {
		if drawn.Many() {
			require.Positive(t, seen[what], "%v", seen)
		}
	}
	t.Log(seen)
}

// Whatever the bytes: a script may be wrong, but nothing it says breaks the core.
// Large numbers are left out, to keep a run short.
func FuzzRun(f *testing.F) {
	for _, text := range readScripts(f) {
		f.Add(text)
	}
	large := regexp.MustCompile(`[0-9]{4}|[.][.][^ ]*[0-9]{3}|(replicas|members|scale [^ ]*)[ =][0-9]{3}|:[0-9]{3}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !large.MatchString(text) && len(text) < 4000 {
			do(t, commands(text))
		}
	})
}
