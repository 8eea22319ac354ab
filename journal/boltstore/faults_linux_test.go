package boltstore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
	"github.com/berth-sched/berth/journal/storetest"
)

// A harness harms a file from outside, since the library has no seam for it. A disk without room is
// a limit on the size of files: a write that crosses it is a short one, with an error. A loss of
// power is the file as it may be found afterwards, made of its pages before and after a call.
type harness struct {
	*testing.T
	path string
	// power fails in the next call, and leaves what draw says: image.
	power bool
	draw  uint64
	image []byte
	// room is how large the file may become; 0: there is no end.
	room uint64
}

func (h *harness) mend(journal.Store) { h.room = 0 }

func (h *harness) open() (journal.Store, error) {
	s, err := boltstore.Open(h.path)
	if err != nil {
		return nil, err
	}
	return &powered{s, h}, nil
}

func (h *harness) fail(_ journal.Store, fault storetest.Fault, draw uint64) bool {
	switch fault {
	case storetest.FaultPower:
		h.power, h.draw = true, draw
	case storetest.FaultFull, storetest.FaultShort:
		if os.Getenv(limited) == "" {
			return false // TestStoreWithoutRoom
		}
		h.room = uint64(len(h.read()))
		if fault == storetest.FaultShort {
			h.room -= draw * 97 % 8192
		}
	default:
		return false
	}
	return true
}

func (h *harness) crash(s journal.Store) {
	h.room = 0
	require.NoError(h, s.Close())
	if h.image != nil {
		require.NoError(h, os.WriteFile(h.path, h.image, 0o600))
		h.image = nil
	}
}

func (h *harness) read() []byte {
	text, err := os.ReadFile(h.path)
	require.NoError(h, err)
	return text
}

// limit bounds the size of files that this process writes; 0: it does not.
func (h *harness) limit(most uint64) {
	var was syscall.Rlimit
	require.NoError(h, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	if most == 0 {
		most = was.Max
	}
	require.NoError(h, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: was.Max}))
}

// powered is a store that loses power in the midst of a call.
type powered struct {
	*boltstore.Store
	h *harness
}

func (s *powered) Append(ctx context.Context, b journal.Batch) error {
	return s.during(func() error { return s.Store.Append(ctx, b) })
}

func (s *powered) Save(ctx context.Context, n journal.Snapshot) error {
	return s.during(func() error { return s.Store.Save(ctx, n) })
}

func (s *powered) during(call func() error) error {
	if s.h.room != 0 {
		signal.Ignore(syscall.SIGXFSZ)
		s.h.limit(s.h.room)
		defer s.h.limit(0)
	}
	if !s.h.power {
		err := call()
		if err != nil { // the file was made under another name
			require.NotContains(s.h, err.Error(), ".new")
		}
		return err
	}
	s.h.power = false
	before := s.h.read()
	if err := call(); err != nil {
		return err
	}
	s.h.image = torn(before, s.h.read(), s.h.draw)
	return fmt.Errorf("%w: the power has failed", journal.ErrUncertain)
}

// What a disk writes whole, and the pages of the library; its first two say which others count.
const (
	sector = 512
	metas  = 2
)

var page = os.Getpagesize()

// torn is a file after a loss of power between two states of it. The library syncs the pages that
// it writes, and then writes and syncs the one that makes them count: so either some sectors of the
// first are there, or all of them, and perhaps the last.
func torn(before, after []byte, draw uint64) []byte {
	r := rand.New(rand.NewPCG(draw, 1))
	image := append(bytes.Clone(before), make([]byte, max(0, len(after)-len(before)))...)
	counts := r.IntN(2) == 0
	for at := 0; at < len(after); at += sector {
		meta := at < metas*page
		if some := r.IntN(2) == 0; meta && counts && some || !meta && (counts || some) {
			copy(image[at:], after[at:at+sector])
		}
	}
	return image
}

// limited is set in a process that may bound the size of the files that it writes. That of a test
// may not: what tests read is written to a file meanwhile.
const limited = "BERTH_TEST_LIMITED"

func TestStoreWithoutRoom(t *testing.T) {
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestStore$/^Fault$", "-test.v")
	child.Env = append(os.Environ(), limited+"=1")
	said, err := child.CombinedOutput()
	require.NoError(t, err, "%s", said)
	for _, fault := range []storetest.Fault{storetest.FaultFull, storetest.FaultShort} {
		require.Contains(t, string(said), "--- PASS: TestStore/Fault/"+fault.String())
	}
}
