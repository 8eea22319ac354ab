//go:build !linux || !cgo

package nvmlsrc

func openDriver(string) (driver, error) {
	return nil, &Error{GPU: NoGPU, Kind: ErrUnsupportedPlatform, Reason: "NVML needs Linux and cgo"}
}
