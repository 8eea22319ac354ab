package runtimes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/limits"
)

const hour = berth.Hour

// closely is how far rounding moves a run time.
const closely = 1.0 / 8

// add has jobs of a subject run for so many hours each.
func add(r *Runtimes, s Subject, hours ...int) {
	for _, h := range hours {
		r.Add(s, berth.Duration(h)*hour)
	}
}

func TestAJobIsExpectedToRunAsTheMiddleOneOfItsKind(t *testing.T) {
	train := Subject{Program: "train", GPUMilli: 8000}
	for _, c := range []struct {
		name string
		told berth.Duration
		ran  []int
		want berth.Duration
	}{
		{"none ended", 0, nil, 0},
		{"too few ended", 0, []int{4, 4, 4}, 0},
		{"nothing was told", 0, []int{1, 4, 4, 400}, 4 * hour},
		{"a limit was told", 40 * hour, []int{1, 10, 10, 40}, 10 * hour},
		{"the truth was told", 8 * hour, []int{8, 8, 8, 8}, 0},
		{"too little was told", 4 * hour, []int{8, 8, 8, 8}, 8 * hour},
		{"far too little was told", hour, []int{99, 99, 99, 99}, 16 * hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(32)
			s := train
			s.Told = c.told
			add(r, s, c.ran...)
			require.InEpsilon(t, 1+float64(c.want), 1+float64(r.Expect(s)), closely)
			require.NoError(t, r.Check())
		})
	}
}

func TestTheNarrowestKindOfWhichEnoughEndedTells(t *testing.T) {
	r := New(32)
	add(r, Subject{Program: "train", GPUMilli: 8000}, 8, 8, 8)
	add(r, Subject{Program: "tune", GPUMilli: 8000}, 4, 4, 4)
	require.InEpsilon(t, float64(8*hour), float64(r.Expect(Subject{Program: "train", GPUMilli: 8000})), closely, "six of as many GPUs: the fourth of 4 4 4 8 8 8")
	add(r, Subject{Program: "tune", GPUMilli: 1000}, 4)
	require.InEpsilon(t, float64(4*hour), float64(r.Expect(Subject{Program: "tune", GPUMilli: 8000})), closely, "four of the program")
	require.InEpsilon(t, float64(4*hour), float64(r.Expect(Subject{GPUMilli: 3000})), closely, "all: 4 4 4 4 8 8 8")
	require.Zero(t, r.Expect(Subject{GPUMilli: 8000, Told: hour}), "what others told is not known of those that told nothing")
}

func TestTheLatestRunTimesCount(t *testing.T) {
	r := New(4)
	s := Subject{GPUMilli: 1000}
	add(r, s, 1, 1, 1, 1, 8, 8, 8, 8)
	require.InEpsilon(t, float64(8*hour), float64(r.Expect(s)), closely)
	r.Keep(2)
	require.NoError(t, r.Check())
	require.InEpsilon(t, float64(8*hour), float64(r.Expect(s)), closely, "two are enough where the policy keeps two")
	r.Keep(-1)
	require.Zero(t, r.Expect(s))
	add(r, s, 1, 1, 1, 1)
	require.Empty(t, r.Save(), "nothing is remembered any more")
}

func TestTheKindIsForgottenOfWhichNoJobEndedForTheLongest(t *testing.T) {
	r := New(1)
	for i := range limits.MaxRuntimeKinds {
		r.Add(Subject{Program: fmt.Sprint(i)}, hour)
	}
	r.Add(Subject{Program: "1"}, hour)
	r.Add(Subject{Program: "new"}, hour) // beside that of all
	require.NoError(t, r.Check())
	var programs []string
	for _, s := range r.Save() {
		programs = append(programs, s.Program)
	}
	require.Len(t, programs, limits.MaxRuntimeKinds)
	require.NotContains(t, programs, "0")
	require.Contains(t, programs, "1")
	require.NotContains(t, programs, "2")
}

func TestWhatIsSavedIsRestored(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		r := New(rapid.IntRange(1, 8).Draw(t, "samples"))
		draw := func() Subject {
			return Subject{
				Program: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "program"), GPUMilli: rapid.Int64Range(0, 3).Draw(t, "GPUs"),
				Told: rapid.SampledFrom([]berth.Duration{0, 1, hour, limits.MaxSpan}).Draw(t, "told"),
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "ended") {
			r.Add(draw(), rapid.SampledFrom([]berth.Duration{0, 1, hour, limits.MaxSpan}).Draw(t, "ran"))
		}
		twin := New(r.samples)
		if err := twin.Restore(r.Save()); err != nil {
			require.NoError(t, err)
		}
		require.NoError(t, twin.Check())
		for range 10 {
			s := draw()
			got := r.Expect(s)
			require.Equal(t, got, twin.Expect(s))
			require.True(t, got >= 0 && got <= limits.MaxSpan)
			ran := rapid.SampledFrom([]berth.Duration{1, hour}).Draw(t, "ran")
			r.Add(s, ran)
			twin.Add(s, ran)
		}
		require.Equal(t, r.Save(), twin.Save())
	})
}

func TestNoKindIsRestored(t *testing.T) {
	good := Saved{Kind{Program: "train", Told: true}, []int64{1, most}}
	for _, c := range []struct {
		name  string
		spoil func(*Saved)
	}{
		{"of nothing", func(s *Saved) { s.Program = "" }},
		{"of two things", func(s *Saved) { s.All = true }},
		{"with a name that is none", func(s *Saved) { s.Program = "a\x00" }},
		{"of fewer GPUs than none", func(s *Saved) { s.Kind = Kind{GPUMilli: -1} }},
		{"without run times", func(s *Saved) { s.Ran = nil }},
		{"with more than are remembered", func(s *Saved) { s.Ran = slices.Repeat(s.Ran, 2) }},
		{"with a run time of nothing", func(s *Saved) { s.Ran = []int64{0} }},
		{"with a ratio that is none", func(s *Saved) { s.Ran = []int64{most + 1} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good
			if err := New(2).Restore([]Saved{s}); err != nil {
				require.NoError(t, err)
			}
			c.spoil(&s)
			err := New(2).Restore([]Saved{s})
			require.NotNil(t, err)
			require.Equal(t, "[0]", err.Field)
		})
	}
	require.NotNil(t, New(2).Restore([]Saved{good, good}), "twice")
	require.ErrorIs(t, New(2).Restore(make([]Saved, limits.MaxRuntimeKinds+1)), berth.ErrLimit)
}
