// Package world plays a scenario: a fleet, jobs and what happens to them, on the scheduling core
// as it is. It is what stands behind the page of the lab, and knows nothing of it: requests and
// answers are JSON (see Lab), and it runs natively as it does in a browser.
//
// # Scenarios
//
// A scenario is a text in the language of package script, whatever those scripts print left
// out, with one command more:
//
//	run 30m        lets time pass, while an executor carries out what the core orders
//
// Under run a member starts within 20 seconds, stops within 10 and a GPU is divided anew within
// 30; a checkpoint takes what the job says. A job ends once it has run for its runtime=; one
// without runs until it is cancelled. Passes come when something changed, and when the core asks
// for them. Reports and ends are lines of the script language too, so that every scenario is a
// plain script once it was played: see World.Transcript.
//
// # Steps
//
// A World goes through its scenario step by step: a line is a step, and under run each report,
// each end of a job and each pass is one. It goes back to any step that was taken: from time to
// time it is saved, and from there it is played again, to the same bytes.
package world
