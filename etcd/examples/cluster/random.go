package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// random harms whatever a seed draws, at instants that it draws: any number of replicas and of etcd
// servers at once, so that now and then nobody is left to lead, or there is no quorum.
func (s *stage) random(ctx context.Context, harms int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	within := func(most time.Duration) { time.Sleep(time.Duration(r.Int64N(int64(most)))) }
	some := func(of []*process) []*process {
		list := slices.Clone(of)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list[:1+r.IntN(len(list))]
	}
	killed := func(list []*process, most time.Duration) error {
		for _, p := range list {
			p.kill()
		}
		within(most)
		var err error
		for _, p := range list {
			err = errors.Join(err, p.start())
		}
		return err
	}
	for n := range harms {
		within(time.Second)
		var err error
		one, before := r.IntN(len(s.replicas)), s.acceptedSoFar()
		switch r.IntN(6) {
		case 0, 1:
			list := some(s.replicas)
			s.say("harm %d: %d replicas are killed", n, len(list))
			err = killed(list, 3*time.Second)
		case 2:
			list := some(s.etcds)
			s.say("harm %d: %d etcd servers are killed", n, len(list))
			err = killed(list, 4*time.Second)
		case 3:
			list := some(s.agents)
			s.say("harm %d: the agents of %d boxes are killed", n, len(list)*boxesPerProcess)
			err = killed(list, time.Second)
		case 4:
			s.say("harm %d: replica %d is stopped", n, one)
			s.replicas[one].signal(syscall.SIGSTOP)
			within(6 * time.Second)
			s.replicas[one].signal(syscall.SIGCONT)
		case 5:
			s.say("harm %d: replica %d is cut off", n, one)
			s.cut(one, true)
			within(6 * time.Second)
			s.cut(one, false)
		}
		if err == nil {
			err = s.until(ctx, "another job", func() bool { return s.acceptedSoFar() > before })
		}
		if err == nil {
			err = s.look(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
