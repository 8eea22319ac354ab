package main

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// submit submits jobs, one after the other, until it is enough. A job that was not answered is
// submitted again, by the same name.
func (s *stage) submit(enough chan struct{}) {
	for {
		select {
		case <-enough:
			return
		case <-time.After(110 * time.Millisecond): // nine tenths of what the boxes can take
		}
		s.jobs++
		job := berth.Job{
			ID: berth.JobID(fmt.Sprintf("job-%05d", s.jobs)), Queue: "team",
			Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1 << (s.jobs % 3))}},
		}
		for {
			if _, _, err := s.caller.ask(jobsPath, []berth.Event{berth.JobSubmitted{Job: job}}); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		s.lock.Lock()
		s.accepted = append(s.accepted, job.ID)
		s.lock.Unlock()
	}
}

// knock tells the leader of a pool something, again and again, and so hears its term: the answer
// comes when it is durable.
func (s *stage) knock(pool string, enough chan struct{}) {
	for {
		select {
		case <-enough:
			return
		case <-time.After(50 * time.Millisecond):
		}
		term, _, err := s.caller.ask(poolPath(pool), []berth.Event{berth.QueueSet{Queue: quota.Queue{Name: "team"}}})
		if err == nil {
			s.lock.Lock()
			if term > s.terms[pool] {
				s.terms[pool] = term
				s.leaders++
			}
			s.lock.Unlock()
		}
	}
}

func (s *stage) term(pool string) int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.terms[pool]
}

func (s *stage) acceptedSoFar() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.accepted)
}
