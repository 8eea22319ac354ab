package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/berth-sched/berth/quota"
)

// queue is the command that makes, changes or removes a queue.
func queue(ctx context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	state := stateFlag(flags)
	q := quota.Queue{Guarantee: quota.Amounts{}, Limit: quota.Amounts{}}
	flags.Func("guarantee", "`GPUs` that it is entitled to", gpuAmount(q.Guarantee))
	flags.Func("limit", "`GPUs` that it may use at the most; default: all", gpuAmount(q.Limit))
	flags.Int64Var(&q.Weight, "weight", 1, "its `share`, against other queues, of GPUs that no queue is guaranteed")
	remove := flags.Bool("remove", false, "remove it; it may have no jobs")
	rest, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	q.Name = quota.QueueID(rest[0])
	if *remove {
		return newClient(*state).removeQueue(ctx, q.Name)
	}
	return newClient(*state).setQueue(ctx, q)
}

// gpuAmount reads a number of GPUs, such as 2.5, into the amounts of a queue.
func gpuAmount(to quota.Amounts) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1000) { // so written, for what is not a number is neither
			return fmt.Errorf("%q is no number of GPUs", text)
		}
		to[quota.GPUMilli] = int64(math.Round(n * 1000))
		return nil
	}
}
