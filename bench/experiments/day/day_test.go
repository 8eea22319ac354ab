package day

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
)

func TestDay(t *testing.T) {
	o := Options{Nodes: 24, Load: 100, Seeds: 1, Seed: 1, Length: 4 * berth.Hour}
	var out bytes.Buffer
	require.NoError(t, Run(context.Background(), o, &out))
	for _, text := range []string{"the default", "hot spares", "EASY", "FIFO", "p99 wait, 64 GPUs"} {
		require.Contains(t, out.String(), text)
	}
	require.NotContains(t, out.String(), "512 GPUs", "no gang is that large, and a column without values is left out")
	var versus bytes.Buffer
	require.NoError(t, Versus(context.Background(), o, &versus))
	require.Regexp(t, `(?m)^ +berth +EASY +FIFO$`, versus.String())
}

func TestOptions(t *testing.T) {
	for says, change := range map[string]func(*Options){
		"-nodes: 0 is not between 1 and 16384": func(o *Options) { o.Nodes = 0 },
		"-load: 0 is not between 1 and 1000":   func(o *Options) { o.Load = 0 },
		"-seeds: 0 is not between 1 and 100":   func(o *Options) { o.Seeds = 0 },
	} {
		o := Defaults()
		change(&o)
		err := Run(context.Background(), o, io.Discard)
		require.ErrorIs(t, err, flagline.ErrMisuse)
		require.EqualError(t, err, says)
	}
}
