// Package cases replays scheduling scenarios of other schedulers through the public
// API of the core and tells where it decides otherwise.
//
// A file holds scenarios of one format, which is recognised by its keys. Each is a
// small fleet, a few requests and the outcome that the other scheduler gives. Nothing
// here knows an outcome beforehand: every scenario is translated into facts, the core
// runs a pass, and what it orders is compared with what the file expects.
//
//	set, err := cases.Read("kueue_tas.json", file)
//	differences, err := cases.Differences()
//	...
//	for _, v := range cases.Judge(set.Run(), differences) {
//		fmt.Println(v.ID, v.Verdict, v.Why, v.Sums)
//	}
//
// Where the core decides otherwise, a rule says why. A rule is told by sums over the scenario and
// both outcomes, never by the name of a scenario, so it holds for scenarios that nobody here has
// seen. differences.json has a sentence for each, addressed to a user of the other scheduler: which
// decision is better, why, and, where theirs is and something is to come, what. [Verdict] tells
// these apart. A difference without a rule is a defect, of the core or of the translation.
//
// Victims are weighed in exchange.go: by what the queues have of their fair shares in the end, and
// otherwise by what is stopped.
//
// # Formats
//
//   - Kueue's topology-aware scheduling ("tas_cases"): see tas.go for how its words are
//     translated.
//   - KAI ("format" and "cases"): see kai.go, and from there the files for queues, nodes
//     and gangs.
//   - Kueue's preemption ("preemption_cases" and "flap_cases"): see kueue_preempt.go,
//     kueue_quota.go, kueue_policy.go and flap.go.
//
// All orders are carried out at once and without a failure; what takes time in a fleet,
// such as writing a checkpoint, takes none here. The policy is the default one, but for
// reservations, which those schedulers do not have.
package cases
