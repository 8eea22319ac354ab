package cases_test

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth/bench/cases"
)

// A file with one scenario: two pods of one GPU must share a host, and the smaller of two
// hosts is expected.
func Example() {
	const file = `{"tas_cases": [{"id": "a", "name": "the tighter host", "options": {}, "levels": ["host"],
		"nodes": [{"name": "x", "path": ["x"], "capacity": {"gpu": 4, "pods": 9}}, {"name": "y", "path": ["y"], "capacity": {"gpu": 2, "pods": 9}}],
		"requests": [{"name": "w", "count": 2, "per_pod": {"gpu": 1}, "mode": "required", "level": "host"}],
		"expect": [{"name": "w", "assignment": [{"domain": ["y"], "count": 2}]}]}]}`
	set, err := cases.Read("example", strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	differences, err := cases.Differences()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range cases.Judge(set.Run(), differences) {
		fmt.Println(v.ID, v.Verdict)
	}
	// Output: a agree
}
