package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// top is the command that watches the machine.
func top(ctx context.Context, flags *flag.FlagSet, args []string, stdout io.Writer) error {
	state := stateFlag(flags)
	once := flags.Bool("once", false, "draw once, and end")
	every := flags.Duration("every", 500*time.Millisecond, "`time` between two drawings")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	c := newClient(*state)
	terminal := isTerminal(stdout)
	width, _ := terminalSize(stdout)
	p := newPainter(width, terminal)
	if *once || !terminal {
		s, err := c.status(ctx)
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, p.frame(&s, 1000))
		return err
	}
	fmt.Fprint(stdout, enterScreen)
	defer fmt.Fprint(stdout, leaveScreen)
	for {
		width, height := terminalSize(stdout)
		p.width = newPainter(width, true).width
		var text string
		switch s, err := c.status(ctx); {
		case err == nil:
			text = p.frame(&s, height-1)
		case errors.Is(err, errNotServing): // it may come back
			text = err.Error() + "\n"
		case ctx.Err() != nil:
			return nil
		default:
			return err
		}
		// Line by line over what is there, so that nothing flickers.
		fmt.Fprint(stdout, home+strings.ReplaceAll(text, "\n", clearLine+"\n")+clearRest)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(*every):
		}
	}
}

// What a terminal is told (ECMA-48, and xterm for the second screen).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
)

// isTerminal reports whether somebody looks at what is written, and wants colours.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
