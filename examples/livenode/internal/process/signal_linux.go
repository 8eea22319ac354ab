package process

import (
	"fmt"
	"strings"
	"syscall"
)

// A Signal is a number of a signal.
type Signal syscall.Signal

// Signals that are sent by this program itself.
const (
	Terminate = Signal(syscall.SIGTERM)
	Kill      = Signal(syscall.SIGKILL)
)

// named are the signals that a program may be asked for a checkpoint with, and those that
// programs die of.
func named() map[string]Signal {
	return map[string]Signal{
		"SIGABRT": Signal(syscall.SIGABRT), "SIGALRM": Signal(syscall.SIGALRM), "SIGBUS": Signal(syscall.SIGBUS),
		"SIGFPE": Signal(syscall.SIGFPE), "SIGHUP": Signal(syscall.SIGHUP), "SIGILL": Signal(syscall.SIGILL),
		"SIGINT": Signal(syscall.SIGINT), "SIGKILL": Kill, "SIGPIPE": Signal(syscall.SIGPIPE),
		"SIGQUIT": Signal(syscall.SIGQUIT), "SIGSEGV": Signal(syscall.SIGSEGV), "SIGTERM": Terminate,
		"SIGUSR1": Signal(syscall.SIGUSR1), "SIGUSR2": Signal(syscall.SIGUSR2), "SIGWINCH": Signal(syscall.SIGWINCH),
		"SIGXCPU": Signal(syscall.SIGXCPU), "SIGXFSZ": Signal(syscall.SIGXFSZ),
	}
}

// ParseSignal reads a name such as "USR1" or "SIGUSR1".
func ParseSignal(name string) (Signal, error) {
	full := strings.ToUpper(name)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	if s, ok := named()[full]; ok {
		return s, nil
	}
	return 0, fmt.Errorf("%q is no signal; USR1, USR2 and HUP are", name)
}

// String is the signal's name, such as "SIGKILL".
func (s Signal) String() string {
	for name, known := range named() {
		if s == known {
			return name
		}
	}
	return fmt.Sprintf("signal %d", int(s))
}
