// Package cases replays scheduling scenarios of other schedulers through the public
// API of the core and tells where it decides otherwise.
//
// A file holds scenarios of one format, which is recognised by its keys. Each is a
// small fleet, a few requests and the outcome that the other scheduler gives. Nothing
// here knows an outcome beforehand: every scenario is translated into facts, the core
// runs a pass, and what it orders is compared with what the file expects.
//
//	set, err := cases.Read("kueue_tas.json", file)
//	differences, err := cases.DifferencesOf(set.Format)
//	...
//	for _, v := range cases.Judge(set.Run(), differences) {
//		fmt.Println(v.ID, v.Verdict, v.Reason)
//	}
//
// Where the core is meant to decide otherwise, differences.json says why, in a line
// for a scenario, or for a rule: a difference whose worth can be told from the scenario
// and the outcome themselves, so that it holds for scenarios that nobody here has seen.
// A difference that is not there is a defect, of the core or of the translation; a
// scenario that is there and does not differ any more is stale. What this version cannot
// do at all is not yet: moving what runs, and making room for a gang that grows. Such scenarios are replayed like the others, and agree as soon as the core
// does what they expect. [Verdict] tells them apart.
//
// Victims are weighed in exchange.go: the rules of package quota are asked about the victims of
// the other scheduler, and otherwise what either stops is compared.
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
