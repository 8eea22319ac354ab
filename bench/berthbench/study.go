package main

import (
	"errors"
	"fmt"
)

// A study is an experiment that draws some seeds, plays each on several lines, such as policies, and tells what
// came of it.
type study[R any] interface {
	// configure refuses flags that make no sense, and works out what is to be played.
	configure(*session) error
	// play makes all runs: by line, then by seed.
	play() ([][]R, error)
	report(*session, [][]R) error
	// writePage draws them, where the flags say so.
	writePage([][]R) error
	// verdict fails if the experiment does not show what it is for.
	verdict(*session, [][]R) error
}

// conduct makes a study, whose flags are declared, from arguments to verdict.
func conduct[R any](s *session, e study[R], help string, args []string) error {
	s.Usage = func() {
		fmt.Fprint(s.stderr, help)
		s.PrintDefaults()
	}
	if err := s.parse(args); err != nil {
		return err
	}
	if err := e.configure(s); err != nil {
		return err
	}
	runs, err := e.play()
	if err != nil {
		return err
	}
	if err := errors.Join(e.report(s, runs), e.writePage(runs)); err != nil {
		return err
	}
	return e.verdict(s, runs)
}

// playAll plays every seed on every line; the seeds count from 0. Runs share nothing, so they
// may go at once.
func playAll[R any](lines, seeds int, play func(line, seed int) (R, error)) ([][]R, error) {
	runs, failures := make([][]R, lines), make([]error, lines*seeds)
	for line := range runs {
		runs[line] = make([]R, seeds)
	}
	atOnce(len(failures), func(i int) {
		line, seed := i%lines, i/lines
		runs[line][seed], failures[i] = play(line, seed)
	})
	return runs, errors.Join(failures...)
}
