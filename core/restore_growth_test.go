package core_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/berthtest/script"
)

// A place that is planned for the growth of a gang has GPUs of the product that the gang has: a
// snapshot in which one of the two nodes is of another product is refused, or starts nothing there.
func TestGrowthIsOfOneProduct(t *testing.T) {
	s := script.NewUnwatched()
	for _, command := range []string{
		"node n1..n4 gpus=1", "queue own guarantee=gpu:2", "queue guest", "policy ignore-cost=yes",
		"job g1..g4 queue=guest gpus=1 runtime=24h checkpoint=1s", "pass", "report all done", "advance 1m",
		"job grows queue=own members=2 min=1 gpus=1 runtime=24h", "pass", "report all done", "pass", "report all done",
		"pass", "report all done", "pass",
	} {
		_, err := s.Do(command)
		require.NoError(t, err, command)
	}
	snapshot, err := s.Core().Snapshot()
	require.NoError(t, err)
	product := []byte("H100-80GB")
	tampered := 0
	for at := 0; ; at += len(product) {
		next := bytes.Index(snapshot[at:], product)
		if next < 0 {
			break
		}
		at += next
		other := append(append(bytes.Clone(snapshot[:at]), "elsewhere"...), snapshot[at+len(product):]...)
		require.Empty(t, unsound(other), "the product at %d", at)
		tampered++
	}
	require.GreaterOrEqual(t, tampered, 4)
}
