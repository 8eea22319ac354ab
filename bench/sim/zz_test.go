package sim_test

import (
	"fmt"
	"testing"
)

func TestZZ(t *testing.T) {
	r := runOf(newGenerator(number("BERTH_SWARM_FIRST", 58)).drained())
	if err := r.all(); err != nil {
		fmt.Println(err)
		rep := r.sim.Core().Report()
		fmt.Printf("%+v\n", rep.Reservations)
		fmt.Printf("%+v\n%+v\n", rep.Queues, rep.Waiting)
		for _, l := range r.journal {
			if len(l) < 900 { fmt.Println(l) } else { fmt.Println(l[:900]) }
		}
	}
}
