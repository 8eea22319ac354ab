package nvmlsrc

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/markup"
	"github.com/berth-sched/berth/internal/skipped"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// A smiDriver answers with what a report says.
type smiDriver struct{ of *smiParser }

func (d *smiDriver) version() (string, error) {
	f, told := d.of.machine.field("driver_version")
	if !told || f.text == "" {
		return "", errUntold
	}
	return f.text, nil
}

func (d *smiDriver) count() (int, error)              { return len(d.of.gpus), nil }
func (d *smiDriver) device(index int) (device, error) { return d.of.gpus[index], nil }
func (d *smiDriver) watch() (watch, error)            { return nil, errUntold }
func (d *smiDriver) close() error                     { return nil }

// errUntold is the answer to what no report has an element for.
var errUntold = &Error{GPU: NoGPU, Kind: ErrUntold, Reason: "nvidia-smi -q -x has no element for it"}

// noSysfs has no files: a report is of a machine that may not be this one.
type noSysfs struct{}

func (noSysfs) Open(string) (fs.File, error) { return nil, errUntold }

// A smiGPU is what a report says of a GPU.
type smiGPU struct {
	markup.Place
	file    string
	index   int
	fields  smiRecord
	part    smiRecord // of the MIG device or the process at hand
	devices []MIGDevice
	running []process
	skipped *skipped.List
}

func (g *smiGPU) refuse(f smiField, reason string) error {
	return &Error{File: g.file, Line: f.Line, GPU: g.index, Query: Query(f.path), Kind: ErrSyntax, Reason: reason + ": " + strconv.Quote(errtext.Short(f.text))}
}

func (g *smiGPU) skip(f smiField, reason string) { g.skipped.Add(g.file, f.Line, reason) }

// answer is the text of an element, or what a text that is none means in a driver's words. That an
// element is missing is an answer where old drivers, or those of other GPUs, do not write it: then
// with is a section that is missing, too.
func (g *smiGPU) answer(path string) (smiField, error) {
	f, told := g.fields.field(path)
	if !told {
		return f, &Error{GPU: NoGPU, Kind: ErrUntold, Reason: path + " is not in the report"}
	}
	return f, noAnswer(f.text)
}

// noAnswer says why a text is no answer; nil if it is one.
func noAnswer(text string) error {
	switch strings.ToLower(strings.Trim(text, "[]")) {
	case "n/a", "not supported", "requested functionality has been deprecated", "":
		return refusal(ErrUnsupported, "not supported")
	case "unknown error", "err!", "unknown":
		return refusal(ErrDriver, text)
	case "insufficient permissions", "no permission":
		return refusal(ErrNoPermission, text)
	case "gpu is lost", "gpu requires reset", "gpu requires a reset", "reset required":
		return refusal(ErrLost, text)
	}
	return nil
}

// count reads a whole number.
func (g *smiGPU) count(path string) (int, error) {
	f, err := g.answer(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(f.text)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, g.refuse(f, "not a count")
	}
	return n, nil
}

// thousandths reads a number with a unit.
func (g *smiGPU) thousandths(f smiField, unit string) (int64, error) {
	number, found := strings.CutSuffix(f.text, " "+unit)
	whole, part, _ := strings.Cut(number, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	milli, errPart := strconv.ParseInt((part + "000")[:3], 10, 64)
	if !found || err != nil || errPart != nil || n < 0 || milli < 0 || n > 1<<40 {
		return 0, g.refuse(f, "not a number of "+unit)
	}
	return 1000*n + milli, nil
}

func (g *smiGPU) measured(path, unit string) (thousandths int64, err error) {
	f, err := g.answer(path)
	if err != nil {
		return 0, err
	}
	return g.thousandths(f, unit)
}

// yes reads a flag. A word that is not known counts as yes, and is told.
func (g *smiGPU) yes(path string) (bool, error) {
	f, err := g.answer(path)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(f.text) {
	case "no", "false", "not active", "disabled", "none", "full", "healthy", "connected":
		return false, nil
	case "yes", "true", "active", "enabled", "degraded":
	default:
		g.skip(f, "a value of "+path[strings.LastIndex(path, "/")+1:]+" that is not known counts as a bad one: "+strconv.Quote(errtext.Short(f.text)))
	}
	return true, nil
}

// missing reports whether a section is not in the report at all, or says that it is not supported.
func (g *smiGPU) missing(section string) bool {
	f, told := g.fields.field(section)
	return !told || f.text != "" && errors.Is(noAnswer(f.text), ErrUnsupported)
}

// check refuses what makes no sense, so that the questions have answers.
func (g *smiGPU) check(before []*smiGPU) error {
	at, told := g.fields.field("gpu/pci/pci_bus_id")
	id, named := g.fields.field("gpu/id")
	if told && named && !strings.EqualFold(at.text, id.text) && noAnswer(at.text) == nil {
		return g.refuse(at, "the gpu is at "+errtext.Short(id.text))
	}
	uuid, _ := g.fields.field("gpu/uuid")
	for _, other := range before {
		if o, _ := other.fields.field("gpu/uuid"); uuid.text != "" && o.text == uuid.text && noAnswer(uuid.text) == nil {
			return g.refuse(uuid, "another gpu has this UUID")
		}
		if o, both := other.fields.field("gpu/id"); both && named && o.text == id.text {
			return g.refuse(id, "another gpu is at this address")
		}
	}
	for _, f := range g.fields {
		if f.text != "" && smiElements[f.path].use != smiText && f.path != "gpu/id" && f.text != "None" && noAnswer(f.text) == nil {
			g.skip(f, "text in "+f.path+" is not read")
		}
	}
	if f, told := g.fields.field("gpu/compute_mode"); told && f.text != "Default" && noAnswer(f.text) == nil {
		g.skip(f, "compute mode "+strconv.Quote(errtext.Short(f.text))+" counts as Default")
	}
	return nil
}

// addDevice adds the MIG device at hand.
func (g *smiGPU) addDevice() error {
	const under = "gpu/mig_devices/mig_device/"
	d := MIGDevice{GPU: g.index}
	for _, number := range []struct {
		name string
		to   *int
		must bool
	}{
		{"index", &d.Index, true},
		{"gpu_instance_id", &d.Instance, true},
		{"compute_instance_id", &d.Compute, true},
		{"device_attributes/shared/multiprocessor_count", &d.SMs, false},
	} {
		f, told := g.part.field(under + number.name)
		n, err := strconv.Atoi(f.text)
		switch {
		case err == nil && n >= 0 && n <= math.MaxInt32:
			*number.to = n
		case number.must || told && noAnswer(f.text) == nil:
			f.path = under + number.name
			f.Line = max(f.Line, g.Line)
			return g.refuse(f, "not a number")
		}
	}
	if f, told := g.part.field(under + "fb_memory_usage/total"); told && noAnswer(f.text) == nil {
		milli, err := g.thousandths(f, "MiB")
		if err != nil {
			return err
		}
		d.MemoryMiB = milli / 1000
	}
	if f, told := g.part.field(under + "uuid"); told && noAnswer(f.text) == nil {
		d.UUID = f.text
	}
	if len(g.devices) == maxSMIDevices {
		return &Error{File: g.file, Line: g.Line, GPU: g.index, Query: "gpu/mig_devices", Kind: ErrTooLarge, Reason: "more than " + strconv.Itoa(maxSMIDevices)}
	}
	g.devices = append(g.devices, d)
	return nil
}

// addProcess adds the process at hand, if it computes.
func (g *smiGPU) addProcess() error {
	const under = "gpu/processes/process_info/"
	kind, _ := g.part.field(under + "type")
	pid, _ := g.part.field(under + "pid")
	if !strings.Contains(kind.text, "C") && (kind.text == "G" || noAnswer(kind.text) == nil) {
		if kind.text != "G" {
			g.skip(kind, "a process of the type "+strconv.Quote(errtext.Short(kind.text))+" is not read")
		}
		return nil
	}
	if pid.text != "" && noAnswer(pid.text) != nil {
		g.skip(kind, "a process without a number is not read")
		return nil
	}
	n, err := strconv.Atoi(pid.text)
	if err != nil || n < 0 || n > math.MaxInt32 {
		pid.path, pid.Line = under+"pid", max(pid.Line, g.Line)
		return g.refuse(pid, "not a process")
	}
	instance := noInstance
	if f, told := g.part.field(under + "gpu_instance_id"); told && noAnswer(f.text) == nil {
		if instance, err = strconv.Atoi(f.text); err != nil || instance < 0 || instance > math.MaxInt32 {
			return g.refuse(f, "not an instance")
		}
	}
	if len(g.running) == maxSMIProcesses {
		return &Error{File: g.file, Line: g.Line, GPU: g.index, Query: "gpu/processes", Kind: ErrTooLarge, Reason: "more than " + strconv.Itoa(maxSMIProcesses)}
	}
	g.running = append(g.running, process{n, instance})
	return nil
}

func (g *smiGPU) product() (string, error) {
	f, err := g.answer("gpu/product_name")
	return f.text, err
}

func (g *smiGPU) uuid() (string, error) {
	f, err := g.answer("gpu/uuid")
	return f.text, err
}

// address is that of pci_bus_id, or else of the attribute id, which is the same.
func (g *smiGPU) address() (address, uint32, error) {
	f, err := g.answer("gpu/pci/pci_bus_id")
	if err != nil {
		if f, err = g.answer("gpu/id"); err != nil {
			return address{}, 0, err
		}
	}
	at, ok := parseAddress(f.text)
	if !ok {
		return address{}, 0, g.refuse(f, "not an address")
	}
	id := uint64(0)
	if f, err := g.answer("gpu/pci/pci_device_id"); err == nil {
		if id, err = strconv.ParseUint(strings.TrimPrefix(f.text, "0x"), 16, 32); err != nil {
			return address{}, 0, g.refuse(f, "not a device and a vendor")
		}
	}
	return at, uint32(id), nil
}

func (g *smiGPU) memory() (size, used uint64, err error) {
	mib, err := g.measured("gpu/fb_memory_usage/total", "MiB")
	if err != nil {
		return 0, 0, err
	}
	inUse, _ := g.measured("gpu/fb_memory_usage/used", "MiB") // in MIG mode it may be no number
	return uint64(mib/1000) << 20, uint64(inUse/1000) << 20, nil
}

func (g *smiGPU) computeCapability() (int, int, error) { return 0, 0, errUntold }

func (g *smiGPU) minor() (int, error) { return g.count("gpu/minor_number") }

// module is the number of the GPU's module. One that makes no sense is told.
func (g *smiGPU) module() berth.Ordinal {
	number, err := g.count("gpu/gpu_module_id")
	if errors.Is(err, ErrSyntax) {
		f, _ := g.fields.field("gpu/gpu_module_id")
		g.skip(f, "a gpu_module_id that is no number is not read: "+strconv.Quote(errtext.Short(f.text)))
	}
	if err != nil {
		return berth.Ordinal{}
	}
	return berth.OrdinalOf(number)
}

func (g *smiGPU) mig() (current, pending bool, err error) {
	if g.missing("gpu/mig_mode") {
		return false, false, refusal(ErrUnsupported, "not supported")
	}
	for _, mode := range []struct {
		path string
		to   *bool
	}{{"gpu/mig_mode/current_mig", &current}, {"gpu/mig_mode/pending_mig", &pending}} {
		if *mode.to, err = g.yes(mode.path); err != nil {
			return false, false, err
		}
	}
	return current, pending, nil
}

func (g *smiGPU) link(int) (link, error) { return link{}, errUntold }

// fabric reads the state of the registration, its outcome, and the place in the fabric.
func (g *smiGPU) fabric() (fabric, error) {
	if g.missing("gpu/fabric") {
		return fabric{}, refusal(ErrUnsupported, "not supported")
	}
	state, err := g.answer("gpu/fabric/state")
	if err != nil {
		return fabric{}, err
	}
	var f fabric
	switch strings.ToLower(state.text) {
	case "completed":
		f.completed = true
	case "in progress", "not started":
	default:
		g.skip(state, "a state of the fabric that is not known counts as a bad one: "+strconv.Quote(errtext.Short(state.text)))
	}
	if status, err := g.answer("gpu/fabric/status"); err == nil && status.text != "Success" {
		f.status = refusal(ErrDriver, errtext.Short(status.text))
	}
	if cluster, err := g.answer("gpu/fabric/clusterUuid"); err == nil {
		id, err := hex.DecodeString(strings.ReplaceAll(cluster.text, "-", ""))
		if err != nil || len(id) != len(f.cluster) {
			return fabric{}, g.refuse(cluster, "not a UUID")
		}
		f.cluster = [16]byte(id)
	}
	if clique, err := g.answer("gpu/fabric/cliqueId"); err == nil {
		id, err := strconv.ParseUint(clique.text, 10, 32)
		if err != nil {
			return fabric{}, g.refuse(clique, "not a number")
		}
		f.clique = uint32(id)
	} else if f.completed && f.cluster != ([16]byte{}) {
		return fabric{}, err
	}
	f.health, err = g.fabricHealth()
	return f, err
}

// fabricHealth reads the answers as NVML's bits.
func (g *smiGPU) fabricHealth() (FabricHealth, error) {
	var health FabricHealth
	for _, q := range fabricQuestions {
		if q.element == "" {
			continue
		}
		if _, told := g.fields.field("gpu/fabric/health/" + q.element); !told {
			continue
		}
		switch bad, err := g.yes("gpu/fabric/health/" + q.element); {
		case errors.Is(err, ErrUnsupported):
		case err != nil:
			return 0, err
		case q.fault < 0 && bad:
			health |= 2 << q.shift // one of several, of which none is a name here
		case q.fault < 0:
			health |= 1 << q.shift
		case bad:
			health |= FabricHealth(q.fault) << q.shift
		default:
			health |= FabricHealth(3-q.fault) << q.shift
		}
	}
	f, told := g.fields.field("gpu/fabric/health/summary")
	if told && health.bad() == "" && f.text != "Healthy" && noAnswer(f.text) == nil {
		g.skip(f, "the health of a fabric is "+strconv.Quote(errtext.Short(f.text))+", and no question says why")
	}
	return health, nil
}

func (g *smiGPU) processes() ([]process, error) {
	f, told := g.fields.field("gpu/processes")
	if !told {
		return nil, errUntold
	}
	if f.text != "" {
		if err := noAnswer(f.text); err != nil {
			return nil, err
		}
	}
	return slices.Clone(g.running), nil
}

// How a GPU divides, and where its instances are, is not in a report.

func (g *smiGPU) profile(int) (mig.ReportedProfile, error)        { return mig.ReportedProfile{}, errUntold }
func (g *smiGPU) placements(int) ([]mig.ReportedPlacement, error) { return nil, errUntold }
func (g *smiGPU) instances(int) ([]instance, error)               { return nil, errUntold }
func (g *smiGPU) ancestor(device) (nodegraph.PathKind, error)     { return nodegraph.PathNone, errUntold }
func (g *smiGPU) linkErrors(int) (uint64, error)                  { return 0, errUntold }
func (g *smiGPU) sample(int) (sample, error)                      { return nil, refusal(ErrUnsupported, "not supported") }
func (g *smiGPU) smActivity(sample, sample) (int, error)          { return 0, errUntold }
func (g *smiGPU) processActivity(uint64) ([]ProcessActivity, uint64, error) {
	return nil, 0, errUntold
}
func (g *smiGPU) createInstance(int, mig.ReportedPlacement) (int, error) { return 0, errUntold }
func (g *smiGPU) createCompute(int) error                                { return errUntold }
func (g *smiGPU) destroyInstance(int) error                              { return errUntold }

func (g *smiGPU) migDevices() ([]migDevice, error) {
	var devices []migDevice
	for _, d := range g.devices {
		devices = append(devices, migDevice{uuid: d.UUID, instance: d.Instance})
	}
	return devices, nil
}

// smiActions are nvidia-smi's words for what a driver asks for.
var smiActions = map[string]RecoveryAction{
	"none": RecoveryNone, "reset": RecoveryReset, "gpu reset": RecoveryReset, "reboot": RecoveryReboot, "node reboot": RecoveryReboot,
	"drain p2p": RecoveryDrainP2P, "drain and reset": RecoveryDrainAndReset, "recover imex domain": RecoveryIMEX,
	"bus reset": RecoveryBusReset, "system reboot": RecoverySystemReboot,
}

// recovery is the action, or what drivers before 570 say instead.
func (g *smiGPU) recovery() (RecoveryAction, error) {
	if f, told := g.fields.field("gpu/gpu_recovery_action"); told {
		if err := noAnswer(f.text); err != nil {
			return RecoveryNone, err
		}
		action, known := smiActions[strings.ToLower(f.text)]
		if !known {
			g.skip(f, "a recovery action that is not known counts as a bad one: "+strconv.Quote(errtext.Short(f.text)))
			action = recoveryUnknown
		}
		return action, nil
	}
	if g.missing("gpu/gpu_reset_status") {
		return RecoveryNone, refusal(ErrUnsupported, "not supported")
	}
	untold, told := error(nil), false
	for _, ask := range []struct {
		path   string
		action RecoveryAction
	}{{"gpu/gpu_reset_status/reset_required", RecoveryReset}, {"gpu/gpu_reset_status/drain_and_reset_recommended", RecoveryDrainAndReset}} {
		asked, err := g.yes(ask.path)
		switch {
		case errors.Is(err, ErrUnsupported):
			untold = err
		case err != nil || asked:
			return ask.action, err
		default:
			told = true
		}
	}
	if told {
		return RecoveryNone, nil
	}
	return RecoveryNone, untold
}

// ecc adds up the errors that could not be corrected.
func (g *smiGPU) ecc() (ECC, error) {
	if g.missing("gpu/ecc_errors") {
		return ECC{}, refusal(ErrUnsupported, "not supported")
	}
	var ecc ECC
	told := false
	for _, span := range []struct {
		name string
		to   *uint64
	}{{"volatile", &ecc.Volatile}, {"aggregate", &ecc.Aggregate}} {
		for _, name := range append([]string{"double_bit/total"}, uncorrectable...) {
			path := "gpu/ecc_errors/" + span.name + "/" + name
			if _, there := g.fields.field(path); !there {
				continue
			}
			n, err := g.count(path)
			if err != nil && !errors.Is(err, ErrUnsupported) {
				return ECC{}, err
			}
			told = true
			*span.to += uint64(n)
		}
	}
	if !told {
		return ECC{}, &Error{GPU: NoGPU, Kind: ErrUntold, Reason: "no count of errors that could not be corrected is in the report"}
	}
	return ecc, nil
}

func (g *smiGPU) rows() (rows RemappedRows, err error) {
	const under = "gpu/remapped_rows/"
	if g.missing("gpu/remapped_rows") {
		return rows, refusal(ErrUnsupported, "not supported")
	}
	if rows.Corrected, err = g.count(under + "remapped_row_corr"); err != nil {
		return RemappedRows{}, err
	}
	if rows.Uncorrected, err = g.count(under + "remapped_row_unc"); err != nil {
		return RemappedRows{}, err
	}
	if rows.Pending, err = g.yes(under + "remapped_row_pending"); err != nil {
		return RemappedRows{}, err
	}
	rows.Failed, err = g.yes(under + "remapped_row_failure")
	return rows, err
}

// clocks reads the reasons by either of their names.
func (g *smiGPU) clocks() (ClockReasons, error) {
	section, name := "gpu/clocks_event_reasons", "/clocks_event_reason_"
	if g.missing(section) {
		section, name = "gpu/clocks_throttle_reasons", "/clocks_throttle_reason_"
	}
	if g.missing(section) {
		return 0, refusal(ErrUnsupported, "not supported")
	}
	var reasons ClockReasons
	for _, reason := range clockReasons {
		switch active, err := g.yes(section + name + reason.element); {
		case errors.Is(err, ErrUnsupported), errors.Is(err, ErrUntold) && reason.bit&clocksHardware == 0:
		case err != nil:
			return 0, err
		case active:
			reasons |= reason.bit
		}
	}
	return reasons, nil
}

func (g *smiGPU) utilization() (int, error) {
	percent, err := g.measured("gpu/utilization/gpu_util", "%")
	return int(min(percent, 100_000)) / 100, err
}

func (g *smiGPU) temperature() (int, error) {
	celsius, err := g.measured("gpu/temperature/gpu_temp", "C")
	return int(celsius / 1000), err
}

// power is told by three names, which came one after the other.
func (g *smiGPU) power() (int, error) {
	err := error(errUntold)
	for _, path := range []string{"gpu/gpu_power_readings/average_power_draw", "gpu/gpu_power_readings/power_draw", "gpu/power_readings/power_draw"} {
		if _, told := g.fields.field(path); told {
			var milliwatts int64
			if milliwatts, err = g.measured(path, "W"); err == nil {
				return int(milliwatts), nil
			}
		}
	}
	return 0, err
}

// pages reads what drivers are not asked yet: retired pages and repairs.
func (r *reader) pages(g *smiGPU) {
	if r.health.Failure != nil {
		return
	}
	ask := func(query Query, path string, to *bool) {
		if _, told := g.fields.field(path); !told {
			return
		}
		var err error
		if *to, err = g.yes(path); err != nil {
			r.gap(err, query)
		}
	}
	number := func(path string, to *int) {
		if _, told := g.fields.field(path); !told {
			return
		}
		var err error
		if *to, err = g.count(path); err != nil {
			r.gap(err, queryPages)
		}
	}
	pages, repairs := &r.health.Pages, &r.health.Repairs
	number("gpu/retired_pages/multiple_single_bit_retirement/retired_count", &pages.SingleBit)
	number("gpu/retired_pages/double_bit_retirement/retired_count", &pages.DoubleBit)
	var blacklist bool // its name before
	ask(queryPages, "gpu/retired_pages/pending_blacklist", &blacklist)
	ask(queryPages, "gpu/retired_pages/pending_retirement", &pages.Pending)
	pages.Pending = pages.Pending || blacklist
	ask(queryRepairs, "gpu/ecc_errors/channel_repair_pending", &repairs.ChannelPending)
	ask(queryRepairs, "gpu/ecc_errors/tpc_repair_pending", &repairs.TPCPending)
	ask(queryRepairs, "gpu/ecc_errors/unrepairable_memory", &repairs.Unrepairable)
	ask(queryRepairs, "gpu/ecc_errors/aggregate/sram_threshold_exceeded", &repairs.SRAMThreshold)
}
