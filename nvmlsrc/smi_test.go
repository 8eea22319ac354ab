package nvmlsrc

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/hostile"
)

// smiOfH100 is a report of a machine with so many GPUs, as drivers of the 570s write it.
func smiOfH100(gpus int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Sat Nov 28 23:00:00 2026</timestamp>
	<driver_version>570.86.15</driver_version>
	<cuda_version>12.8</cuda_version>
	<attached_gpus>%d</attached_gpus>
`, gpus)
	for i := range gpus {
		fmt.Fprintf(&b, `	<gpu id="00000000:%02X:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<product_brand>NVIDIA</product_brand>
		<mig_mode>
			<current_mig>Disabled</current_mig>
			<pending_mig>Disabled</pending_mig>
		</mig_mode>
		<mig_devices>
			None
		</mig_devices>
		<uuid>GPU-00000000-0000-0000-0000-0000000000%02[1]d</uuid>
		<minor_number>%[2]d</minor_number>
		<gpu_module_id>%[4]d</gpu_module_id>
		<gpu_reset_status>
			<reset_required>Requested functionality has been deprecated</reset_required>
			<drain_and_reset_recommended>Requested functionality has been deprecated</drain_and_reset_recommended>
		</gpu_reset_status>
		<gpu_recovery_action>None</gpu_recovery_action>
		<pci>
			<pci_bus>%02[1]X</pci_bus>
			<pci_device_id>233010DE</pci_device_id>
			<pci_bus_id>00000000:%02[1]X:00.0</pci_bus_id>
			<pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen></pcie_gen></pci_gpu_link_info>
		</pci>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
			<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
			<clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown>
		</clocks_event_reasons>
		<fb_memory_usage>
			<total>81559 MiB</total>
			<reserved>551 MiB</reserved>
			<used>4 MiB</used>
		</fb_memory_usage>
		<compute_mode>Default</compute_mode>
		<utilization>
			<gpu_util>7 %%</gpu_util>
		</utilization>
		<ecc_errors>
			<volatile>
				<sram_correctable>0</sram_correctable>
				<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
				<dram_correctable>0</dram_correctable>
				<dram_uncorrectable>0</dram_uncorrectable>
			</volatile>
			<aggregate>
				<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
				<dram_uncorrectable>3</dram_uncorrectable>
				<sram_threshold_exceeded>No</sram_threshold_exceeded>
			</aggregate>
			<channel_repair_pending>No</channel_repair_pending>
			<tpc_repair_pending>No</tpc_repair_pending>
			<unrepairable_memory>N/A</unrepairable_memory>
		</ecc_errors>
		<retired_pages>
			<multiple_single_bit_retirement>
				<retired_count>N/A</retired_count>
				<retired_pagelist>N/A</retired_pagelist>
			</multiple_single_bit_retirement>
			<pending_blacklist>N/A</pending_blacklist>
			<pending_retirement>N/A</pending_retirement>
		</retired_pages>
		<remapped_rows>
			<remapped_row_corr>0</remapped_row_corr>
			<remapped_row_unc>1</remapped_row_unc>
			<remapped_row_pending>No</remapped_row_pending>
			<remapped_row_failure>No</remapped_row_failure>
		</remapped_rows>
		<temperature><gpu_temp>31 C</gpu_temp></temperature>
		<gpu_power_readings>
			<power_state>P0</power_state>
			<average_power_draw>71.25 W</average_power_draw>
		</gpu_power_readings>
		<fabric>
			<state>Completed</state>
			<status>Success</status>
			<cliqueId>32766</cliqueId>
			<clusterUuid>9c6f5af3-53bf-49b5-a436-b66766c413c3</clusterUuid>
			<health>
				<summary>Healthy</summary>
				<bandwidth>Full</bandwidth>
				<route_unhealthy>False</route_unhealthy>
				<incorrect_configuration>None</incorrect_configuration>
			</health>
		</fabric>
		<processes>
			<process_info>
				<gpu_instance_id>N/A</gpu_instance_id>
				<pid>%[3]d</pid>
				<type>C</type>
				<process_name>python</process_name>
			</process_info>
			<process_info><pid>1</pid><type>G</type></process_info>
		</processes>
	</gpu>
`, 16+i, i, 4000+i, gpus-i)
	}
	return b.String() + "</nvidia_smi_log>\n"
}

func gapsOf(r SMIReport, query Query) (list []*Error) {
	for _, gap := range r.Inventory.Gaps {
		if gap.Query == query {
			list = append(list, gap)
		}
	}
	return list
}

// newGaps are those of a report that another does not have.
func newGaps(in, of SMIReport) (list []*Error) {
	for _, gap := range of.Inventory.Gaps {
		if !slices.ContainsFunc(in.Inventory.Gaps, func(e *Error) bool { return *e == *gap }) {
			list = append(list, gap)
		}
	}
	return list
}

func TestSMI(t *testing.T) {
	r, err := ParseSMI("smi.xml", smiOfH100(2))
	require.NoError(t, err)
	require.Empty(t, r.Skipped)
	require.Empty(t, r.Findings)
	require.Empty(t, r.MIGDevices)
	require.Equal(t, []berth.Ordinal{berth.OrdinalOf(2), berth.OrdinalOf(1)}, r.Modules, "which run against the indexes here")
	require.Equal(t, "570.86.15", r.Inventory.Driver)
	const fabric = "9c6f5af3-53bf-49b5-a436-b66766c413c3.32766"
	require.Equal(t, GPU{
		Index: 1, Product: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-0000-0000-000000000017",
		PCI: "0000:11:00.0", PCIDeviceID: 0x233010DE, MemoryMiB: 81_559, DeviceMinor: berth.OrdinalOf(1),
		MIG: MIG{Capable: true}, NVLink: NVLink{Peers: []int{0}, Fabric: fabric}, Processes: []int{4001},
	}, r.Inventory.GPUs[1])
	for _, query := range []Query{queryComputeCapability, queryNVLink, queryNUMANode, queryMIGProfiles} {
		require.Len(t, gapsOf(r, query), 2, query)
		for _, gap := range gapsOf(r, query) {
			require.ErrorIs(t, gap, ErrUntold, query)
		}
	}
	require.Equal(t, Health{
		GPU: 1, UUID: r.Inventory.GPUs[1].UUID, ECC: ECC{Aggregate: 3}, Rows: RemappedRows{Uncorrected: 1},
		Fabric: 2 | 2<<4 | 1<<8, Clocks: ClockReasonIdle, MemoryUsedMiB: 4, TemperatureC: 31, PowerMilliwatts: 71_250,
		Activity: []Activity{{UUID: r.Inventory.GPUs[1].UUID, Milli: 70, Source: ActivitySourceUtilization}},
	}, r.Health[1])

	node, err := r.Inventory.Node("node-17")
	require.NoError(t, err)
	require.Equal(t, fabric, node.GPUs[0].Clique)
	require.False(t, node.GPUs[0].Failed)
	require.Nil(t, node.Links, "NVLinks are not in a report")
	_, err = berth.EncodeEvent(berth.NodeJoined{Node: node})
	require.NoError(t, err)
}

// What needs somebody's action, and what condemns a GPU.
func TestSMIFindings(t *testing.T) {
	for _, c := range []struct {
		from, to, says string
		condemns       bool
	}{
		{`<gpu_recovery_action>None`, `<gpu_recovery_action>Reset`, "the driver says: gpu-reset", true},
		{`<gpu_recovery_action>None`, `<gpu_recovery_action>Drain and Reset`, "the driver says: drain-and-reset", false},
		{`<gpu_recovery_action>None`, `<gpu_recovery_action>Replace`, "the driver says: RecoveryAction(255)", true},
		{`<gpu_recovery_action>None</gpu_recovery_action>`, ``, "", false},
		{`<remapped_row_pending>No`, `<remapped_row_pending>Yes`, "a row of memory is to be replaced by a spare one: reset the GPU when it is idle", false},
		{`<remapped_row_failure>No`, `<remapped_row_failure>Yes`, "a row of memory is bad and there is no spare one", true},
		{`<remapped_row_failure>No`, `<remapped_row_failure>Perhaps`, "a row of memory is bad and there is no spare one", true},
		{`<pending_retirement>N/A`, `<pending_retirement>Yes`, "a page of memory is to be retired: reset the GPU when it is idle", false},
		{`<pending_blacklist>N/A`, `<pending_blacklist>Yes`, "a page of memory is to be retired: reset the GPU when it is idle", false},
		{`<unrepairable_memory>N/A`, `<unrepairable_memory>Yes`, "there is memory that cannot be repaired", true},
		{`<channel_repair_pending>No`, `<channel_repair_pending>Yes`, "a channel of memory is to be repaired: reset the GPU when it is idle", false},
		{`<tpc_repair_pending>No`, `<tpc_repair_pending>Yes`, "a cluster of SMs is to be repaired: reset the GPU when it is idle", false},
		{`<sram_threshold_exceeded>No`, `<sram_threshold_exceeded>Yes`, "more errors in caches than a GPU may have that is to stay", false},
		{`<dram_uncorrectable>0`, `<dram_uncorrectable>2`, "2 memory errors that could not be corrected", false},
		{`<route_unhealthy>False`, `<route_unhealthy>True`, "NVLink fabric: a route is unhealthy", false},
		{`<bandwidth>Full`, `<bandwidth>Degraded`, "NVLink fabric: reduced bandwidth", false},
		{`<incorrect_configuration>None`, `<incorrect_configuration>Insufficient Nvlinks`, "NVLink fabric: incorrect configuration 2", false},
		{`hw_slowdown>Not Active`, `hw_slowdown>Active`, "slowed down: idle, HW slowdown", false},
	} {
		text := strings.Replace(smiOfH100(1), c.from, c.to, 1)
		require.NotEqual(t, smiOfH100(1), text, c.from)
		r, err := ParseSMI("smi.xml", text)
		require.NoError(t, err, c.to)
		if c.says == "" {
			require.Empty(t, r.Findings)
			continue
		}
		require.Len(t, r.Findings, 1, c.to)
		require.Equal(t, c.says, r.Findings[0].Reason)
		require.Equal(t, c.condemns, r.Findings[0].Condemns, c.to)
		require.Equal(t, strings.Contains(c.from, "repair") || strings.Contains(c.from, "threshold"), r.Findings[0].Query == queryRepairs, c.to)
	}
	// Drivers before the recovery action.
	old := strings.Replace(smiOfH100(1), "<gpu_recovery_action>None</gpu_recovery_action>", "", 1)
	old = strings.Replace(old, "<reset_required>Requested functionality has been deprecated", "<reset_required>Yes", 1)
	r, err := ParseSMI("smi.xml", old)
	require.NoError(t, err)
	require.Equal(t, RecoveryReset, r.Health[0].Recovery)
	old = strings.Replace(old, "<reset_required>Yes", "<reset_required>N/A", 1)
	old = strings.Replace(old, "<drain_and_reset_recommended>Requested functionality has been deprecated", "<drain_and_reset_recommended>Yes", 1)
	r, err = ParseSMI("smi.xml", old)
	require.NoError(t, err)
	require.Equal(t, RecoveryDrainAndReset, r.Health[0].Recovery, "though the first of two is not told")
	old = strings.ReplaceAll(smiOfH100(1), "clocks_event_reason", "clocks_throttle_reason")
	again, err := ParseSMI("smi.xml", old)
	require.NoError(t, err)
	require.Equal(t, ClockReasonIdle, again.Health[0].Clocks)
}

// A GPU takes no work while it is being registered with the fabric, or once it is lost.
func TestSMIGPUsThatTakeNoWork(t *testing.T) {
	for from, to := range map[string]string{
		"<state>Completed": "<state>In Progress", "<status>Success": "<status>Unknown Error 9",
		"<product_name>NVIDIA H100 80GB HBM3": "<product_name>GPU is lost", "<total>81559 MiB": "<total>GPU requires reset",
	} {
		r, err := ParseSMI("smi.xml", strings.Replace(smiOfH100(2), from, to, 1))
		require.NoError(t, err, to)
		require.NotNil(t, r.Inventory.GPUs[0].Failure, to)
		require.Nil(t, r.Inventory.GPUs[1].Failure, to)
		require.Empty(t, r.Inventory.GPUs[1].NVLink.Peers, to)
		node, err := r.Inventory.Node("node-17")
		require.NoError(t, err)
		require.True(t, node.GPUs[0].Failed, to)
	}
}

// Links that a report does not tell are no peers by themselves.
func TestSMIWithoutFabric(t *testing.T) {
	text := regexp.MustCompile(`(?s)<fabric>.*?</fabric>`).ReplaceAllString(smiOfH100(2), "<fabric><state>N/A</state><status>N/A</status></fabric>")
	r, err := ParseSMI("smi.xml", text)
	require.NoError(t, err)
	require.Empty(t, r.Inventory.GPUs[0].NVLink)
	require.Len(t, gapsOf(r, queryNVLink), 2)
	require.Empty(t, gapsOf(r, queryFabric))
}

// MIG devices are listed; where they are on the GPU is not told, so that nothing can be placed.
func TestSMIMIG(t *testing.T) {
	text := strings.Replace(smiOfH100(1), "Disabled</current_mig>", "Enabled</current_mig>", 1)
	text = strings.Replace(text, "None\n", `<mig_device><index>0</index><gpu_instance_id>3</gpu_instance_id><compute_instance_id>0</compute_instance_id>
		<device_attributes><shared><multiprocessor_count>32</multiprocessor_count><copy_engine_count>2</copy_engine_count></shared></device_attributes>
		<ecc_error_count><volatile_count><sram_uncorrectable>0</sram_uncorrectable></volatile_count></ecc_error_count>
		<fb_memory_usage><total>20096 MiB</total><used>1 MiB</used></fb_memory_usage></mig_device>
		<mig_device><index>1</index><gpu_instance_id>9</gpu_instance_id><compute_instance_id>1</compute_instance_id><uuid>MIG-1</uuid></mig_device>
`, 1)
	r, err := ParseSMI("smi.xml", text)
	require.NoError(t, err)
	require.Empty(t, r.Skipped)
	require.Equal(t, []MIGDevice{
		{Instance: 3, SMs: 32, MemoryMiB: 20_096},
		{Index: 1, Instance: 9, Compute: 1, UUID: "MIG-1"},
	}, r.MIGDevices)
	require.True(t, r.Inventory.GPUs[0].MIG.Enabled)
	require.False(t, r.Inventory.GPUs[0].MIG.Pending)
	require.Equal(t, queryMIGInstances, r.Inventory.GPUs[0].Failure.Query)
	require.ErrorIs(t, gapsOf(r, queryMIGProfiles)[0], ErrUntold)
	require.Nil(t, r.Health[0].Failure, "it is well")
}

func TestSMITellsWhatItPassesOver(t *testing.T) {
	for _, c := range []struct{ from, to, says string }{
		{"<product_brand>NVIDIA</product_brand>", "<quantum>1</quantum>", "the element quantum in gpu is not read"},
		{"remapped_row_pending>", "remapped_row_due>", "the element remapped_row_due in gpu/remapped_rows is not read"},
		{"<attached_gpus>2", "<attached_gpus>8", "of 8 GPUs that are attached 2 are in the report: indexes count these alone"},
		{"</nvidia_smi_log>\n", "</nvidia_smi_log>\nWARNING: infoROM is corrupted", "text around the report: WARNING: infoROM is corrupted"},
		{"<compute_mode>Default", "<compute_mode>Prohibited", `compute mode "Prohibited" counts as Default`},
		{"<gpu_module_id>2", "<gpu_module_id>B2", `a gpu_module_id that is no number is not read: "B2"`},
		{"<type>G<", "<type>M<", `a process of the type "M" is not read`},
		{"<summary>Healthy", "<summary>Unhealthy", `the health of a fabric is "Unhealthy", and no question says why`},
		{"<state>Completed", "<state>Resting", `a state of the fabric that is not known counts as a bad one: "Resting"`},
		{"<gpu_recovery_action>None", "<gpu_recovery_action>Pray", `a recovery action that is not known counts as a bad one: "Pray"`},
		{"<remapped_rows>", "<remapped_rows>Some", "text in gpu/remapped_rows is not read"},
	} {
		text := strings.ReplaceAll(smiOfH100(2), c.from, c.to)
		require.NotEqual(t, smiOfH100(2), text, c.from)
		r, err := ParseSMI("smi.xml", text)
		require.NoError(t, err, c.to)
		require.True(t, slices.ContainsFunc(r.Skipped, func(s Skip) bool { return s.Reason == c.says && s.Line > 0 }), "%s: %v", c.says, r.Skipped)
	}
	r, err := ParseSMI("smi.xml", strings.ReplaceAll(smiOfH100(1), "remapped_row_pending>", "remapped_row_due>"))
	require.NoError(t, err)
	require.Len(t, gapsOf(r, queryRows), 1, "what is missing in a section is a gap")
}

func TestSMIRefusals(t *testing.T) {
	for _, bad := range []struct {
		from, to, query string
		kind            error
	}{
		{smiOfH100(2), "", smiRoot, ErrSyntax},
		{smiOfH100(2), "<nvidia_smi_log>", "", ErrSyntax},
		{smiOfH100(2), "<topology/>", "topology", ErrSyntax},
		{"</nvidia_smi_log>", "</nvidia_smi_log><nvidia_smi_log/>", smiRoot, ErrSyntax},
		{`<gpu id="00000000:11:00.0">`, `<gpu id="00000000:10:00.0">`, "gpu/pci/pci_bus_id", ErrSyntax},
		{"-000000000017", "-000000000016", "gpu/uuid", ErrSyntax},
		{"<minor_number>1</minor_number>", "<minor_number>1</minor_number><minor_number>1</minor_number>", "gpu/minor_number", ErrInvalid},
		{"<pid>4001</pid>", "<pid>none</pid>", "gpu/processes/process_info/pid", ErrSyntax},
		{"<pid>4001</pid>", "", "gpu/processes/process_info/pid", ErrSyntax},
		{"<gpu_instance_id>N/A", "<gpu_instance_id>some", "gpu/processes/process_info/gpu_instance_id", ErrSyntax},
		{"None\n", "<mig_device><index>0</index></mig_device>", "gpu/mig_devices/mig_device/gpu_instance_id", ErrSyntax},
		{"None\n", strings.Repeat("<mig_device><index>0</index><gpu_instance_id>0</gpu_instance_id><compute_instance_id>0</compute_instance_id></mig_device>", maxSMIDevices+1), "gpu/mig_devices", ErrTooLarge},
		{"</nvidia_smi_log>", strings.Repeat("<gpu/>", maxSMIGPUs) + "</nvidia_smi_log>", "gpu", ErrTooLarge},
		{"</nvidia_smi_log>", strings.Repeat("<gpu>", 2) + strings.Repeat("<a>", 100), "", ErrTooLarge},
	} {
		text := strings.Replace(smiOfH100(2), bad.from, bad.to, 1)
		if bad.kind == ErrTooLarge && bad.query == "" {
			text = strings.Replace(text, "<timestamp>", strings.Repeat("<a>", 101), 1)
		}
		r, err := ParseSMI("smi.xml", text)
		require.Zero(t, r)
		var typed *Error
		require.ErrorAs(t, err, &typed, bad.to)
		require.Equal(t, Query(bad.query), typed.Query, bad.to)
		require.ErrorIs(t, err, bad.kind, bad.to)
		require.NotZero(t, typed.Line)
		require.Equal(t, "smi.xml", typed.File)
	}
	_, err := ParseSMI("smi.xml", strings.Replace(smiOfH100(1), "<pid>4000</pid>", "<pid>x</pid>", 1))
	require.EqualError(t, err, `nvmlsrc: smi.xml:98: gpus[0]: gpu/processes/process_info/pid: syntax: not a process: "x"`)

	// What is no answer of its kind is a gap with its line.
	for query, change := range map[Query][2]string{
		queryMemory: {"81559 MiB", "81559"}, queryPCI: {"<pci_device_id>2330", "<pci_device_id>x330"}, queryMinor: {"<minor_number>0", "<minor_number>-"},
		queryRows: {"<remapped_row_unc>1", "<remapped_row_unc>one"}, queryTemperature: {"31 C", "88 F"}, queryFabric: {"9c6f5af3-", ""},
	} {
		r, err := ParseSMI("smi.xml", strings.Replace(smiOfH100(1), change[0], change[1], 1))
		require.NoError(t, err)
		gaps := gapsOf(r, query)
		require.Len(t, gaps, 1, query)
		require.ErrorIs(t, gaps[0], ErrSyntax)
		require.NotZero(t, gaps[0].Line)
	}
}

// An address ends with its function: what has a tail, or a part too many, is none.
func TestSMIAddressesEnd(t *testing.T) {
	for _, bad := range []string{"00000000:10:00.0x", "00000000:10:00.0 (lost)", "00000000:10:00.08", "00000000:10:00.0.1", "100000000:10:00.0", "00000000:100:00.0", "00000000:10:20.0", "00000000:10:00.8", "00000000:10:00.", "10:00.0", "+0:10:00.0"} {
		r, err := ParseSMI("smi.xml", strings.ReplaceAll(smiOfH100(1), "00000000:10:00.0", bad))
		require.NoError(t, err, bad)
		gaps := gapsOf(r, queryPCI)
		require.Len(t, gaps, 1, bad)
		require.ErrorIs(t, gaps[0], ErrSyntax)
		require.Empty(t, r.Inventory.GPUs[0].PCI, bad)
	}
	at, ok := parseAddress("00010000:c1:1f.7")
	require.True(t, ok)
	require.Equal(t, "10000:c1:1f.7", at.String())
}

// A good report in which names are changed, and parts are missing, there twice or in another order:
// what comes out is the same, or it is refused, or says what is passed over or not told.
func TestSMIChangedReports(t *testing.T) {
	element := regexp.MustCompile(`<(\w+)[^>]*>[^<]*</(\w+)>\n`)
	good := smiOfH100(2)
	want, err := ParseSMI("", good)
	require.NoError(t, err)
	outcomes := map[string]int{}
	for seed := range drawn.Seeds(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		var text string
		at := element.FindAllStringIndex(good, -1)
		i := r.IntN(len(at) - 1)
		begin, part, end := good[:at[i][0]], good[at[i][0]:at[i][1]], good[at[i][1]:]
		what := []string{"rename", "remove", "double", "swap", "rename sections"}[r.IntN(5)]
		switch what {
		case "rename":
			text = begin + strings.NewReplacer("<", "<new_", "</", "</new_").Replace(part) + end
		case "remove":
			text = begin + end
		case "double":
			text = begin + part + part + end
		case "swap":
			next := element.FindStringIndex(end)
			if strings.TrimSpace(end[:next[0]]) != "" {
				continue // it is in another element
			}
			text = begin + end[next[0]:next[1]] + part + end[next[1]:]
		case "rename sections":
			sections := []string{"gpu", "mig_mode", "pci", "fb_memory_usage", "ecc_errors", "volatile", "remapped_rows", "fabric", "health", "processes", "process_info", "utilization"}
			name := sections[r.IntN(len(sections))]
			text = regexp.MustCompile(`(</?)`+name+`\b`).ReplaceAllString(good, "${1}new_"+name)
		}
		got, err := ParseSMI("", text)
		outcome := "same"
		switch {
		case err != nil:
			outcome = "refused"
		case len(got.Skipped) > 0:
			outcome = "told"
		case len(newGaps(want, got)) > 0:
			outcome = "gap"
		case what == "remove" && slices.ContainsFunc(smiMayMiss, func(name string) bool { return strings.Contains(part, name) }):
			continue
		default:
			require.Equal(t, want, got, "seed %d, %s: %s", seed, what, part)
		}
		outcomes[outcome]++
	}
	if drawn.Many() {
		require.Len(t, outcomes, 4)
	}
}

// smiMayMiss are elements that some drivers do not write, or not for all GPUs, so that a report
// without them says nothing of a GPU; and counts, of which one may be zero as well.
var smiMayMiss = []string{
	"_uncorrectable", "_repair_pending", "pending_", "sram_threshold", "retired_", "gpu_recovery_action", "reset_re", "drain_and_reset",
	"<status>", "<cliqueId>", "<clusterUuid>", "<bandwidth>", "<route_unhealthy>", "<incorrect_configuration>", "<used>",
	"<clocks_event_reason_gpu_idle>", "<gpu_module_id>", "<gpu_temp>", "<gpu_util>", "power_draw", "<pci_device_id>", "<type>", "<gpu_instance_id>",
}

func TestSMICostsWhatTheTextIsLong(t *testing.T) {
	const length = 1 << 20
	for _, part := range []string{
		"<a/>", "a<a/>", "<gpu/>", "<gpu><uuid/></gpu>", "<processes/>", "<process_info><pid>1</pid><type>C</type></process_info>",
		"<process_info/>", "<mig_device/>", "<uuid>a", "x ",
	} {
		for _, within := range []string{"<nvidia_smi_log>", "<nvidia_smi_log><gpu>", "<nvidia_smi_log><gpu><processes>", "<nvidia_smi_log><gpu><uuid>"} {
			hostile.Bounded(t, within+part, within+strings.Repeat(part, length/len(part)), 8<<20, func(text string) { _, _ = ParseSMI("", text) })
		}
	}
}

func FuzzParseSMI(f *testing.F) {
	f.Add(smiOfH100(1))
	f.Add(`<nvidia_smi_log><gpu><mig_mode><current_mig>Enabled</current_mig></mig_mode></gpu></nvidia_smi_log>`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseSMI("file", text)
		if err != nil {
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.NotZero(t, typed.Line)
			require.Zero(t, r)
			return
		}
		require.Len(t, r.Health, len(r.Inventory.GPUs))
		_, _ = r.Inventory.Node("node")
		_ = r.Inventory.Tables()
	})
}
