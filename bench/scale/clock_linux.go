package scale

import (
	"syscall"
	"time"
)

// rusageThread has Getrusage tell of the calling thread alone, as in getrusage(2).
const rusageThread = 1

// threadTime is how long this thread has had a processor, to a microsecond. Whatever else the
// machine does is not in it, nor are the threads of the collector.
func threadTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &usage); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
