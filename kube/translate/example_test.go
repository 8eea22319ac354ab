package translate_test

import (
	"fmt"
	"log"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/kube/internal/fixture"
	"github.com/berth-sched/berth/kube/translate"
)

// Four nodes in two racks, and a gang of two pods with eight GPUs each that keeps to one rack.
func Example() {
	cluster, err := translate.New(translate.Options{Levels: translate.KueueLevels()[1:]})
	if err != nil {
		log.Fatal(err)
	}
	sched, err := core.New(cluster.Config())
	if err != nil {
		log.Fatal(err)
	}
	now := berth.TimeOf(fixture.Born.Time)
	tell := func(events []berth.Event) {
		for _, e := range events {
			if err := sched.Apply(now, e); err != nil {
				cluster.Refused(e, err)
			}
		}
	}
	for _, object := range fixture.Fleet(4, 2, 8) {
		cluster.Upsert(object)
	}
	tell(cluster.Synced())
	for _, object := range fixture.Gang("team-a", "train", 2, 8, "cloud.provider.com/topology-rack") {
		tell(cluster.Upsert(object))
	}
	orders, err := sched.Schedule(now)
	if err != nil {
		log.Fatal(err)
	}
	for _, order := range orders {
		bind := order.(berth.Bind)
		plan, err := cluster.Plan(&bind)
		if err != nil {
			log.Fatal(err)
		}
		for _, seat := range plan.Seats {
			fmt.Printf("%v on %s: %d devices for the claim %s\n", seat.Pod, seat.Node, len(seat.Claims[0].Devices), seat.Claims[0].Claim)
		}
	}
	fmt.Println("findings:", len(cluster.Findings()))
	// Output:
	// team-a/train-0 on n0: 8 devices for the claim train-0
	// team-a/train-1 on n1: 8 devices for the claim train-1
	// findings: 0
}
