package main

import "context"

// A Fault is what is to befall a GPU of a pretend box.
type Fault struct {
	GPU int `json:"gpu"`
	// Xid to raise; zero: the GPU falls off the bus.
	Xid int `json:"xid,omitempty"`
	// Repair it instead.
	Repair bool `json:"repair,omitempty"`
}

// A Reading is what was measured of a GPU.
type Reading struct {
	// ActiveMilli is how busy it is, in thousandths; nil: that is not known.
	ActiveMilli     *int  `json:"activeMilli,omitempty"`
	MemoryMiB       int64 `json:"memoryMiB"`
	TemperatureC    int   `json:"temperatureC,omitempty"`
	PowerMilliwatts int   `json:"powerMilliwatts,omitempty"`
}

func (o *orchestrator) reading(int) *Reading    { return nil }
func (o *orchestrator) fault(Fault) error       { return nil }
func (o *orchestrator) observe(context.Context) {}
