//go:build !linux

package scale

import "time"

// threadTime is the time of day where no other is known.
func threadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
