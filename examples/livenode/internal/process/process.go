// Package process runs programs that outlive the process that started them.
//
// A program is not started directly but by a supervisor, which is this binary once more
// in a session of its own ([Supervise]). It starts the program, waits for it, and writes
// how it ended into a folder. So the program goes on when its starter crashes, and
// the next process finds it by its folder ([Open]) and learns how it ended, also if
// that was while nobody looked.
//
// # The folder
//
//	launch.json   what to run
//	pulse         a pipe that the supervisor holds open as long as it lives
//	program.json  the program's process ID, and when it started
//	exit.json     how it ended
//
// The pulse is how a process is waited for that is nobody's child: to read from it blocks
// until the kernel closes the other end, because the supervisor has ended. Only if it ended
// without saying how the program did, because somebody killed it, is the program looked
// for by its ID; when it started tells it from another that has been given the same ID
// since.
//
// # Groups
//
// The program leads a process group. When it ends, what is left of the group is killed,
// so that no process holds on to a GPU unaccounted for. A process that leaves the
// group escapes that; an orchestrator that runs what it does not trust uses a cgroup.
//
// All of it needs Linux. Elsewhere it compiles, and everything fails with
// errors.ErrUnsupported.
package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berth-sched/berth/examples/livenode/internal/durable"
)

var (
	// ErrGone: the program does not run any more.
	ErrGone = errors.New("the program has ended")
	// ErrUnknownEnd: the program has ended, and nobody knows how, because its
	// supervisor had been killed or the machine restarted.
	ErrUnknownEnd = errors.New("the program ended without a supervisor")
)

// A Launch is what to run. All paths are absolute.
type Launch struct {
	// Path of the program, and its arguments, the first of which is its name.
	Path string   `json:"path"`
	Args []string `json:"args"`
	// Env is the whole environment, as in "NAME=value".
	Env []string `json:"env"`
	// Dir is where it runs.
	Dir string `json:"dir"`
	// Output is the file to which what it prints is appended.
	Output string `json:"output"`
}

// An Exit is how a program ended.
type Exit struct {
	At time.Time `json:"at"`
	// Code is its exit status, if no signal ended it.
	Code int `json:"code"`
	// Signal that ended it, such as "SIGKILL"; empty: none did.
	Signal string `json:"signal,omitempty"`
	// NotStarted says why it could not be started; empty: it was.
	NotStarted string `json:"notStarted,omitempty"`
}

// OK reports whether the program ended well.
func (e Exit) OK() bool { return e == Exit{At: e.At} }

func (e Exit) String() string {
	switch {
	case e.NotStarted != "":
		return "could not be started: " + e.NotStarted
	case e.Signal != "":
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// The files of a folder.
const (
	fileLaunch  = "launch.json"
	filePulse   = "pulse"
	fileProgram = "program.json"
	fileExit    = "exit.json"
)

// Ended reads how the program of a folder ended. The error is fs.ErrNotExist while
// nobody has written that.
func Ended(folder string) (Exit, error) {
	var e Exit
	err := durable.ReadJSON(filepath.Join(folder, fileExit), &e)
	return e, err
}
