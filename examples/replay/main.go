// The program replay tells a fresh scheduling core what a journal says that
// another core was told, and fails unless every order comes out the same, byte
// for byte.
//
//	go run ./examples/fleet -journal day.jsonl
//	go run ./examples/replay -journal day.jsonl
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/journal"
)

func main() {
	os.Exit(flagline.Status("replay", run(os.Args[1:], os.Stdout), os.Stderr))
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	name := flags.String("journal", "", "the journal to replay")
	if err := flagline.Parse(flags, args, stdout, ""); err != nil {
		return err
	}
	if *name == "" {
		return flagline.Misused("-journal is missing")
	}
	file, err := os.Open(*name)
	if err != nil {
		return err
	}
	defer file.Close()
	counts, err := journal.Replay(file)
	if err != nil {
		return fmt.Errorf("after %d orders that are identical: %w", counts.Orders, err)
	}
	fmt.Fprintf(stdout, "%d events, %d passes, %d orders compared: identical\n", counts.Events, counts.Passes, counts.Orders)
	return nil
}
