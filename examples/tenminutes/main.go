// The program tenminutes is the code of docs/ten-minutes.md: an orchestrator around the
// scheduling core, and one story for each step. The fleet is pretended.
//
//	go run ./examples/tenminutes gangs|preempt|nodeloss|recover
package main

import (
	"fmt"
	"os"
)

func main() {
	steps := map[string]func(){"gangs": gangs, "preempt": preempt, "nodeloss": nodeLoss, "recover": crash}
	if len(os.Args) != 2 || steps[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: tenminutes gangs|preempt|nodeloss|recover")
		os.Exit(2)
	}
	steps[os.Args[1]]()
}
