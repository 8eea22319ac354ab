package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// busy is a machine on which there is something of everything.
func busy() *Status {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	active, limit := 870, int64(4000)
	s := &Status{
		Now: now, Node: "box", Driver: "550.54.15", Pretend: "hgx-h100",
		Jobs: []JobStatus{
			{Name: "train", Queue: "default", Wants: "2 GPUs", State: "running", Place: "GPUs 0-1", Incarnation: 2, Since: ago(90 * time.Second)},
			{Name: "note", Queue: "team", Class: berth.ClassInteractive, Wants: "30% GPU", State: "running", Place: "GPU 2, 30% of it", Incarnation: 1, Since: ago(time.Second)},
			{Name: "tune", Queue: "default", Wants: "1 GPU", State: stateCheckpointing, Place: "GPU 4", Incarnation: 1, Since: ago(time.Hour), Why: "is preempted for chat"},
			{Name: "chat", Queue: "default", Class: berth.ClassLatencyCritical, Wants: "1 GPU", State: "pending", Since: ago(0), Why: "preemption under way: waiting for tune to stop"},
			{Name: "done", Queue: "default", Wants: "1 GPU", State: stateEnded, Since: ago(time.Second), Why: "exit status 0"},
			{Name: "bad", Queue: "default", Wants: "1 GPU", State: stateFailed, Since: ago(2 * time.Second), Why: "exit status 1"},
			{Name: "old", Queue: "default", Wants: "1 GPU", State: stateEnded, Since: ago(time.Hour), Why: "exit status 0"},
		},
		Queues: []QueueStatus{
			{Name: "default", UsedMilli: 3000, Waiting: 1},
			{Name: "team", UsedMilli: 300, GuaranteeMilli: 2500, LimitMilli: &limit},
		},
		Decisions: []Decision{{ago(time.Minute), "start train on GPUs 0-1 because: fits"}, {now, "ask tune for a checkpoint because: preempted for chat"}},
	}
	for i, g := range []GPUStatus{
		{Holders: []Holder{{Job: "train", Milli: 1000}}, Reading: &Reading{ActiveMilli: &active, MemoryMiB: 61_000, TemperatureC: 61, PowerMilliwatts: 612_345}},
		{Holders: []Holder{{Job: "train", Milli: 1000}}},
		{Mode: berth.GPUModeMPS, Holders: []Holder{{Job: "note", Milli: 300}}},
		{Mode: berth.GPUModeMIG, Instances: []string{"1g.10gb@0:1", "1g.10gb@1:1", "3g.40gb@4:4"}},
		{Holders: []Holder{{Job: "tune", Milli: 1000}}},
		{Failure: "Xid 79 (GPU has fallen off the bus)"},
		{Mode: berth.GPUModeMIG, Instances: []string{"3g.40gb@4:4"}, Holders: []Holder{{Job: "others", Milli: 500, Instance: "3g.40gb@4:4"}}},
		{Mode: berth.GPUModeMIG},
	} {
		g.Index, g.Product, g.MemoryMiB = i, "NVIDIA H100 80GB HBM3", 81_559
		s.GPUs = append(s.GPUs, g)
	}
	return s
}

const drawn = `livenode  box (fake)  8 x NVIDIA H100 80GB HBM3, driver 550.54.15       15:04:05

GPUs ───────────────────────────────────────────────────────────────────────────
    0 AAAAAAAAAAAAAAAAAAAA train               87% busy  60/80 GiB  61°C  612 W
    1 AAAAAAAAAAAAAAAAAAAA train                                         80 GiB
    2 BBBBBB·············· note 30%                                      80 GiB
    3 ···················· free: 2 x 1g.10gb, 1 x 3g.40gb                80 GiB
    4 CCCCCCCCCCCCCCCCCCCC tune                                          80 GiB
    5 xxxxxxxxxxxxxxxxxxxx out of service: Xid 79 (GPU has fallen off…   80 GiB
    6 DDDDDDDDDD·········· others 3g.40gb@4:4                            80 GiB
    7 ···················· in MIG mode, without instances                80 GiB

jobs ───────────────────────────────────────────────────────────────────────────
A train 2 GPUs  batch            default running       1m30s  GPUs 0-1 (start 2)
B note  30% GPU interactive      team    running       1s     GPU 2, 30% of it
◐ tune  1 GPU   batch            default checkpointing 1h0m0s GPU 4
    is preempted for chat
○ chat  1 GPU   latency-critical default pending       0s
    preemption under way: waiting for tune to stop
✓ done  1 GPU   batch            default ended         1s     exit status 0
✗ bad   1 GPU   batch            default failed        2s     exit status 1

queues ─────────────────────────────────────────────────────────────────────────
default        #########··············· 3 of 8 GPUs, 1 waiting
team           ························ 0.3 of 8 GPUs, guaranteed 2.5, at most 4

latest ─────────────────────────────────────────────────────────────────────────
15:03:05 start train on GPUs 0-1 because: fits
15:04:05 ask tune for a checkpoint because: preempted for chat
`

// TestFrame: what there is to see, on a narrow terminal without colours.
func TestFrame(t *testing.T) {
	got := regexp.MustCompile(`(?m) +$`).ReplaceAllString(newPainter(80, false).frame(busy()), "")
	require.Equal(t, drawn, got)
}

// TestFrameOfLoans: a GPU that is lent has two layers, and an idle lender a small letter, or a dot
// pattern.
func TestFrameOfLoans(t *testing.T) {
	s := &Status{}
	for i, holders := range [][]Holder{
		{{Job: "web", Milli: 1000, Idle: true}},
		{{Job: "web", Milli: 1000, Idle: true}, {Job: "night", Milli: 1000, Borrowed: true}},
		{{Job: "web", Milli: 1000}, {Job: "night", Milli: 1000, Borrowed: true}},
		{{Job: "gone", Milli: 1000, Borrowed: true}},
	} {
		s.GPUs = append(s.GPUs, GPUStatus{Index: i, MemoryMiB: 81_559, Holders: holders})
	}
	require.Equal(t, `GPUs ───────────────────────────────────────────────────────────────────────────
    0 aaaaaaaaaaaaaaaaaaaa web, idle, to be lent                         80 GiB
    1 aBaBaBaBaBaBaBaBaBaB web, lent to night                            80 GiB
    2 ABABABABABABABABABAB web, to be given back by night                80 GiB
    3 CCCCCCCCCCCCCCCCCCCC to be given back by gone                      80 GiB
`, strings.Join(newPainter(80, false).gpus(s), "\n")+"\n")
	colored := newPainter(80, true).gpus(s)
	require.Contains(t, colored[1], "\x1b[38;5;75m"+strings.Repeat("░", 20))
	require.Contains(t, colored[2], "\x1b[38;5;214;48;5;75m"+strings.Repeat("▀", 20))
}

// TestFrameFits: whatever the width, nothing is wider than that.
func TestFrameFits(t *testing.T) {
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, width := range []int{60, 80, 100, 133, 160} {
		text := newPainter(width, true).frame(busy())
		for _, line := range strings.Split(escapes.ReplaceAllString(text, ""), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), width, line)
		}
	}
}

// TestColorsStay: a job keeps its colour while others come and go.
func TestColorsStay(t *testing.T) {
	p := newPainter(80, true)
	s := busy()
	p.frame(s)
	before, _ := p.shade("tune")
	s.GPUs = s.GPUs[3:]
	p.frame(s)
	after, _ := p.shade("tune")
	require.Equal(t, before, after)
}
