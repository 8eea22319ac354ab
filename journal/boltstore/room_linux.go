package boltstore

import (
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE: the library finds out by itself how long a file is.
const keepSize = 1

// allocate has the disk set aside what a file needs to be so long.
func allocate(file *os.File, length int64) error {
	for {
		err := syscall.Fallocate(int(file.Fd()), keepSize, 0, length)
		if err != syscall.EINTR {
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// allocated is how much of the disk is a file's.
func allocated(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), nil
	}
	const block = 512
	return stat.Blocks * block, nil
}
