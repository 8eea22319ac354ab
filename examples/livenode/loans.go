package main

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// GPUs that are lent: two jobs stand on one, the lender and over it the borrower. The core says
// when; here is how long it takes a lender to have its GPUs back.

// together lists the other jobs that run on GPUs of a job, in order of name.
func (o *orchestrator) together(l *life) []*life {
	return slices.DeleteFunc(o.running(), func(other *life) bool {
		return other == l || !slices.ContainsFunc(other.devices, func(d string) bool { return slices.Contains(l.devices, d) })
	})
}

// borrowers lists those that run over the GPUs of a job, and lenders those over which a borrower
// runs.
func (o *orchestrator) borrowers(l *life) []*life {
	return slices.DeleteFunc(o.together(l), func(other *life) bool { return l.job.Borrow != nil || other.job.Borrow == nil })
}

func (o *orchestrator) lenders(l *life) []*life {
	return slices.DeleteFunc(o.together(l), func(other *life) bool { return l.job.Borrow == nil || other.job.Lend == nil })
}

// wantsBack notes that a lender is busy while borrowers run over it.
func (o *orchestrator) wantsBack(l *life) {
	if len(o.borrowers(l)) > 0 {
		l.busySince = o.now()
		o.note("%s is busy again", l)
	}
}

// givenBack notes, when a borrower has ended, that a lender has its GPUs to itself again.
func (o *orchestrator) givenBack(borrower *life) {
	for _, l := range o.lenders(borrower) {
		if l.busySince != 0 && len(o.borrowers(l)) == 0 {
			l.switched, l.busySince = o.now().Sub(l.busySince), 0
			o.note("%s has its GPUs to itself again, %v after it was found busy", l, l.switched)
		}
	}
}

// loan says in a few words what a job lends or borrows; empty: nothing.
func (o *orchestrator) loan(job berth.JobID, r *berth.ReplicaExplanation) string {
	l := o.lives[job]
	switch {
	case len(r.Borrowers) > 0 && r.LentMilli == 0:
		return "has its GPUs back once " + names(r.Borrowers) + " is off them"
	case len(r.Borrowers) > 0:
		return "is idle, and lends to " + names(r.Borrowers)
	case r.LentMilli > 0:
		return "is idle: its GPUs are to be lent"
	case l == nil:
		return ""
	}
	var parts []string
	for _, lender := range o.lenders(l) { // none where it has ended
		parts = append(parts, "borrows from "+lender.job.Name)
	}
	if r.GiveBackBy != 0 {
		parts = append(parts, "gives back by "+clock(r.GiveBackBy))
	}
	return strings.Join(parts, ", and ")
}

func names(replicas []berth.ReplicaRef) string {
	var list []string
	for _, r := range replicas {
		list = append(list, string(r.Job))
	}
	return strings.Join(list, ", ")
}

// patience is how long a program has between SIGTERM and SIGKILL: a borrower that gives a GPU back
// has no more than the half of its lender's time that is not for the checkpoint.
func (o *orchestrator) patience(l *life) berth.Duration {
	d := l.job.StopTimeout
	if l.givesBack {
		for _, lender := range o.lenders(l) {
			d = min(d, lender.job.Lend.Within/2)
		}
	}
	return d
}
