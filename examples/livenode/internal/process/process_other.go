//go:build !linux

package process

import (
	"context"
	"errors"
	"fmt"
)

// SuperviseCommand is the first argument of a supervisor.
const SuperviseCommand = "supervise"

// A Process is a program that runs or has ended. There is none here.
type Process struct{}

// errLinux is what everything answers.
var errLinux = fmt.Errorf("processes are supervised on Linux alone: %w", errors.ErrUnsupported)

func Start(string, Launch) (*Process, error)        { return nil, errLinux }
func Open(string) (*Process, error)                 { return nil, errLinux }
func Group(int) (int, error)                        { return 0, errLinux }
func Name(int) string                               { return "" }
func Supervise(string) error                        { return errLinux }
func (*Process) Runs() bool                         { return false }
func (*Process) PID() int                           { return 0 }
func (*Process) Wait(context.Context) (Exit, error) { return Exit{}, errLinux }
func (*Process) Signal(Signal) error                { return errLinux }
func (*Process) SignalGroup(Signal) error           { return errLinux }

// A Signal is a number of a signal.
type Signal int

const (
	Terminate Signal = 15
	Kill      Signal = 9
)

func ParseSignal(string) (Signal, error) { return 0, errLinux }
func (s Signal) String() string          { return fmt.Sprintf("signal %d", int(s)) }
