package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-sched/berth/examples/livenode/internal/durable"
)

// SuperviseCommand is the first argument with which this binary is started once more.
// Its main function is to call Supervise then, with the second.
const SuperviseCommand = "supervise"

// selfPath is this binary, also after its file was replaced or removed, as that of
// "go run" is when it ends.
const selfPath = "/proc/self/exe"

// A Process is a program that runs or has ended. Its methods may be called from several
// goroutines.
type Process struct {
	folder string
	// program is zero if it could not be started.
	program identity
}

// Start runs a program, with a folder that is made for it and may hold no other: fs.ErrExist.
// It returns once the program runs, or could not be started; the latter is how it ended, and
// no error.
func Start(folder string, launch Launch) (*Process, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := durable.WriteJSON(filepath.Join(folder, fileLaunch), launch); err != nil {
		return nil, err
	}
	// How it ends has to be written down also when the disk is full by then, or it would be run
	// again; and what its process is, or nobody could stop it.
	for _, name := range []string{fileProgram, fileExit} {
		if err := durable.Reserve(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	pulse := filepath.Join(folder, filePulse)
	if err := syscall.Mkfifo(pulse, 0o600); err != nil {
		return nil, fmt.Errorf("%s: %w", pulse, err)
	}
	reader, err := openPulse(folder)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	// The supervisor gets its end of the pipe with its birth: there is no moment at which
	// it lives and nobody can see that.
	writer, err := os.OpenFile(pulse, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	supervisor := exec.Command(selfPath, SuperviseCommand, folder)
	supervisor.Dir = "/" // not where somebody may want to unmount something
	supervisor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	supervisor.ExtraFiles = []*os.File{writer}
	if err := errors.Join(supervisor.Start(), writer.Close()); err != nil {
		return nil, err
	}
	go supervisor.Wait() // it is this process's child, and would stay a zombie
	return open(folder, reader)
}

// Open finds a program that was started in a folder, by any process. The error is
// fs.ErrNotExist if none was: then Start may be called.
func Open(folder string) (*Process, error) {
	reader, err := openPulse(folder)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return open(folder, reader)
}

// open waits until the supervisor has started the program, or has ended.
func open(folder string, pulse io.Reader) (*Process, error) {
	p := &Process{folder: folder}
	for waited := false; ; waited = true {
		err := durable.ReadJSON(filepath.Join(folder, fileProgram), &p.program)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if waited {
			return p, nil // it ended without having started anything
		}
		if _, err := pulse.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
}

// openPulse opens the reader's end. To read then blocks only this goroutine.
func openPulse(folder string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, filePulse), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// PID is the process ID of the program, or 0 if it could not be started.
func (p *Process) PID() int { return p.program.PID }

// orphanPoll is how often a program is looked for after its supervisor was killed.
const orphanPoll = 200 * time.Millisecond

// Wait waits until the program has ended and returns how. The error is ErrUnknownEnd if
// nobody knows that, or that of the context if that is done first.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	pulse, err := openPulse(p.folder)
	if err != nil {
		return Exit{}, err
	}
	defer pulse.Close()
	stop := context.AfterFunc(ctx, func() { pulse.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.Copy(io.Discard, pulse); err != nil {
		return Exit{}, errors.Join(ctx.Err(), err)
	}
	if exit, err := Ended(p.folder); !errors.Is(err, fs.ErrNotExist) {
		return exit, err
	}
	for p.Runs() {
		select {
		case <-ctx.Done():
			return Exit{}, ctx.Err()
		case <-time.After(orphanPoll):
		}
	}
	return Exit{}, ErrUnknownEnd
}

// Runs reports whether the program runs.
func (p *Process) Runs() bool { return p.program.PID != 0 && p.program.alive(os.DirFS("/proc")) }

// Signal sends a signal to the program. The error is ErrGone if it has ended.
func (p *Process) Signal(s Signal) error { return p.kill(p.program.PID, s) }

// SignalGroup sends a signal to the program and what it has started.
func (p *Process) SignalGroup(s Signal) error { return p.kill(-p.program.PID, s) }

// kill looks first whether the ID is still that of the program. While a supervisor lives
// the ID stays the program's until the supervisor has seen its end, which is some
// microseconds; without one it can be anybody's at any time.
func (p *Process) kill(id int, s Signal) error {
	if !p.Runs() {
		return ErrGone
	}
	err := syscall.Kill(id, syscall.Signal(s))
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	return err
}

// Group is the process group of any process; that of one of ours is its PID. The error is
// fs.ErrNotExist if there is no such process.
func Group(pid int) (int, error) {
	group, err := syscall.Getpgid(pid)
	if errors.Is(err, syscall.ESRCH) {
		err = fs.ErrNotExist
	}
	return group, err
}

// Name is the name of any process, of which the kernel keeps 15 characters; empty: there
// is none.
func Name(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
