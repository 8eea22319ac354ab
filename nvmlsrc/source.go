package nvmlsrc

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
)

// A Config says where to find the driver and the kernel's files. The zero value
// is right for a program that runs directly on its machine.
type Config struct {
	// Library is the path of the driver's library; empty: libnvidia-ml.so.1 where
	// the dynamic loader finds it. In a container that has the machine's driver
	// mounted it is a path such as
	// "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1". One process can use one
	// library only: the first one that was opened.
	Library string
	// Sys is the root of sysfs; nil: /sys.
	Sys fs.FS
}

// A Source answers questions about the GPUs of this machine. It may be used from
// several goroutines; they take turns.
type Source struct {
	mu       sync.Mutex
	driver   driver // nil once closed
	sys      fs.FS
	monitors map[*Monitor]bool // that are not closed
}

// Open loads the driver's library and starts a session with it. The error is an
// *Error: ErrNoDriver where there is none, ErrUnsupportedPlatform in a program
// that cannot load one, ErrMissingSymbol for a driver that is too old to be used
// at all, ErrNoPermission or ErrDriver for one that refuses.
func Open() (*Source, error) { return Config{}.Open() }

// Open is the function Open, for a driver that is somewhere else.
func (c Config) Open() (*Source, error) {
	d, err := openDriver(c.Library)
	if err != nil {
		return nil, about(err, NoGPU, queryDriver)
	}
	sys := c.Sys
	if sys == nil {
		sys = os.DirFS("/sys")
	}
	return &Source{driver: d, sys: sys}, nil
}

// Close ends the session, and the Monitors of it. Closing twice is no error.
func (s *Source) Close() error {
	s.mu.Lock()
	driver, monitors := s.driver, slices.Collect(maps.Keys(s.monitors))
	s.driver = nil
	s.mu.Unlock()
	if driver == nil {
		return nil
	}
	for _, m := range monitors {
		_ = m.Close() // has no error
	}
	if err := driver.close(); err != nil {
		return about(err, NoGPU, queryDriver)
	}
	return nil
}

// Inventory asks the driver about every GPU, with some 100 calls a GPU. Without
// persistence mode the first call can take seconds, because the driver then wakes
// the GPU. The error is an *Error: ErrClosed, or why the driver does not even
// count its GPUs.
func (s *Source) Inventory() (Inventory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driver == nil {
		return Inventory{}, &Error{GPU: NoGPU, Query: queryDriver, Kind: ErrClosed}
	}
	return take(s.driver, s.sys)
}
