package main

import (
	"hash/fnv"
	"strings"
	"time"

	"github.com/berth-sched/berth"
)

// Two pools share nothing: each has half of the boxes, a core and a log. A job goes to the first of
// its pools, and on to the other one if it has waited there for so long.
var pools = []string{"a", "b"}

const goOn = 2 * time.Second

// poolOf is the pool of a node, which its name has: box-a-1. So the certificate says it.
func poolOf(node string) string {
	_, rest, _ := strings.Cut(node, "-")
	pool, _, _ := strings.Cut(rest, "-")
	return pool
}

// homes are the pools of a job, the first of which is its home. Pool a is the home of most of them:
// it cannot take them all.
func homes(job berth.JobID) []string {
	h := fnv.New32a()
	h.Write([]byte(job))
	if h.Sum32()%8 == 0 {
		return []string{"b", "a"}
	}
	return []string{"a", "b"}
}
