package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// Pools that run at once give the orders that they give one after the other, and all jobs end.
func TestAtOnceAsInTurn(t *testing.T) {
	serial, parallel := fill(), fill()
	inTurn(serial)
	atOnce(parallel)
	jobs := 0
	for i, p := range parallel {
		require.Equal(t, serial[i].orders, p.orders, p.name)
		require.Equal(t, p.jobs, p.ended, p.name)
		jobs += p.jobs
	}
	require.Equal(t, jobCount, jobs)
	require.NotEqual(t, parallel[0].orders, parallel[1].orders)
}

// A queue is in one pool with all of its jobs, the same one each time, and no pool has more
// guarantees than another by more than a queue has.
func TestRoutes(t *testing.T) {
	pools, again := fill(), fill()
	homes := map[berth.QueueID]string{}
	for i, p := range pools {
		require.Equal(t, again[i].events, p.events)
		require.InDelta(t, pools[0].guaranteed, p.guaranteed, 3*8000)
		for _, e := range p.events {
			if set, ok := e.(berth.QueueSet); ok {
				require.NotContains(t, homes, set.Queue.Name)
				homes[set.Queue.Name] = p.name
			}
		}
	}
	require.Len(t, homes, queueCount)
	for _, p := range pools {
		for _, e := range p.events {
			if submitted, ok := e.(berth.JobSubmitted); ok {
				require.Equal(t, p.name, homes[submitted.Job.Queue])
			}
		}
	}
}

// Of pools with equal guarantees the first is a home.
func TestHome(t *testing.T) {
	a, b, c := &pool{guaranteed: 2}, &pool{guaranteed: 1}, &pool{guaranteed: 1}
	require.Same(t, b, home([]*pool{a, b, c}))
}

// The comment at the head of the program shows the pools as they are.
func TestComment(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	pools := fill()
	for _, p := range []*pool{pools[0], pools[poolCount-1]} {
		require.Contains(t, strings.ReplaceAll(string(source), "//\t", ""), p.line())
	}
}
