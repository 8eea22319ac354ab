package journal_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// record runs a small fleet through a few minutes, with a failed start, a lost
// node, a refused event and an idle pass, and returns its journal.
func record(tb testing.TB) (string, journal.Counts, *core.Core) {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	require.NoError(tb, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, sched.Config())
	require.NoError(tb, err)
	tell := func(now berth.Time, e berth.Event) {
		w.Applied(now, e, sched.Apply(now, e))
	}
	pass := func(now berth.Time) []berth.Order {
		actions, err := sched.Schedule(now)
		require.NoError(tb, err)
		w.Scheduled(now, actions)
		return actions
	}
	for _, id := range []berth.NodeID{"n1", "n2"} {
		gpu := berth.GPU{Product: "H100-80GB", MemoryMiB: 81559}
		tell(0, berth.NodeJoined{Node: berth.Node{
			ID: id, Domains: []string{"leaf <a>"}, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 64000, MemoryMiB: 1 << 20,
		}})
	}
	tell(0, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	job := func(id berth.JobID, members, gpus int) berth.JobSubmitted {
		return berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: "research", Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus, CPUMilli: 1000}}},
		}}
	}
	tell(1000, job("one", 1, 1))
	tell(1000, job("one", 1, 1)) // a duplicate: refused, and not written
	tell(1000, job("pair", 2, 1))
	given := pass(1000)
	require.Len(tb, given, 2)
	tell(2000, berth.OrderReported{Order: given[0].Header().ID, Outcome: berth.OutcomeDone})
	tell(2500, berth.OrderReported{Order: given[1].Header().ID, Outcome: berth.OutcomeFailed, Reason: "image not found"})
	require.Empty(tb, pass(2500))
	require.NotEmpty(tb, pass(10_000), "the failed gang is tried again after its backoff")
	tell(11_000, berth.NodeLost{Node: "n1", Reason: "power"})
	pass(11_000)
	pass(200_000) // orders expire
	require.NoError(tb, w.Flush())
	return out.String(), w.Counts(), sched
}

func TestRoundTrip(t *testing.T) {
	text, counts, sched := record(t)
	require.Equal(t, 8, counts.Events, "the duplicate is not among them")
	require.Equal(t, 5, counts.Passes)
	require.Equal(t, 1+counts.Events+counts.Passes+counts.Orders, strings.Count(text, "\n"))

	replayed, err := journal.Replay(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, counts, replayed)

	p, err := journal.NewPlayer(strings.NewReader(text))
	require.NoError(t, err)
	for err = nil; err == nil; {
		err = p.Step()
	}
	require.ErrorIs(t, err, io.EOF)
	want, err := sched.Snapshot()
	require.NoError(t, err)
	got, err := p.Core().Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "the replayed core stands where the recorded one stood")
}

// TestReaderReadsWhatIsWritten writes what it read and gets the same bytes.
func TestReaderReadsWhatIsWritten(t *testing.T) {
	text, _, _ := record(t)
	r, err := journal.NewReader(strings.NewReader(text))
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, r.Config())
	require.NoError(t, err)
	var now berth.Time
	var orders []berth.Order
	passing := false
	flush := func() {
		if passing {
			w.Scheduled(now, orders)
		}
		passing, orders = false, nil
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch {
		case e.Order != nil:
			orders = append(orders, e.Order)
		case e.Pass:
			flush()
			now, passing = e.Now, true
		default:
			flush()
			w.Applied(e.Now, e.Event, nil)
		}
	}
	flush()
	require.NoError(t, w.Flush())
	require.Equal(t, text, out.String())
}

// TestTamperedJournals changes one thing at a time, each of which has to be
// noticed on the line where it shows.
func TestTamperedJournals(t *testing.T) {
	text, _, _ := record(t)
	text = journal.Bare(text)
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	find := func(part string) int {
		for i, line := range lines {
			if strings.Contains(line, part) {
				return i
			}
		}
		require.FailNow(t, "no line has "+part)
		return -1
	}
	edit := func(i int, old, new string) string {
		require.Contains(t, lines[i], old)
		return strings.Join(lines[:i], "") + strings.Replace(lines[i], old, new, 1) + strings.Join(lines[i+1:], "")
	}
	drop := func(i int) string { return strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "") }
	firstBind, submitted, reported := find(`{"order":{"bind"`), find(`"one"`), find(`"failed"`)
	for _, c := range []struct {
		name, text string
		kind       error
		line       int
		reason     string
	}{
		{"another node in an order", edit(firstBind, `"node":"n1"`, `"node":"n2"`), journal.ErrOrdersDiffer, firstBind + 1, "another order"},
		{"a space in an order", edit(firstBind, `"bind":{`, `"bind": {`), journal.ErrOrdersDiffer, firstBind + 1, "another order"},
		{"an order left out", drop(firstBind), journal.ErrOrdersDiffer, firstBind + 1, "another order"},
		{"an order twice", strings.Join(lines[:firstBind+2], "") + strings.Join(lines[firstBind+1:], ""), journal.ErrOrdersDiffer, firstBind + 3, "no such order"},
		{"the last order of a pass left out", drop(firstBind + 1), journal.ErrOrdersDiffer, firstBind + 2, "1 more orders"},
		{"another claim in an event", edit(submitted, `"gpus":1`, `"gpus":2`), journal.ErrOrdersDiffer, firstBind + 1, "another order"},
		{"another outcome in an event", edit(reported, `"failed"`, `"done"`), journal.ErrOrdersDiffer, 0, ""},
		{"an event left out", drop(submitted), journal.ErrOrdersDiffer, firstBind, "another order"},
		{"an event twice", strings.Join(lines[:submitted+1], "") + strings.Join(lines[submitted:], ""), journal.ErrRefused, submitted + 2, "is known already"},
		{"a clock that goes back", edit(find(`"now":2500`), `"now":2500`, `"now":1500`), journal.ErrRefused, 0, "is before 2000"},
		{"an unknown field in an event", edit(submitted, `"queue"`, `"colour":"red","queue"`), journal.ErrMalformed, submitted + 1, "is not a known field"},
		{"an unknown field in a line", edit(submitted, `"now"`, `"then":1,"now"`), journal.ErrMalformed, submitted + 1, "is not a known field"},
		{"an unknown kind of event", edit(submitted, `"jobSubmitted"`, `"jobWished"`), journal.ErrMalformed, submitted + 1, "is not a known field"},
		{"a line that is no JSON", edit(submitted, `{"now"`, `{now`), journal.ErrMalformed, submitted + 1, "is not JSON"},
		{"an event and a pass in one", edit(submitted, `{"now"`, `{"pass":true,"now"`), journal.ErrMalformed, submitted + 1, "is none of"},
		{"a pass that is none", edit(find(`"pass"`), `true`, `false`), journal.ErrMalformed, find(`"pass"`) + 1, "is false"},
		{"an event without an instant", edit(submitted, `"now":1000,`, ``), journal.ErrMalformed, submitted + 1, "is none of"},
		{"an instant that is text", edit(submitted, `"now":1000`, `"now":"noon"`), journal.ErrMalformed, submitted + 1, "is not a whole number of milliseconds"},
		{"two objects on a line", edit(submitted, "\n", " {}\n"), journal.ErrMalformed, submitted + 1, "after its end"},
		{"an empty line", edit(submitted, lines[submitted], "\n"), journal.ErrMalformed, submitted + 1, "does not begin with its number"},
		{"a last line without its end", strings.TrimSuffix(text, "\n"), journal.ErrTruncated, len(lines), "no end"},
		{"a state", edit(submitted, lines[submitted], `{"state":"0000000000000000"}`+"\n"), journal.ErrMalformed, submitted + 1, "is in logs alone"},
		{"no configuration", drop(0), journal.ErrMalformed, 1, "the first line is the version and the configuration"},
		{"no version", edit(0, `"version":2,`, ``), journal.ErrVersion, 1, "older than version 2"},
		{"another version", edit(0, `"version":2,`, `"version":3,`), journal.ErrVersion, 1, "is 3, not 2"},
		{"a version on another line", edit(submitted, `"now":1000,`, `"version":2,"now":1000,`), journal.ErrMalformed, submitted + 1, "is none of"},
		{"a configuration that makes no sense", edit(0, `"leaf"`, `"node"`), journal.ErrMalformed, 1, "is taken"},
		{"nothing", "", journal.ErrMalformed, 1, "is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := journal.Replay(strings.NewReader(journal.Seal(c.text)))
			var e *journal.Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.reason)
			if c.line > 0 {
				require.Equal(t, c.line, e.Line, err)
			}
			if c.kind == journal.ErrOrdersDiffer {
				require.NotEqual(t, e.Journal, e.Core)
			}
		})
	}
}

// TestMalformedLineChangesNothing plays a journal with lines in between that are
// malformed or make no sense: each is named, and the rest plays as if they were
// not there.
func TestMalformedLineChangesNothing(t *testing.T) {
	text, counts, _ := record(t)
	text = journal.Bare(text)
	bad := []struct{ line, field, reason string }{
		{`{"now":1`, "", "ends before"},
		{`{"now":200000,"event":{"nodeLost":{"node":"n9"}}}`, "event.nodeLost.node", `"n9" is not in the fleet`},
		{`{"now":200000,"event":{"gpuFailed":{"node":"n2","gpu":7}}}`, "event.gpuFailed.gpu", "out of range"},
		{`{"now":200000,"event":{"jobScaled":{"job":"one","replicas":-1,"by":2}}}`, "event.jobScaled.by", "is not a known field"},
		{`{"now":200000,"event":{"jobSubmitted":{"job":{"id":"x","queue":"research","groups":[{"members":2,"minMembers":3,"claim":{"gpus":1}}]}}}}`, "event.jobSubmitted.job.groups[0].minMembers", "outside 0..2"},
		{`{"now":200000,"event":{"jobSubmitted":{"job":{"id":"x","queue":"research","groups":[{"members":2,"claim":{"cpuMilli":-5}}]}}}}`, "event.jobSubmitted.job.groups[0].claim.cpuMilli", "negative"},
	}
	bad = append(bad, struct{ line, field, reason string }{`{"now":1,"pass":true,"orders":0,"digest":"0000000000000000"}`, "now", "before"}, struct{ line, field, reason string }{`{"now":1,"event":{"nodeLost":{"node":"n2"}}}`, "now", "before"},
		struct{ line, field, reason string }{`{"now":200000,"noww":1,"pass":true}`, "noww", `did you mean "now"?`}, struct{ line, field, reason string }{`{"now":200000,"now":1,"pass":true}`, "now", "comes twice"})
	for _, b := range bad {
		text += b.line + "\n"
	}
	text += `{"now":200000,"pass":true,"orders":0,"digest":"0000000000000000"}` + "\n"
	p, err := journal.NewPlayer(strings.NewReader(journal.Seal(text)))
	require.NoError(t, err)
	for range counts.Events + counts.Passes + counts.Orders {
		require.NoError(t, p.Step())
	}
	before, err := p.Core().Snapshot()
	require.NoError(t, err)
	for _, b := range bad {
		err := p.Step()
		var e *journal.Error
		require.ErrorAs(t, err, &e, b.line)
		var cause *berth.Error
		if strings.HasPrefix(e.Field, "event.") {
			require.ErrorAs(t, err, &cause, b.line)
		}
		require.Equal(t, b.field, e.Field)
		require.Contains(t, e.Reason, b.reason)
		after, err := p.Core().Snapshot()
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	}
	require.NoError(t, p.Step(), "the pass behind them")
	require.ErrorIs(t, p.Step(), io.EOF)
	counts.Passes++
	require.Equal(t, counts, p.Counts())
}

// However long what is wrong with a journal is, its error repeats little of it.
func TestErrorsAreShort(t *testing.T) {
	text, _, _ := record(t)
	long := strings.Repeat("zz", 1<<16)
	for _, line := range []string{
		long, `{"` + long + `":1}`, `{"now":"` + long + `"}`, `{"now":200000,"event":{"` + long + `":{}}}`, `{"now":200000,"event":"` + long + `"}`,
		`{"now":200000,"event":{"nodeLost":{"node":"` + long + `"}}}`, `{"order":{"drop":{"job":"` + long + `"}}}`,
		`{"order":{"drop":{"` + long + `":1}}}`, `{"now":200000,"event":{"jobSubmitted":{"job":{"class":"` + long + `"}}}}`,
	} {
		p, err := journal.NewPlayer(strings.NewReader(journal.Seal(journal.Bare(text) + line + "\n")))
		require.NoError(t, err)
		for err = p.Step(); err == nil; err = p.Step() {
		}
		require.NotErrorIs(t, err, io.EOF, line[:40])
		require.LessOrEqual(t, strings.Count(err.Error(), "z"), 100)
	}
	differ := &journal.Error{Kind: journal.ErrOrdersDiffer, Journal: "{" + long + "a}", Core: "{" + long + "b}"}
	require.Contains(t, differ.Error(), "zza}")
	require.Contains(t, differ.Error(), "zzb}")
	require.Less(t, len(differ.Error()), 200)
}

// brokenDisk takes so many bytes and no more.
type brokenDisk int

var errDiskFull = errors.New("disk full")

func (d *brokenDisk) Write(b []byte) (int, error) {
	if *d -= brokenDisk(len(b)); *d < 0 {
		return 0, errDiskFull
	}
	return len(b), nil
}

func TestWriterKeepsTheFirstError(t *testing.T) {
	disk := brokenDisk(1 << 17)
	w, err := journal.NewWriter(&disk, berth.Config{})
	require.NoError(t, err)
	for i := range 20_000 {
		w.Scheduled(berth.Time(i), nil)
	}
	require.ErrorIs(t, w.Flush(), errDiskFull)
	written := w.Counts()
	w.Scheduled(20_000, nil)
	require.Equal(t, written, w.Counts(), "nothing is written after an error")

	w, err = journal.NewWriter(io.Discard, berth.Config{})
	require.NoError(t, err)
	w.Scheduled(0, []berth.Order{nil})
	require.Error(t, w.Flush(), "no action has no JSON")
}

func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 64 MiB")
	}
	head := `{"version":2,"config":{}}` + "\n"
	long := io.LimitReader(spaces{}, journal.MaxLineBytes+1)
	_, last, _ := strings.Cut(journal.Seal(head+`{"now":1,"pass":true,"orders":0,"digest":"0000000000000000"}`), "\n")
	r, err := journal.NewReader(io.MultiReader(strings.NewReader(head), long, strings.NewReader("\n"+last+"\n")))
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, journal.ErrMalformed)
	require.ErrorContains(t, err, "line 2: is longer than")
	e, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, journal.Entry{Line: 3, Position: e.Position, Now: 1, Pass: true}, e)
	require.EqualValues(t, 1, e.Position.Number)
}

type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// FuzzReader: any bytes give entries or a typed error, and any journal that can
// be read can be played without a panic (R1).
func FuzzReader(f *testing.F) {
	text, _, _ := record(f)
	f.Add(text)
	f.Add(`{"version":2,"config":{}}` + "\n" + `{"now":1,"pass":true}` + "\n" + `{"order":{}}`)
	f.Add(journal.Seal(`{"version":2,"config":{}}` + "\n" + `{"now":1,"pass":true,"orders":0,"digest":"0000000000000000"}` + "\n" + `{"order":{}}`))
	f.Add("")
	f.Add("{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := journal.NewPlayer(strings.NewReader(text))
		for steps := 0; err == nil || steps > 0; steps++ {
			require.LessOrEqual(t, steps, strings.Count(text, "\n")+1, "each step takes a line")
			if err = p.Step(); errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				requireTyped(t, err)
			}
		}
		requireTyped(t, err)
	})
}

func requireTyped(t *testing.T, err error) {
	t.Helper()
	var e *journal.Error
	require.ErrorAs(t, err, &e)
	require.Positive(t, e.Line)
	require.NotEmpty(t, e.Reason)
	require.NotNil(t, e.Kind)
}

// TestALineThatIsNotWhereItWasWritten: what is dropped, doubled, changed or moved is named at once,
// also where a core would not notice.
func TestALineThatIsNotWhereItWasWritten(t *testing.T) {
	text, _, _ := record(t)
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	for i := 1; i < len(lines)-1; i++ {
		for name, mended := range map[string][]string{
			"dropped": slices.Delete(slices.Clone(lines), i, i+1),
			"doubled": slices.Insert(slices.Clone(lines), i, lines[i]),
			"swapped": slices.Concat(lines[:i], []string{lines[i+1], lines[i]}, lines[i+2:]),
			"changed": slices.Concat(lines[:i], []string{strings.Replace(lines[i], `","`, `", "`, 1)}, lines[i+1:]),
		} {
			_, err := journal.Replay(strings.NewReader(strings.Join(mended, "")))
			var e *journal.Error
			require.ErrorAs(t, err, &e, "%s line %d", name, i+1)
			require.ErrorIs(t, err, journal.ErrDamaged)
			at := i + 1
			if name == "doubled" {
				at++
			}
			require.Equal(t, at, e.Line, "%s: %v", name, err)
		}
	}
}
