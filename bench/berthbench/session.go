package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// A session is one experiment on its way: its flags and where its output goes.
type session struct {
	*flag.FlagSet
	stdout, stderr io.Writer
	csv, json      bool
}

func newSession(name string, stdout, stderr io.Writer) *session {
	s := &session{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), stdout: stdout, stderr: stderr}
	s.SetOutput(stderr)
	s.BoolVar(&s.csv, "csv", false, "print tables as comma-separated values")
	s.BoolVar(&s.json, "json", false, "print tables as JSON, one to a line")
	return s
}

// parse reads the flags. Nothing else may follow them.
func (s *session) parse(args []string) error {
	switch err := s.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", err, errUsage)
	case s.NArg() > 0:
		return s.misused("%q is no flag", s.Arg(0))
	case s.csv && s.json:
		return s.misused("-csv and -json exclude each other")
	}
	return nil
}

func (s *session) misused(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errUsage)
}

// say tells the user of a terminal something that is no result.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.stderr, format+"\n", args...)
}

// print writes a table in the form that was asked for.
func (s *session) print(t *table) error {
	switch {
	case s.csv:
		return t.writeCSV(s.stdout)
	case s.json:
		return t.writeJSON(s.stdout)
	}
	return t.writeText(s.stdout)
}

// note writes lines between tables, which only readers of text need.
func (s *session) note(format string, args ...any) {
	if !s.csv && !s.json {
		fmt.Fprintf(s.stdout, format+"\n", args...)
	}
}
