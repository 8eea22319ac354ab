package values

import (
	"bytes"
	"encoding/json"

	"github.com/berth-sched/berth"
)

// SameJob reports whether two descriptions of a job say the same.
func SameJob(a, b *berth.Job) bool { return same(a, b) }

// SameNode reports whether two descriptions of a node say the same.
func SameNode(a, b *berth.Node) bool { return same(a, b) }

// SameClaims reports whether two lists of claims say the same.
func SameClaims(a, b []berth.GroupClaim) bool { return same(a, b) }

// same compares checked values by what their JSON says: a list that is empty is one that was
// left out, before and after a restore.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
