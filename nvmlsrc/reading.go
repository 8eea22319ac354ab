package nvmlsrc

import (
	"errors"
	"slices"
	"time"
)

// A watchedGPU is what a Monitor remembers of a GPU.
type watchedGPU struct {
	index      int
	uuid       string
	condemned  bool   // by the last reading
	links      int    // the most that were active at a time
	linkErrors uint64 // at the last reading
	read       bool   // there was one
	// processes: it is asked about them. Latest is the instant up to which it has told, if asked.
	processes, asked bool
	latest           uint64
	// samples of the counters, by the UUID that they are about.
	samples map[string]timedSample
}

type timedSample struct {
	sample
	at time.Time
}

// A reader reads how one GPU does.
type reader struct {
	dev    device
	of     *watchedGPU
	health Health
	gaps   []*Error
}

// readings are what each GPU is asked, in this order.
var readings = [...]func(*reader){
	(*reader).recovery, (*reader).ecc, (*reader).rows, (*reader).links, (*reader).fabric, (*reader).clocks,
	(*reader).memory, (*reader).temperature, (*reader).power, (*reader).activity, (*reader).processes,
}

// read asks everything, until the GPU turns out to be lost.
func (r *reader) read() {
	for _, ask := range readings {
		if ask(r); r.health.Failure != nil {
			return
		}
	}
}

// gap notes that a question has no answer, and reports whether that is so. That a GPU
// does not have what was asked for is no gap.
func (r *reader) gap(err error, query Query) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, ErrUnsupported) {
		return true
	}
	e := about(err, r.of.index, query)
	r.gaps = append(r.gaps, e)
	if errors.Is(err, ErrLost) {
		r.health = Health{GPU: r.of.index, UUID: r.of.uuid, Failure: e}
	}
	return true
}

func (r *reader) recovery() {
	if action, err := r.dev.recovery(); !r.gap(err, queryRecovery) {
		r.health.Recovery = action
	}
}

func (r *reader) ecc() {
	if ecc, err := r.dev.ecc(); !r.gap(err, queryECC) {
		r.health.ECC = ecc
	}
}

func (r *reader) rows() {
	if rows, err := r.dev.rows(); !r.gap(err, queryRows) {
		r.health.Rows = rows
	}
}

// links counts what is up and what went wrong, and compares with before.
func (r *reader) links() {
	to := &r.health.Links
	for i := range maxLinks {
		l, err := r.dev.link(i)
		if errors.Is(err, ErrUnsupported) {
			break
		}
		if r.gap(err, queryNVLink) {
			return
		}
		if !l.active {
			to.Inactive++
			continue
		}
		to.Active++
		count, err := r.dev.linkErrors(i)
		if !r.gap(err, queryNVLinkErrors) {
			to.Errors += count
		} else if !errors.Is(err, ErrUnsupported) {
			return
		}
	}
	to.Lost = max(r.of.links-to.Active, 0)
	if r.of.read && to.Errors > r.of.linkErrors {
		to.NewErrors = to.Errors - r.of.linkErrors
	}
	r.of.links, r.of.linkErrors, r.of.read = max(r.of.links, to.Active), to.Errors, true
}

func (r *reader) fabric() {
	if f, err := r.dev.fabric(); !r.gap(err, queryFabric) {
		r.health.Fabric = f.health
	}
}

func (r *reader) clocks() {
	if reasons, err := r.dev.clocks(); !r.gap(err, queryClocks) {
		r.health.Clocks = reasons
	}
}

func (r *reader) memory() {
	if _, used, err := r.dev.memory(); !r.gap(err, queryMemory) {
		r.health.MemoryUsedMiB = int64(used >> 20)
	}
}

func (r *reader) temperature() {
	if celsius, err := r.dev.temperature(); !r.gap(err, queryTemperature) {
		r.health.TemperatureC = celsius
	}
}

func (r *reader) power() {
	if milliwatts, err := r.dev.power(); !r.gap(err, queryPower) {
		r.health.PowerMilliwatts = milliwatts
	}
}

// activity measures the GPU or, in MIG mode, its instances, by the counters that it has
// or else by its utilization.
func (r *reader) activity() {
	divided, _, err := r.dev.mig()
	if r.gap(err, queryMIG) {
		divided = false
	}
	if !divided {
		if r.health.Failure == nil && !r.measured(r.of.uuid, noInstance) && r.health.Failure == nil {
			r.utilization()
		}
		r.forget(r.of.uuid)
		return
	}
	devices, err := r.dev.migDevices()
	if r.gap(err, queryMIGDevices) {
		return
	}
	var present []string
	for _, d := range devices {
		if r.health.Failure != nil {
			return
		}
		r.measured(d.uuid, d.instance)
		present = append(present, d.uuid)
	}
	r.forget(present...)
}

// measured adds the activity since the last sample, and reports false if there are no
// counters to sample. Samples that are too near to each other say nothing: the older is
// kept then.
func (r *reader) measured(uuid string, instance int) bool {
	before, sampled := r.of.samples[uuid]
	at := time.Now()
	if sampled && at.Sub(before.at) < MinInterval {
		return true
	}
	now, err := r.dev.sample(instance)
	if r.gap(err, queryActivity) {
		return false
	}
	if r.of.samples == nil {
		r.of.samples = map[string]timedSample{}
	}
	r.of.samples[uuid] = timedSample{now, at}
	if !sampled {
		return true
	}
	defer before.free()
	milli, err := r.dev.smActivity(before.sample, now)
	if r.gap(err, queryActivity) {
		return false
	}
	r.health.Activity = append(r.health.Activity, Activity{UUID: uuid, Milli: milli, Source: ActivitySourceSM})
	return true
}

func (r *reader) utilization() {
	if milli, err := r.dev.utilization(); !r.gap(err, queryUtilization) {
		r.health.Activity = []Activity{{UUID: r.of.uuid, Milli: milli, Source: ActivitySourceUtilization}}
	}
}

// processes asks which of them were at work since the reading before. The answer to the first
// question is about a time before, and is not told.
func (r *reader) processes() {
	if !r.of.processes {
		return
	}
	busy, latest, err := r.dev.processActivity(r.of.latest)
	if r.gap(err, queryProcessUse) {
		return
	}
	if r.of.asked {
		r.health.Processes = append([]ProcessActivity{}, busy...)
	}
	r.of.asked, r.of.latest = true, max(r.of.latest, latest)
}

// forget frees the samples of what is not there any more.
func (r *reader) forget(present ...string) { r.of.forget(present...) }

func (g *watchedGPU) forget(present ...string) {
	for uuid, s := range g.samples {
		if !slices.Contains(present, uuid) {
			s.free()
			delete(g.samples, uuid)
		}
	}
}
