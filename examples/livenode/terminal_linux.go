package main

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// terminalSize is how many characters fit on the terminal; 100 x 50 elsewhere.
func terminalSize(w io.Writer) (width, height int) {
	var size struct{ rows, columns, x, y uint16 } // struct winsize of ioctl_tty(2)
	if file, ok := w.(*os.File); ok {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	}
	if size.columns == 0 || size.rows == 0 {
		return 100, 50
	}
	return int(size.columns), int(size.rows)
}
