package core

import (
	"github.com/berth-sched/berth"
)

var _ berth.Scheduler = (*Core)(nil)
