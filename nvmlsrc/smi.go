package nvmlsrc

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/markup"
	"github.com/berth-sched/berth/internal/skipped"
)

// A SMIReport is what "nvidia-smi -q -x" says of a machine at one time.
type SMIReport struct {
	// Inventory is what an inventory of a driver would be, but for what no report tells: compute
	// capabilities, NVLinks, paths, NUMA nodes, NICs, and where MIG instances are. Each is one of
	// the Gaps. A GPU in MIG mode takes no work by its report alone, and has a Failure.
	Inventory Inventory
	// Health of each GPU, and what is not as it should be.
	Health   []Health
	Findings []Finding
	// Modules has for each GPU the number of its module, by which partitions of NVIDIA's Fabric
	// Manager name it (see [nodegraph.NewAllowedSets]): not the index. Not known where a GPU has
	// none, or the driver does not tell.
	Modules []berth.Ordinal
	// MIGDevices are the compute instances of all GPUs, in the order of the report.
	MIGDevices []MIGDevice
	// Skipped lists the parts of the report that were passed over.
	Skipped []Skip
}

// A Skip is something in a report that nothing is known of, with the line of the first.
type Skip = skipped.Skip

// A MIGDevice is a compute instance as a report tells of it.
type MIGDevice struct {
	// GPU is the index of the GPU, and Index that of the device on it.
	GPU, Index int
	// Instance and Compute are the IDs of the GPU instance and of the compute instance in it.
	Instance, Compute int
	// UUID is empty from drivers that do not write it here: nvidia-smi -L has it.
	UUID string
	// SMs of the compute instance, and MemoryMiB of the GPU instance; 0: not told.
	SMs       int
	MemoryMiB int64
}

// ParseSMI reads what "nvidia-smi -q -x" prints. The file's name is for errors.
//
// It looks at: driver_version, attached_gpus, and of each gpu its product, UUID, addresses,
// minor number, module, memory, MIG mode and devices, processes that compute, state and clique in
// an NVLink fabric, recovery action (before driver 570: what gpu_reset_status says), errors of
// memory, remapped rows, retired pages, pending repairs, reasons for low clocks, temperature, power
// and utilization. Sections of other matters that nvidia-smi is known to write are passed over; all
// that is not known, text around the report, and GPUs that are attached and not in the report (-i)
// are told in Skipped. A value of a state that is not known counts as a bad one, and is told.
//
// An answer that is none ("N/A", "Unknown Error", "GPU is lost") is what the same answer of a
// driver is in an [Inventory]: a gap, or why a GPU takes no work.
//
// Errors are of type *Error with file and line, and the element as the query. O(length of the
// text).
func ParseSMI(file, text string) (SMIReport, error) {
	p := smiParser{file: file, Place: markup.Place{Line: 1, Column: 1}}
	err := markup.Walk(text, &p)
	if bad := (*markup.Error)(nil); errors.As(err, &bad) {
		p.Place = bad.Place
		kind := ErrSyntax
		if bad.TooLarge {
			kind = ErrTooLarge
		}
		err = p.refuse(kind, "", bad.Reason)
	}
	if err == nil && !p.seenRoot {
		err = p.refuse(ErrSyntax, smiRoot, "no such element in the text")
	}
	if err != nil {
		return SMIReport{}, err
	}
	return p.report()
}

// Bounds of a report: GPUs, MIG devices and processes of one.
const (
	maxSMIGPUs      = 64
	maxSMIDevices   = 64
	maxSMIProcesses = 1 << 16
)

const smiRoot = "nvidia_smi_log"

type smiParser struct {
	file         string
	markup.Place // of the element at hand
	seenRoot     bool
	path         []byte // below the root
	open         []int  // how long the paths of what is around are
	text         []byte // of the element at hand
	machine      smiRecord
	gpus         []*smiGPU
	skipped      skipped.List
}

// A smiRecord is what stands in a part of a report: texts by the path of their element.
type smiRecord []smiField

type smiField struct {
	path, text string
	markup.Place
}

// index is where a field is; -1: it is not there.
func (r smiRecord) index(path string) int {
	return slices.IndexFunc(r, func(f smiField) bool { return f.path == path })
}

func (r smiRecord) field(path string) (smiField, bool) {
	if i := r.index(path); i >= 0 {
		return r[i], true
	}
	return smiField{}, false
}

func (p *smiParser) refuse(kind error, element, reason string) error {
	gpu := NoGPU
	if bytes.HasPrefix(p.path, []byte("gpu")) {
		gpu = len(p.gpus) - 1
	}
	return &Error{File: p.file, Line: p.Line, GPU: gpu, Query: Query(element), Reason: reason, Kind: kind}
}

func (p *smiParser) skip(at markup.Place, reason ...string) {
	p.skipped.Add(p.file, at.Line, reason...)
}

// A smiElement is an element that is known: its path, and what becomes of it.
type smiElement struct {
	path string
	use  smiUse
}

type smiUse uint8

const (
	smiUnknown smiUse = iota
	smiText           // its text is read
	smiSection        // all elements in it are read, and unknown ones are told
	smiLax            // some elements in it are read
	smiOver           // nothing of it is read
)

// smiElements are those that are known, by their paths below the root.
var smiElements = func() map[string]smiElement {
	known := map[string]smiElement{}
	add := func(use smiUse, under, names string) {
		for name := range strings.FieldsSeq(names) {
			known[under+name] = smiElement{under + name, use}
		}
	}
	add(smiText, "", "driver_version attached_gpus")
	add(smiOver, "", "timestamp cuda_version hic_info unit")
	add(smiSection, "", "gpu")
	add(smiText, "gpu/", "product_name uuid minor_number gpu_module_id gpu_recovery_action compute_mode")
	add(smiOver, "gpu/", `product_brand product_architecture display_mode display_attached display_active persistence_mode
		addressing_mode accounting_mode accounting_mode_buffer_size driver_model serial pdi vbios_version multigpu_board
		board_id board_part_number gpu_part_number gpu_fru_part_number platformInfo inforom_version
		inforom_bbx_flush gpu_operation_mode c2c_mode gpu_virtualization_mode gsp_firmware_version ibmnpu fan_speed
		performance_state clocks_event_reasons_counters sparse_operation_mode bar1_memory_usage cc_protected_memory_usage
		encoder_stats fbc_stats dram_encryption_mode ecc_mode supported_gpu_target_temp gpu_memory_power_readings
		module_power_readings power_smoothing power_profiles edpp_multiplier clocks applications_clocks
		default_applications_clocks deferred_clocks max_clocks max_customer_boost_clocks clock_policy voltage
		supported_clocks accounted_processes capabilities`)
	add(smiLax, "gpu/", "pci fb_memory_usage temperature power_readings gpu_power_readings utilization")
	add(smiText, "gpu/pci/", "pci_device_id pci_bus_id")
	add(smiText, "gpu/fb_memory_usage/", "total used")
	add(smiText, "gpu/temperature/", "gpu_temp")
	add(smiText, "gpu/power_readings/", "power_draw")
	add(smiText, "gpu/gpu_power_readings/", "power_draw average_power_draw")
	add(smiText, "gpu/utilization/", "gpu_util")
	add(smiSection, "gpu/", `mig_mode mig_devices gpu_reset_status clocks_event_reasons clocks_throttle_reasons
		ecc_errors retired_pages remapped_rows fabric processes`)
	add(smiText, "gpu/mig_mode/", "current_mig pending_mig")
	add(smiSection, "gpu/mig_devices/", "mig_device")
	add(smiText, "gpu/mig_devices/mig_device/", "index gpu_instance_id compute_instance_id uuid")
	add(smiOver, "gpu/mig_devices/mig_device/", "ecc_error_count bar1_memory_usage")
	add(smiLax, "gpu/mig_devices/mig_device/", "device_attributes device_attributes/shared fb_memory_usage")
	add(smiText, "gpu/mig_devices/mig_device/", "device_attributes/shared/multiprocessor_count fb_memory_usage/total")
	add(smiText, "gpu/gpu_reset_status/", "reset_required drain_and_reset_recommended")
	for _, reason := range clockReasons {
		add(smiText, "gpu/clocks_event_reasons/", "clocks_event_reason_"+reason.element)
		add(smiText, "gpu/clocks_throttle_reasons/", "clocks_throttle_reason_"+reason.element)
	}
	for _, span := range []string{"volatile", "aggregate"} {
		add(smiSection, "gpu/ecc_errors/", span)
		add(smiText, "gpu/ecc_errors/"+span+"/", strings.Join(uncorrectable, " "))
		add(smiOver, "gpu/ecc_errors/"+span+"/", "sram_correctable dram_correctable single_bit")
		add(smiLax, "gpu/ecc_errors/"+span+"/", "double_bit")
		add(smiText, "gpu/ecc_errors/"+span+"/", "double_bit/total")
	}
	add(smiOver, "gpu/ecc_errors/", "aggregate_uncorrectable_sram_sources")
	add(smiText, "gpu/ecc_errors/", "aggregate/sram_threshold_exceeded channel_repair_pending tpc_repair_pending unrepairable_memory")
	add(smiSection, "gpu/retired_pages/", "multiple_single_bit_retirement double_bit_retirement")
	for _, cause := range []string{"multiple_single_bit_retirement", "double_bit_retirement"} {
		add(smiText, "gpu/retired_pages/"+cause+"/", "retired_count")
		add(smiOver, "gpu/retired_pages/"+cause+"/", "retired_pagelist retired_page_addresses")
	}
	add(smiText, "gpu/retired_pages/", "pending_blacklist pending_retirement")
	add(smiText, "gpu/remapped_rows/", "remapped_row_corr remapped_row_unc remapped_row_pending remapped_row_failure")
	add(smiOver, "gpu/remapped_rows/", "row_remapper_histogram remapped_row_corr_inactive remapped_row_unc_inactive")
	add(smiText, "gpu/fabric/", "state status cliqueId clusterUuid")
	add(smiSection, "gpu/fabric/", "health")
	for _, question := range fabricQuestions {
		if question.element != "" {
			add(smiText, "gpu/fabric/health/", question.element)
		}
	}
	add(smiText, "gpu/fabric/health/", "summary")
	add(smiOver, "gpu/fabric/health/", "partition_assigned") // an assignment and no fault, as in FabricHealth
	add(smiSection, "gpu/processes/", "process_info")
	add(smiText, "gpu/processes/process_info/", "pid type gpu_instance_id")
	add(smiOver, "gpu/processes/process_info/", "compute_instance_id process_name used_memory")
	return known
}()

// uncorrectable are the names of counts of errors that could not be corrected, by generation.
var uncorrectable = []string{"sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable"}

// Begin begins an element.
func (p *smiParser) Begin(e markup.Element) error {
	p.Place = e.Place
	if len(p.open) == 0 {
		if p.seenRoot || e.Name != smiRoot {
			return p.refuse(ErrSyntax, e.Name, "not a report of nvidia-smi -q -x: want one element "+smiRoot)
		}
		p.seenRoot = true
		p.open = append(p.open, 0)
		return nil
	}
	around := len(p.path)
	within := smiElements[string(p.path)]
	if around > 0 {
		p.path = append(p.path, '/')
	}
	p.path = append(p.path, e.Name...)
	element := smiElements[string(p.path)]
	switch {
	case element.use == smiUnknown && within.use != smiLax:
		p.skip(e.Place, "the element ", errtext.Short(e.Name), " in ", cmp.Or(within.path, smiRoot), " is not read")
		fallthrough
	case element.use == smiUnknown, element.use == smiOver:
		p.path = p.path[:around]
		return markup.ErrPassOver
	}
	p.open = append(p.open, around)
	return p.begin(e, element.path)
}

// begin begins an element that is looked into.
func (p *smiParser) begin(e markup.Element, path string) error {
	p.text = p.text[:0]
	switch path {
	case "gpu":
		if len(p.gpus) == maxSMIGPUs {
			return p.refuse(ErrTooLarge, "gpu", "more than "+strconv.Itoa(maxSMIGPUs)+" GPUs")
		}
		g := &smiGPU{file: p.file, index: len(p.gpus), skipped: &p.skipped, Place: e.Place}
		if id, told := e.Attribute("id"); told {
			g.fields = append(g.fields, smiField{"gpu/id", id, e.Place})
		}
		p.gpus = append(p.gpus, g)
		return nil
	case "gpu/mig_devices/mig_device", "gpu/processes/process_info":
		p.here().part = p.here().part[:0]
		return nil
	}
	r := p.record(path)
	if _, twice := r.field(path); twice {
		return p.refuse(ErrInvalid, path, "it is there twice")
	}
	*r = append(*r, smiField{path: path, Place: e.Place})
	return nil
}

// here is the GPU at hand.
func (p *smiParser) here() *smiGPU { return p.gpus[len(p.gpus)-1] }

// record is where the field of a path belongs.
func (p *smiParser) record(path string) *smiRecord {
	switch {
	case !strings.HasPrefix(path, "gpu"):
		return &p.machine
	case strings.HasPrefix(path, "gpu/mig_devices/mig_device/"), strings.HasPrefix(path, "gpu/processes/process_info/"):
		return &p.here().part
	}
	return &p.here().fields
}

// Text adds to the text of an element. Of a section, which has some where there is nothing in it,
// the first counts.
func (p *smiParser) Text(at markup.Place, text string) error {
	if len(p.open) < 2 {
		p.skip(at, "text around the report: ", errtext.Short(text))
		return nil
	}
	element := smiElements[string(p.path)]
	if element.use == smiText {
		p.text = append(p.text, text...)
		return nil
	}
	r := *p.record(element.path)
	if i := r.index(element.path); i >= 0 && r[i].text == "" {
		r[i].text = text
	} else {
		p.skip(at, "text in ", element.path, " is not read")
	}
	return nil
}

// End closes an element.
func (p *smiParser) End(at markup.Place) error {
	p.Place = at
	element := smiElements[string(p.path)]
	p.path = p.path[:p.open[len(p.open)-1]]
	p.open = p.open[:len(p.open)-1]
	switch {
	case element.use == smiText:
		r := *p.record(element.path)
		r[r.index(element.path)].text = string(p.text)
	case element.path == "gpu/mig_devices/mig_device":
		return p.here().addDevice()
	case element.path == "gpu/processes/process_info":
		return p.here().addProcess()
	}
	return nil
}

// report asks what was read as a driver is asked.
func (p *smiParser) report() (SMIReport, error) {
	for _, g := range p.gpus {
		if err := g.check(p.gpus[:g.index]); err != nil {
			return SMIReport{}, err
		}
	}
	if f, told := p.machine.field("attached_gpus"); told && f.text != strconv.Itoa(len(p.gpus)) {
		p.skip(f.Place, "of "+errtext.Short(f.text)+" GPUs that are attached "+strconv.Itoa(len(p.gpus))+" are in the report: indexes count these alone")
	}
	inventory, err := take(&smiDriver{p}, noSysfs{})
	if err != nil {
		return SMIReport{}, err
	}
	r := SMIReport{Inventory: inventory}
	for _, g := range p.gpus {
		r.MIGDevices = append(r.MIGDevices, g.devices...)
		r.Modules = append(r.Modules, g.module())
		reading := reader{dev: g, of: &watchedGPU{index: g.index, uuid: inventory.GPUs[g.index].UUID}}
		reading.health = Health{GPU: g.index, UUID: reading.of.uuid, Failure: inventory.GPUs[g.index].Failure}
		if f := reading.health.Failure; f == nil || !errors.Is(f, ErrLost) {
			reading.health.Failure = nil
			reading.read()
		}
		reading.pages(g)
		r.Health = append(r.Health, reading.health)
		r.Findings = append(r.Findings, reading.health.findings()...)
		for _, gap := range reading.gaps {
			if !slices.ContainsFunc(r.Inventory.Gaps, func(e *Error) bool { return e.GPU == gap.GPU && e.Query == gap.Query }) {
				r.Inventory.Gaps = append(r.Inventory.Gaps, gap)
			}
		}
	}
	r.Skipped = p.skipped
	return r, nil
}
