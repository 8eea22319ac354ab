package workload

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
)

// GenAISource says where the files that GenAI reads are published.
const GenAISource = "it is cluster-trace-v2026-GenAI of https://github.com/alibaba/clusterdata"

// The files of the trace that GenAI reads.
const (
	GenAIDuty     = "pod_gpu_duty_cycle_anon.tar.gz"
	GenAIMemory   = "pod_gpu_memory_used_bytes_anon.tar.gz"
	GenAIQueries  = "qps.tar.gz"
	GenAIQueue    = "queue_rt_raw_anon.tar.gz"
	GenAIRequests = "lora_request_trace.tar.gz"
)

// GenAIStep is the length of a sample of the trace.
const GenAIStep = 57 * berth.Second

// Bounds of a ServiceDay, far above those of the trace: 1,441 samples, 143 times as many with all
// pods, and 26,392 times of requests.
const (
	maxSamples    = 1 << 14
	maxPodSamples = 1 << 22
	maxTimes      = 1 << 20
)

// A ServiceDay is what the pods of an inference service did with their GPUs, in samples of one
// length.
type ServiceDay struct {
	Step    berth.Duration
	Samples int
	// Pods by ID.
	Pods []ServicePod
	// Execution is how long requests took, ascending. Nobody tells which pod had which.
	Execution []berth.Duration
	// Skipped says what was passed over.
	Skipped []Skip
}

// A ServicePod is one container with its GPU.
type ServicePod struct {
	ID string
	// Active has a value for each sample: the part of it in which the GPU worked, in
	// thousandths, or Unsampled.
	Active []int16
	// MemoryMiB is the most that the pod had of the GPU's memory.
	MemoryMiB int64
	// Requests by sample.
	Requests []ServiceRequest
}

// Unsampled is the activity of a pod in a sample that is not told.
const Unsampled = -1

// A ServiceRequest is what was counted of a pod in one sample: so many requests, and how long
// they were queued.
type ServiceRequest struct {
	Sample, Count int
	Queued        berth.Duration
}

// GenAI reads GenTD26, a day of an image-generation service of Alibaba, given the folder with
// its archives, each a CSV file in a tar that gzip compressed. The trace goes with Lin et al.,
// "Understanding Diffusion Model Serving in Production", SoCC 2025.
//
// What becomes of the columns:
//
//   - timestamp_anon: the sample. The first row of duty cycles is sample 0, and a sample has 57
//     s.
//   - pod_gpu_duty_cycle_anon: the part of the sample in which the GPU of a container worked, in
//     percent. A value above zero is at least a thousandth here.
//   - pod_gpu_memory_used_bytes_anon: the most of a container is kept.
//   - qps, "Generative Requests": a row is a container with requests in a sample. The values are
//     scaled; the least of all counts as one request. Other rows are passed over.
//   - queue_rt_raw_anon: how long the requests of a container in a sample were queued, in
//     milliseconds.
//   - lora_request_trace: exec_time_seconds of the requests with predict_status SUCCEED. They
//     are of other days and name no container.
//
// Rows of containers without a duty cycle are passed over. All samples are kept: O(rows), and
// two bytes for each sample of each pod.
func GenAI(dir string) (*ServiceDay, error) {
	g := &genAI{day: &ServiceDay{Step: GenAIStep}, pods: map[string]int{}}
	for _, part := range []struct {
		file string
		read func(*table)
	}{
		{GenAIDuty, g.duty}, {GenAIMemory, g.memory}, {GenAIQueries, g.queries}, {GenAIQueue, g.queue}, {GenAIRequests, g.requests},
	} {
		if err := readArchive(filepath.Join(dir, part.file), func(t *table) error {
			part.read(t)
			g.day.Skipped = append(g.day.Skipped, t.skips...)
			return t.err
		}); err != nil {
			return nil, err
		}
	}
	return g.finish(), nil
}

// readArchive reads the first CSV file of a compressed tar. Errors name the archive and the
// file.
func readArchive(file string, read func(*table) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := text(f)
	if err != nil {
		return noTable(file, err).err
	}
	for members := tar.NewReader(in); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			err = errors.New("the archive has no CSV file")
		}
		if err != nil {
			return noTable(file, err).err
		}
		// A Mac puts a file of its own before each, ._NAME.
		if name := path.Base(header.Name); strings.HasSuffix(name, ".csv") && !strings.HasPrefix(name, "._") {
			return read(readCSV(filepath.Join(file, name), members))
		}
	}
}

// genAI is a day in the making.
type genAI struct {
	day    *ServiceDay
	pods   map[string]int // by ID
	origin int64          // of sample 0, in milliseconds
	rates  [][]int64      // of the requests of each pod
	least  int64          // of all rates
}

// sample is that of a row.
func (g *genAI) sample(t *table, at column) int {
	since, step := t.thousandths(at)-g.origin, int64(g.day.Step)
	if t.err == nil && (since < 0 || since%step != 0 || since/step >= maxSamples) {
		t.refuse(at, fmt.Sprintf("%s is not one of the %d instants, %d s apart, that begin with the first sample", clip(t.text(at)), maxSamples, step/1000))
	}
	if t.err != nil {
		return 0
	}
	return int(since / step)
}

// pod is that of a row, nil if it has no duty cycle.
func (g *genAI) pod(t *table, ip column) *ServicePod {
	at, known := g.pods[t.text(ip)]
	if !known {
		t.skip("a row of no container that has a duty cycle")
		return nil
	}
	return &g.day.Pods[at]
}

func (g *genAI) duty(t *table) {
	at, value, ip := t.column("timestamp_anon"), t.column("value"), t.column("container_ip")
	for first := true; t.next(); first = false {
		if first {
			g.origin = t.thousandths(at)
		}
		sample, percent := g.sample(t, at), t.thousandths(value)
		if percent > 100_000 {
			t.refuse(value, "is more than 100 percent")
		}
		id := t.common(ip)
		n, known := g.pods[id]
		if t.err != nil {
			return
		}
		if !known {
			n, g.pods[id] = len(g.pods), len(g.pods)
			g.day.Pods = append(g.day.Pods, ServicePod{ID: id})
		}
		if g.day.Samples = max(g.day.Samples, sample+1); len(g.pods)*g.day.Samples > maxPodSamples {
			t.limit(fmt.Sprintf("%d containers in %d samples are more than %d together", len(g.pods), g.day.Samples, maxPodSamples))
			return
		}
		pod := &g.day.Pods[n]
		pod.extend(sample + 1)
		if pod.Active[sample] != Unsampled {
			t.refuse(at, "is a second sample of one instant")
			return
		}
		if pod.Active[sample] = int16((percent + 50) / 100); percent > 0 {
			pod.Active[sample] = max(pod.Active[sample], 1)
		}
	}
	if t.err == nil && len(g.pods) == 0 {
		t.err = &TraceError{File: t.file, Line: 1, Kind: ErrRow, Reason: "there is no sample"}
	}
	g.rates = make([][]int64, len(g.day.Pods))
}

// extend gives a pod so many samples, of which nothing is told yet.
func (p *ServicePod) extend(samples int) {
	p.Active = slices.Grow(p.Active, max(0, samples-len(p.Active)))
	for len(p.Active) < samples {
		p.Active = append(p.Active, Unsampled)
	}
}

func (g *genAI) memory(t *table) {
	value, ip := t.column("value"), t.column("container_ip")
	for t.next() {
		const most = 1 << 50
		whole, fraction, _ := strings.Cut(t.text(value), ".")
		bytes, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || bytes < 0 || bytes > most || strings.Trim(fraction, "0123456789") != "" {
			t.refuse(value, fmt.Sprintf("%q is no number of 0 to %d", clip(t.text(value)), int64(most)))
			return
		}
		if pod := g.pod(t, ip); pod != nil {
			pod.MemoryMiB = max(pod.MemoryMiB, (bytes+1<<20-1)>>20)
		}
	}
}

func (g *genAI) queries(t *table) {
	at, value, ip, kind := t.column("timestamp_anon"), t.column("value"), t.column("container_ip"), t.column("request_type")
	for t.next() {
		if t.text(kind) != "Generative Requests" {
			t.skip("a row of other requests than generative ones")
			continue
		}
		sample, rate := g.sample(t, at), t.thousandths(value)
		if t.err == nil && rate == 0 {
			t.refuse(value, "is zero")
		}
		if t.err != nil {
			return
		}
		if pod := g.pod(t, ip); pod != nil {
			pod.Requests = append(pod.Requests, ServiceRequest{Sample: sample})
			n := g.pods[pod.ID]
			g.rates[n] = append(g.rates[n], rate)
			if g.least == 0 || rate < g.least {
				g.least = rate
			}
		}
	}
	for n := range g.day.Pods {
		requests := g.day.Pods[n].Requests
		for i := range requests {
			requests[i].Count = int((g.rates[n][i] + g.least/2) / g.least)
		}
		slices.SortStableFunc(requests, func(a, b ServiceRequest) int { return cmp.Compare(a.Sample, b.Sample) })
	}
}

func (g *genAI) queue(t *table) {
	at, value, ip := t.column("timestamp_anon"), t.column("value"), t.column("container_ip")
	for t.next() {
		sample, queued := g.sample(t, at), t.thousandths(value)/1000
		if t.err != nil {
			return
		}
		pod := g.pod(t, ip)
		if pod == nil {
			continue
		}
		i, found := slices.BinarySearchFunc(pod.Requests, sample, func(r ServiceRequest, sample int) int { return cmp.Compare(r.Sample, sample) })
		if !found {
			t.skip("a queueing time without a request")
			continue
		}
		pod.Requests[i].Queued = berth.Duration(queued)
	}
}

func (g *genAI) requests(t *table) {
	status, seconds := t.column("predict_status"), t.column("exec_time_seconds")
	for t.next() {
		if t.text(status) != "SUCCEED" {
			t.skip("a request that did not succeed")
			continue
		}
		if len(g.day.Execution) == maxTimes {
			t.limit(fmt.Sprintf("there are more than %d requests", maxTimes))
			return
		}
		g.day.Execution = append(g.day.Execution, t.seconds(seconds))
	}
	slices.Sort(g.day.Execution)
}

// finish gives all pods as many samples, and their order.
func (g *genAI) finish() *ServiceDay {
	for n := range g.day.Pods {
		pod := &g.day.Pods[n]
		pod.extend(g.day.Samples)
	}
	slices.SortFunc(g.day.Pods, func(a, b ServicePod) int { return cmp.Compare(a.ID, b.ID) })
	return g.day
}
