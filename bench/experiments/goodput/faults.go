package goodput

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
)

// A cause is why training was interrupted, as counted in 54 days on 16,384 H100:
// Llama team, "The Llama 3 Herd of Models", 2024, table 5. The counts are theirs and add
// up to 419 (the paper prints 30.1 % beside the first, which is 35.3 %). How a cause
// shows, when it is noticed and whether it is announced is not in the paper, but assumed
// here: GPUs that fail tell by an Xid within seconds; a dead host misses its heartbeats; a
// broken link leaves the others waiting until something looks at the silent rank; and
// what hangs without a trace is found by the watchdog of the collectives, after the ten
// minutes that are PyTorch's default.
type cause struct {
	name  string
	count int
	what  victim
	// xid that the driver tells of a GPU; zero where it tells none.
	xid int
	// noticed after so long.
	noticed berth.Duration
	// announced is how many of 100 are: by rising ECC errors and rows waiting to be remapped,
	// by heat, by links that flap, by the alarm of a redundant part, or by an operator that plans
	// to open the host.
	announced int
}

// A victim is what fails.
type victim uint8

const (
	aGPU victim = iota
	aNode
	aProcess // the hardware is fine
)

var causes = [...]cause{
	{"faulty GPU", 148, aGPU, 79, 20 * berth.Second, 20},
	{"GPU HBM3 memory", 72, aGPU, 95, 20 * berth.Second, 50},
	{"software bug", 54, aProcess, 0, 20 * berth.Second, 0},
	{"network switch or cable", 35, aNode, 0, 2 * berth.Minute, 25},
	{"host maintenance", 32, aNode, 0, 20 * berth.Second, 50},
	{"GPU SRAM memory", 19, aGPU, 95, 20 * berth.Second, 50},
	{"GPU system processor", 17, aGPU, 119, 20 * berth.Second, 0},
	{"NIC", 7, aNode, 0, 2 * berth.Minute, 25},
	{"NCCL watchdog timeout", 7, aProcess, 0, 10 * berth.Minute, 0},
	{"silent data corruption", 6, aGPU, 0, 10 * berth.Minute, 0},
	{"GPU thermal interface and sensor", 6, aGPU, 0, 20 * berth.Second, 50},
	{"SSD", 3, aNode, 0, 20 * berth.Second, 50},
	{"power supply", 3, aNode, 0, 20 * berth.Second, 50},
	{"server chassis", 2, aNode, 0, 20 * berth.Second, 0},
	{"IO expansion board", 2, aNode, 0, 20 * berth.Second, 0},
	{"dependency", 2, aProcess, 0, 20 * berth.Second, 0},
	{"CPU", 2, aNode, 0, 20 * berth.Second, 0},
	{"system memory", 2, aNode, 0, 20 * berth.Second, 50},
}

// What becomes of failed hardware is assumed: three in five are reset and tested, the others
// wait for a part. A reset does not always help: then the same node fails again soon, and
// is reset again, until the third time brings a new part. That few nodes fail again and
// again and stop a large part of the large jobs is what was found on two research
// clusters (Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning
// Research Clusters", HPCA 2025: "lemon nodes").
const (
	resetOf100    = 60
	uncuredOf100  = 35 // of resets
	mostResets    = 3  // of one trouble; then it is cured
	relapseMean   = 8 * berth.Hour
	resetMedian   = 30 * berth.Minute
	swapMedian    = berth.Day
	warningMedian = 40 * berth.Minute
	// falseOf100 is how many warnings there are, of 100 that are true, after which nothing
	// happens, and testTime what it takes to find that out.
	falseOf100 = 25
	testTime   = berth.Hour
)

// A fault is a trouble of one node, or of the gang's processes: the failure, and
// those that follow from it.
type fault struct {
	at    berth.Time
	cause int // index into causes
	node  int
	gpu   int
	// warning is how long before it is announced; zero: it is not. harmless: nothing
	// happens then.
	warning  berth.Duration
	harmless bool
	repairs  []repair
}

// A repair takes a while. Then the node fails again after the relapse; zero: it is
// cured.
type repair struct{ takes, relapse berth.Duration }

// faults draws what goes wrong on the fleet, by instant: failures of hardware on all of it, in
// proportion to the nodes, and of processes. As many as were counted come by themselves:
// relapses come on top. It depends on the seed alone.
func (g *experiment) faults(seed uint64) []fault {
	random := rand.New(rand.NewPCG(seed, 1))
	span := berth.Duration(g.Days) * berth.Day
	scale := g.Interruptions / countedInterruptions * float64(g.Days) / countedDays
	fleet := g.Nodes + g.Beside
	var list []fault
	for cause := range causes {
		c := &causes[cause]
		expected := float64(c.count) * scale
		if c.what != aProcess {
			expected *= float64(fleet) / float64(g.Nodes)
		}
		for range rounded(random, expected) {
			f := fault{at: berth.Time(random.Int64N(int64(span))), cause: cause, node: random.IntN(fleet), gpu: random.IntN(machine.NodeGPUs)}
			f.repairs = drawRepairs(random)
			if random.IntN(100) < c.announced {
				f.warning = drawWarning(random)
				if random.IntN(100) < falseOf100 {
					list = append(list, fault{
						at: berth.Time(random.Int64N(int64(span))), cause: cause, node: random.IntN(fleet), warning: drawWarning(random), harmless: true,
						repairs: []repair{{takes: testTime}},
					})
				}
			}
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return list
}

// rounded draws one of the two whole numbers around a mean, so that the mean is kept.
func rounded(random *rand.Rand, mean float64) int {
	whole := int(mean)
	if random.Float64() < mean-float64(whole) {
		whole++
	}
	return whole
}

func drawWarning(random *rand.Rand) berth.Duration {
	return study.LogNormal(random, warningMedian, 2.5, 5*berth.Minute, 12*berth.Hour)
}

func drawRepairs(random *rand.Rand) []repair {
	swap := repair{takes: study.LogNormal(random, swapMedian, 2, 4*berth.Hour, 7*berth.Day)}
	var list []repair
	for reset := 1; reset < mostResets; reset++ {
		if reset == 1 && random.IntN(100) >= resetOf100 {
			break
		}
		r := repair{takes: study.LogNormal(random, resetMedian, 1.6, 10*berth.Minute, 4*berth.Hour)}
		uncured := random.IntN(100) < uncuredOf100
		if uncured {
			r.relapse = max(berth.Second, berth.Duration(random.ExpFloat64()*float64(relapseMean)))
		}
		if list = append(list, r); !uncured {
			return list
		}
	}
	return append(list, swap)
}
