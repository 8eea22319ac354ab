package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
)

// mps is NVIDIA's Multi-Process Service, by which jobs share a GPU: a control daemon for
// each GPU that is shared, with a folder in which its clients find it. It outlives
// livenode, as the jobs do.
type mps struct {
	folder string
	// pretend: there are no daemons.
	pretend bool
}

// mpsControl is the daemon, and what it is told things with.
const mpsControl = "nvidia-cuda-mps-control"

// mpsProcess is what the names of its processes begin with, as far as the kernel keeps
// them (15 characters).
const mpsProcess = "nvidia-cuda-mps"

// pipe is the folder of the daemon of a GPU.
func (m *mps) pipe(gpu int) string { return filepath.Join(m.folder, strconv.Itoa(gpu)) }

// shares reports whether a GPU is shared.
func (m *mps) shares(gpu int) bool {
	_, err := os.Stat(m.pipe(gpu))
	return err == nil
}

// resume starts the daemon of a GPU that is shared again, if it is gone, as after a reboot.
func (m *mps) resume(gpu int, uuid string) error {
	if !m.shares(gpu) {
		return nil
	}
	return m.start(gpu, uuid)
}

// start makes sure that a GPU has a daemon.
func (m *mps) start(gpu int, uuid string) error {
	if err := os.MkdirAll(m.pipe(gpu), 0o700); err != nil {
		return err
	}
	if m.pretend || m.control(gpu, "get_server_list") == nil {
		return nil
	}
	daemon := exec.Command(mpsControl, "-d")
	daemon.Env = append(m.env(gpu), "CUDA_VISIBLE_DEVICES="+uuid)
	return said(daemon)
}

// stop ends the daemon of a GPU, if it has one.
func (m *mps) stop(gpu int) error {
	if !m.shares(gpu) {
		return nil
	}
	if !m.pretend && m.control(gpu, "get_server_list") == nil {
		if err := m.control(gpu, "quit"); err != nil {
			return err
		}
	}
	return os.RemoveAll(m.pipe(gpu))
}

// control gives a daemon a command.
func (m *mps) control(gpu int, command string) error {
	c := exec.Command(mpsControl)
	c.Env, c.Stdin = m.env(gpu), strings.NewReader(command+"\n")
	return said(c)
}

func (m *mps) env(gpu int) []string {
	return append(withoutOurs(os.Environ()), m.environment(gpu)...)
}

// environment is how clients and the daemon of a GPU find each other.
func (m *mps) environment(gpu int) []string {
	return []string{"CUDA_MPS_PIPE_DIRECTORY=" + m.pipe(gpu), "CUDA_MPS_LOG_DIRECTORY=" + m.pipe(gpu)}
}

// share says to CUDA what part of a GPU a member has.
func (m *mps) share(of *berth.MemberPlacement) []string {
	return append(
		m.environment(of.GPUs.Indexes()[0]),
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="+strconv.Itoa(of.MPSActiveThreadPercentage()),
		// By the number that the device has for the client, which sees no other.
		fmt.Sprintf("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM", of.ShareMemoryMiB),
	)
}

// said runs a command; the error is what the command printed.
func said(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", strings.Join(c.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
