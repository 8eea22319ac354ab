package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/berth-sched/berth/examples/livenode/internal/durable"
)

// Supervise is the supervisor: it runs the program of a folder, and ends when that has
// ended. An error means that the folder could not be written.
func Supervise(folder string) error {
	const pulse = 3 // the first file behind the standard ones
	syscall.CloseOnExec(pulse)
	// What is sent to everybody, as at a shutdown, is for the program; the supervisor has
	// to see how it ends. Not signal.Ignore: the program would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	command, err := start(folder)
	if err != nil {
		return end(folder, Exit{NotStarted: err.Error()})
	}
	var told error
	if program, err := identify(os.DirFS("/proc"), command.Process.Pid); err == nil { // else it has ended already
		told = durable.Fill(filepath.Join(folder, fileProgram), program)
	}
	_, err = syscall.Write(pulse, []byte{'\n'})
	exit := wait(command)
	// While a member of the group is left its ID is nobody else's; and if none is, the
	// kernel would have to come round to this ID within microseconds.
	syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	return errors.Join(told, err, end(folder, exit))
}

// start starts the program of a folder in a process group of its own.
func start(folder string) (*exec.Cmd, error) {
	var launch Launch
	if err := durable.ReadJSON(filepath.Join(folder, fileLaunch), &launch); err != nil {
		return nil, err
	}
	output, err := os.OpenFile(launch.Output, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := &exec.Cmd{
		Path: launch.Path, Args: launch.Args, Env: launch.Env, Dir: launch.Dir,
		Stdout: output, Stderr: output,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	return command, command.Start()
}

// wait waits for the end of a program and says how it was. What os/exec calls an error is
// in the status too.
func wait(command *exec.Cmd) Exit {
	_ = command.Wait()
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return Exit{Signal: Signal(status.Signal()).String()}
	default:
		return Exit{Code: command.ProcessState.ExitCode()}
	}
}

// mostReason is how much is kept of why a program could not be started: there is room for so much.
const mostReason = 512

func end(folder string, exit Exit) error {
	exit.At = time.Now()
	exit.NotStarted = exit.NotStarted[:min(len(exit.NotStarted), mostReason)]
	if err := durable.Fill(filepath.Join(folder, fileExit), exit); err != nil {
		return fmt.Errorf("how the program ended is lost: %w", err)
	}
	return nil
}
