package process

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// An identity names a process for good. A process ID alone does not: the kernel gives it
// to another process some time after the end of the first.
type identity struct {
	PID int `json:"pid"`
	// Start is when it started, in clock ticks since the machine did.
	Start uint64 `json:"start"`
	// Boot is the ID that the kernel gave itself when it started.
	Boot string `json:"boot"`
}

// identify finds the process that has an ID now. proc is the root of procfs. A process that
// has ended and was not waited for is fs.ErrNotExist too.
func identify(proc fs.FS, pid int) (identity, error) {
	boot, err := fs.ReadFile(proc, "sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, err
	}
	stat, err := fs.ReadFile(proc, strconv.Itoa(pid)+"/stat")
	if err != nil {
		return identity{}, err
	}
	// The name, in parentheses, may have spaces and parentheses of its own (proc_pid_stat(5)).
	// Behind it come the fields from the third, the state, on; the start is the 22nd.
	const state, start = 0, 22 - 3
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) <= start {
		return identity{}, fmt.Errorf("process %d: %q is not of the form of proc_pid_stat(5)", pid, stat)
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return identity{}, fmt.Errorf("process %d has ended: %w", pid, fs.ErrNotExist)
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return identity{PID: pid, Start: ticks, Boot: strings.TrimSpace(string(boot))}, nil
}

// alive reports whether the process still runs, and not another one with its ID.
func (i identity) alive(proc fs.FS) bool {
	now, err := identify(proc, i.PID)
	return err == nil && now == i
}
