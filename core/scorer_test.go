package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// byName scores places and domains by a table, and counts in its books what it was told.
type byName struct {
	name   string
	scores map[string]int64
	told   []string
	asked  *[]string // what it was asked about, for the test alone
}

func (s *byName) Name() string { return s.name }

func (s *byName) Score(g *berth.Group, places []berth.Place) {
	for i := range places {
		p := &places[i]
		at := string(p.Node.ID)
		if p.GPU >= 0 {
			at = fmt.Sprintf("%s.%d", at, p.GPU)
		}
		p.Score = s.scores[at]
		*s.asked = append(*s.asked, fmt.Sprintf("%s %v", at, p.Left))
	}
}

func (s *byName) ScoreDomains(_ []berth.Group, domains []berth.Domain) {
	for i := range domains {
		d := &domains[i]
		d.Score = s.scores[strings.Join(d.Path, "/")]
		*s.asked = append(*s.asked, fmt.Sprintf("%s %v %d of %d", d.Level, d.Path, d.FreeGPUs, d.GPUs))
	}
}

func (s *byName) Submitted(j *berth.Job) { s.told = append(s.told, "submitted "+string(j.ID)) }

func (s *byName) Held(h berth.Holding) {
	s.told = append(s.told, fmt.Sprintf("held %s %v", h.Node.ID, h.GPUs))
}

func (s *byName) Released(h berth.Holding) {
	s.told = append(s.told, fmt.Sprintf("released %s %v", h.Node.ID, h.GPUs))
}

func (s *byName) Save() []byte { return []byte(strings.Join(s.told, "\n")) }

func (s *byName) Restore(books []byte) (berth.BookkeepingScorer, error) {
	if string(books) == "torn" {
		return nil, errors.New("the books are torn")
	}
	own := *s
	own.told = nil
	if len(books) > 0 {
		own.told = strings.Split(string(books), "\n")
	}
	return &own, nil
}

// newScored is newExample with a leaf more and a scorer.
func newScored(t *testing.T, s berth.Scorer) *core.Core {
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}, Scorer: s})
	require.NoError(t, err)
	mustApply(sched, 0, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	for _, at := range []struct {
		node berth.NodeID
		leaf string
	}{{"n1", "a"}, {"n2", "a"}, {"n3", "b"}, {"n4", "b"}} {
		n := hgx(at.node).(berth.NodeJoined)
		n.Node.Domains = []string{at.leaf}
		mustApply(sched, 0, n)
	}
	return sched
}

// claimed is a job with so many members.
func claimed(id berth.JobID, members int, claim berth.Claim) berth.JobSubmitted {
	return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "research", Groups: []berth.Group{{Members: members, Claim: claim}}}}
}

// bound is where a job that is submitted goes: node and GPUs of its members.
func bound(t *testing.T, sched *core.Core, job berth.JobSubmitted) string {
	mustApply(sched, sched.Now(), job)
	orders, err := sched.Schedule(sched.Now())
	require.NoError(t, err)
	require.NotEmpty(t, orders)
	var at []string
	for _, m := range orders[len(orders)-1].(berth.Bind).Members {
		at = append(at, fmt.Sprintf("%s[%v]", m.Node, m.GPUs))
	}
	return strings.Join(at, " ")
}

// A scorer is asked about every place that will do, and what it ranks first is taken: nodes for
// whole GPUs and for the host alone, GPUs for shares, domains and nodes for gangs.
func TestAScorerChoosesAmongWhatIsAllowed(t *testing.T) {
	var asked []string
	s := &byName{name: "by-name", scores: map[string]int64{"n3": 7, "n4.0": 9, "b": 5, "b/n4": 6, "n1": -3}, asked: &asked}
	sched := newScored(t, s)
	require.Equal(t, "n3[0-1]", bound(t, sched, claimed("pair", 1, berth.WholeGPUs(2))))
	require.Len(t, asked, 4)
	require.Contains(t, asked, "n1 [1000 1000 1000 1000 1000 1000 1000 1000]")
	require.Equal(t, "n4[0]", bound(t, sched, claimed("share", 1, berth.SharedGPU(berth.ShareMPS, 300))))
	asked = nil
	require.Equal(t, "n4[0]", bound(t, sched, claimed("other", 1, berth.SharedGPU(berth.ShareMPS, 300))))
	require.Contains(t, asked, "n4.0 [700 1000 1000 1000 1000 1000 1000 1000]")
	require.Contains(t, asked, "n4.1 [700 1000 1000 1000 1000 1000 1000 1000]", "the first of those that nobody uses")
	require.Equal(t, "n3[]", bound(t, sched, claimed("tool", 1, berth.HostOnly(1000, 0))))
	asked = nil
	require.Equal(t, "n3[2-7] n4[1-6]", bound(t, sched, claimed("gang", 2, berth.WholeGPUs(6))), "two leaves hold it, but one is tighter")
	require.Contains(t, asked, "leaf [a] 16 of 16")
	require.Contains(t, asked, "leaf [b] 13 of 16")
}

// Of equally good domains, and of equally good nodes, a gang gets the one that scores highest; a
// node that is tighter comes first, whatever it scores.
func TestAScorerChoosesAmongEquallyGoodDomains(t *testing.T) {
	var asked []string
	s := &byName{name: "by-name", scores: map[string]int64{"b": 5, "b/n4": 6}, asked: &asked}
	require.Equal(t, "n3[0-7] n4[0-7]", bound(t, newScored(t, s), claimed("two", 2, berth.WholeGPUs(8))))
	require.ElementsMatch(t, []string{"leaf [a] 16 of 16", "leaf [b] 16 of 16"}, asked)
	sched := newScored(t, s)
	require.Equal(t, "n4[0-3] n4[4-7]", bound(t, sched, claimed("halves", 2, berth.WholeGPUs(4))))
	s.scores["n3"] = 1
	sched = newScored(t, s)
	require.Equal(t, "n3[0-1]", bound(t, sched, claimed("one", 1, berth.WholeGPUs(2))))
	require.Equal(t, "n3[2-4] n3[5-7]", bound(t, sched, claimed("threes", 2, berth.WholeGPUs(3))))
}

// The books of a scorer are the core's own: they go into its snapshot, a restored core and a copy
// for a what-if go on with them, and the scorer that was given is told nothing.
func TestTheBooksOfAScorerAreSaved(t *testing.T) {
	var asked []string
	s := &byName{name: "by-name", scores: map[string]int64{"n3": 7}, asked: &asked}
	sched := newScored(t, s)
	bound(t, sched, claimed("one", 1, berth.WholeGPUs(1)))
	before, err := sched.Snapshot()
	require.NoError(t, err)
	orders, err := sched.WhatIf(1, claimed("imagined", 1, berth.WholeGPUs(1)))
	require.NoError(t, err)
	require.Len(t, orders, 1)
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "D4")
	require.Empty(t, s.told)

	restored, err := core.Restore(before, core.WithScorer(s))
	require.NoError(t, err)
	for _, c := range []*core.Core{sched, restored} {
		mustApply(c, 1, berth.JobCancelled{Job: "one"})
		orders, err := c.Schedule(1)
		require.NoError(t, err)
		mustApply(c, 2, berth.OrderReported{Order: orders[0].Header().ID, Outcome: berth.OutcomeDone})
	}
	after, err = sched.Snapshot()
	require.NoError(t, err)
	same, err := restored.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(after), string(same))
	_, err = core.Restore(after, core.WithScorer(tellTale{s}))
	require.EqualError(t, err, `berth: snapshot: scorerBooks: submitted one held n3 0 released n3 0`)
}

// A tellTale refuses books, and says what they are.
type tellTale struct{ *byName }

func (s tellTale) Restore(books []byte) (berth.BookkeepingScorer, error) {
	if len(books) == 0 {
		return s, nil
	}
	return nil, errors.New(strings.ReplaceAll(string(books), "\n", " "))
}

// A core is restored with the scorer that it had: none, or another, is refused by name, and so are
// books that it does not read.
func TestRestoreRefusesAnotherScorer(t *testing.T) {
	var asked []string
	s := &byName{name: "by-name", asked: &asked}
	scored, err := newScored(t, s).Snapshot()
	require.NoError(t, err)
	plain, err := newScored(t, nil).Snapshot()
	require.NoError(t, err)
	torn := strings.Replace(string(scored), `"scorer":"by-name"`, `"scorer":"by-name","scorerBooks":"dG9ybg=="`, 1)
	for _, c := range []struct {
		snapshot    string
		scorer      berth.Scorer
		field, says string
	}{
		{string(scored), nil, "scorer", `is "by-name", not ""`},
		{string(scored), &byName{name: "other"}, "scorer", `is "by-name", not "other"`},
		{string(plain), s, "scorer", `is "", not "by-name"`},
		{torn, s, "scorerBooks", "torn"},
		{torn, leastNamed("by-name"), "scorerBooks", "keeps no books"},
	} {
		_, err := core.Restore([]byte(c.snapshot), core.WithScorer(c.scorer))
		var refusal *berth.Error
		require.ErrorAs(t, err, &refusal)
		require.ErrorIs(t, err, berth.ErrInvalid)
		require.Equal(t, "snapshot", refusal.Event)
		require.Equal(t, c.field, refusal.Field)
		require.Contains(t, refusal.Reason, c.says)
	}
	for _, name := range []string{"", strings.Repeat("x", 2000), "a\x00b"} {
		_, err := core.New(berth.Config{Scorer: leastNamed(name)})
		var refusal *berth.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "scorer", refusal.Field)
	}
}

// leastNamed is a scorer of a name that scores nothing.
type leastNamed string

func (s leastNamed) Name() string                      { return string(s) }
func (s leastNamed) Score(*berth.Group, []berth.Place) {}
