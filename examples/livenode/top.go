package main

import (
	"context"
	"flag"
	"io"
	"os"
)

// top is the command that draws the machine; under watch(1) it is drawn again and again.
func top(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	s, err := newClient(*state).status(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, newPainter(terminalWidth, isTerminal(stdout)).frame(&s))
	return err
}

// terminalWidth is what a terminal is taken to have, in characters.
const terminalWidth = 100

// isTerminal reports whether somebody looks at what is written, and wants colours.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
