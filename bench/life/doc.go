// Package life tells how a workload fared under a scheduler, from the submission of its first job
// to the end of its last: which jobs waited for how long, what was in use, what was free and of no
// use, which were stopped. It is how whole policies are compared: any berth.Scheduler plays the
// same jobs on the same fleet.
//
//	shares := life.Divide(map[int]int{8: 60, 2: 80}, jobs)
//	book, speed, err := life.Play(scheduler, &life.Workload{Nodes: nodes, Queues: queues, Jobs: jobs}, life.Options{})
//
// A [Book] is kept from facts and orders alone, so that no scheduler is asked how well it did.
package life
