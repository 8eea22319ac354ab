// The program visit opens the lab in a headless Chromium and does what a visitor would: it
// submits, blocks, explains, moves, breaks, scrubs back, compares and shares, and looks at what
// the page says to it. It fails at the first thing that is not as it should be.
//
//	go run ./examples/lab/visit -shots DIR
//	go run ./examples/lab/visit -shots DIR -page fleet.html
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-sched/berth/bench/flagline"
)

func main() { os.Exit(flagline.Status("visit", run(os.Args[1:]), os.Stderr)) }

func run(args []string) error {
	flags := flag.NewFlagSet("visit", flag.ContinueOnError)
	lab := flags.String("lab", "go run github.com/berth-sched/berth/examples/lab", "the command that serves the lab")
	program := flags.String("browser", "", "the browser; else the first Chromium that is found")
	shots := flags.String("shots", "", "write screenshots to this folder")
	page := flags.String("page", "", "take screenshots of this page too, such as the one that examples/fleet -html writes")
	if err := flagline.Parse(flags, args, os.Stdout, "usage: visit [flags]\n\n"); err != nil {
		return err
	}
	return visit(*lab, *program, *shots, *page)
}

func visit(lab, program, shots, page string) error {
	if program == "" {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if path, err := exec.LookPath(name); err == nil {
				program = path
				break
			}
		}
	}
	if program == "" {
		return errors.New("there is no Chromium on this machine")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	url, stop, err := serve(ctx, lab)
	if err != nil {
		return err
	}
	defer stop()
	profile, err := os.MkdirTemp("", "visit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	b, err := launch(ctx, program, profile)
	if err != nil {
		return err
	}
	defer b.close()
	if shots != "" {
		if err := os.MkdirAll(shots, 0o755); err != nil {
			return err
		}
	}
	v := &visitor{browser: b, url: url, shots: shots}
	if err := v.all(); err != nil || page == "" {
		return err
	}
	return v.page(page)
}

// serve starts the lab on a free port, and returns its address and what ends it.
func serve(ctx context.Context, command string) (string, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	words := append(strings.Fields(command), "-listen", "localhost:0")
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go run passes it on
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop := func() { cancel(); _ = cmd.Wait() }
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, found := strings.Cut(lines.Text(), "open "); found {
			return url, stop, nil
		}
	}
	stop()
	return "", nil, errors.New("the lab did not start")
}

// A visitor looks at the page.
type visitor struct {
	*browser
	url, shots string
	passed     int
}

// all is the visit. Each part begins where the one before it ended.
func (v *visitor) all() error {
	for _, part := range []struct {
		title string
		visit func() error
	}{
		{"the page opens with a scenario", v.opens},
		{"time goes forward and back", v.scrubs},
		{"a job that waits says why, and what it takes", v.submits},
		{"a GPU says what goes with it, and a node breaks and comes back", v.breaks},
		{"quota and policy change live", v.changes},
		{"moves are ordered, and seen", v.moves},
		{"parts of GPUs are drawn", v.parts},
		{"idle GPUs are lent, and given back", v.loans},
		{"a story of the tests steps through", v.stories},
		{"two policies stand side by side", v.compares},
		{"a link holds the whole scenario", v.shares},
		{"the journal comes down", v.journal},
		{"keys and a table do instead of the picture", v.keys},
		{"the core ends, and is back with the scenario", v.ends},
		{"a large fleet plays", v.large},
		{"screenshots", v.looks},
	} {
		begin := time.Now()
		if err := part.visit(); err != nil {
			v.shot("failed")
			return fmt.Errorf("%s: %w\n%s", part.title, err, strings.Join(v.complaints, "\n"))
		}
		fmt.Printf("visit: %s (%v)\n", part.title, time.Since(begin).Round(time.Millisecond))
	}
	if len(v.complaints) > 0 {
		return fmt.Errorf("the page complained:\n%s", strings.Join(v.complaints, "\n"))
	}
	fmt.Printf("visit: %d things were as they should be\n", v.passed)
	return nil
}

// shot writes a screenshot, if they are wanted.
func (v *visitor) shot(name string) {
	if v.shots == "" {
		return
	}
	if err := v.screenshot(filepath.Join(v.shots, name+".png"), false); err != nil {
		fmt.Fprintln(os.Stderr, "visit:", err)
	}
}

// do runs a statement in the page, when all is done that was asked for before.
func (v *visitor) do(statement string) error {
	if err := v.wait("!document.body.dataset.busy"); err != nil {
		return err
	}
	return v.evaluate(statement, nil)
}

// until waits until an expression is true in the page, as it should be.
func (v *visitor) until(expression string) error {
	err := v.wait(expression)
	if err == nil {
		v.passed++
	}
	return err
}

func (v *visitor) wait(expression string) error {
	deadline := time.Now().Add(45 * time.Second) // a busy machine is slow
	for {
		var is bool
		err := v.evaluate("!!("+expression+")", &is)
		if is {
			return nil
		}
		if time.Now().After(deadline) {
			var said string
			_ = v.evaluate("document.getElementById('status').textContent + ' | ' + document.getElementById('clock').textContent", &said)
			return fmt.Errorf("this does not come true: %s (%v); the page says: %s", expression, err, said)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// steps does one thing after the other: what begins with a question mark is waited for.
func (v *visitor) steps(list ...string) error {
	for _, s := range list {
		var err error
		if expression, waits := strings.CutPrefix(s, "?"); waits {
			err = v.until(expression)
		} else {
			err = v.do(s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
