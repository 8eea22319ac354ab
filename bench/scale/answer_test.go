package scale

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// An asked is a core at rest, and a job that waits in it.
type asked struct {
	core *core.Core
	job  berth.JobID
}

// worlds are the fleets of which questions are asked: one with crumbs that serve nobody and few
// shapes in 300 queues, one in which each queue has its share, and one with jobs that may be
// taken back for the job asked about.
var worlds = []struct {
	name string
	make func(tb testing.TB, gpus, pending int) asked
}{
	{"crumbs", func(tb testing.TB, gpus, pending int) asked {
		return asked{newCrowd(tb, gpus, pending).core, berth.JobID(fmt.Sprintf("waits-%07d", pending-1))}
	}},
	{"shares", func(tb testing.TB, gpus, pending int) asked {
		return asked{newThrong(tb, gpus, max(1, pending/100), pending), berth.JobID(fmt.Sprintf("waits-%07d", pending-1))}
	}},
	{"one-queue", func(tb testing.TB, gpus, pending int) asked {
		return asked{newThrong(tb, gpus, 1, pending), berth.JobID(fmt.Sprintf("waits-%07d", pending-1))}
	}},
	{"lent", func(tb testing.TB, gpus, pending int) asked {
		sched := newSingles(tb, gpus/gpusPerNode, true)
		id := burst(tb, sched, "burst", true, 64, 8)
		return asked{sched, id}
	}},
}

// BenchmarkExplain is the explanation of one job that waits.
func BenchmarkExplain(b *testing.B) {
	benchmarkAnswers(b, func(a asked) error {
		_, err := a.core.Explain(a.job)
		return err
	})
}

// BenchmarkStartPlan is what it would take to start it.
func BenchmarkStartPlan(b *testing.B) {
	benchmarkAnswers(b, func(a asked) error {
		_, err := a.core.StartPlan(a.core.Now(), a.job, 0)
		return err
	})
}

// BenchmarkWhatIf is a what-if with an event.
func BenchmarkWhatIf(b *testing.B) {
	benchmarkAnswers(b, func(a asked) error {
		_, err := a.core.WhatIf(a.core.Now(), berth.NodeCordoned{Node: berth.NodeID(nodeName(7))})
		return err
	})
}

func benchmarkAnswers(b *testing.B, ask func(asked) error) {
	for _, w := range worlds {
		for _, size := range []struct{ gpus, pending int }{{small, 1000}, {large, 1000}, {large, 100_000}} {
			if w.name == "lent" && size.pending > 1000 {
				continue
			}
			b.Run(fmt.Sprintf("%s/gpus=%d/pending=%d", w.name, size.gpus, size.pending), func(b *testing.B) {
				a := w.make(b, size.gpus, size.pending)
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, ask(a))
				}
			})
		}
	}
}
