//go:build !unix

package durable

import "os"

const noFollow = 0

// syncFolder does nothing: elsewhere folders cannot be synced, nor need they be.
func syncFolder(*os.File) error { return nil }
