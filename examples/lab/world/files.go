package world

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/recorded"
	"github.com/berth-sched/berth/quota"
)

// A File is one that a visitor brought. It stays in the browser.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// FromFiles makes a scenario of files: a scenario, a topology file of Slurm, or the files of a
// cluster's own week as "berthbench week" takes them. The kind of a file shows in its text.
func FromFiles(files []File) (string, error) {
	var week recorded.Options
	var other *File
	for i := range files {
		f := &files[i]
		to := map[fileKind]*recorded.File{isJobs: &week.Jobs, isNodes: &week.Nodes, isTopology: &week.Topology, isShares: &week.Shares}[kindOf(f)]
		if to == nil {
			other = f
			continue
		}
		if to.Data != nil {
			return "", fmt.Errorf("%s and %s are files of one kind: open one of each kind", to.Name, f.Name)
		}
		*to = recorded.File{Name: f.Name, Data: strings.NewReader(f.Text)}
	}
	switch {
	case other != nil && len(files) == 1:
		return other.Text, nil
	case other != nil:
		return "", fmt.Errorf("%s is not of sacct, scontrol, sshare or kubectl, nor a log in the Standard Workload Format, nor a topology; open a scenario by itself", other.Name)
	case week.Topology.Data != nil && len(files) == 1:
		return ofTopology(week.Topology)
	case week.Jobs.Data == nil:
		return "", errors.New("there are no jobs among the files: the output of sacct, a log in the Standard Workload Format, or a dump of kubectl")
	}
	week.NodeGPUs, week.ProcessorsPerGPU = 8, 1
	w, err := recorded.Read(week)
	if err != nil {
		return "", err
	}
	return ofWeek(week.Jobs.Name, w)
}

type fileKind uint8

const (
	isScenario fileKind = iota
	isJobs
	isNodes
	isTopology
	isShares
)

// kindOf looks at the first line that says something.
func kindOf(f *File) fileKind {
	switch path.Ext(strings.TrimSuffix(f.Name, ".gz")) {
	case ".yaml", ".yml":
		return isTopology
	}
	first := ""
	for line := range strings.Lines(strings.TrimPrefix(f.Text, "\ufeff")) {
		if first = strings.TrimSpace(line); first != "" && !strings.HasPrefix(first, "#") {
			break
		}
	}
	switch {
	case strings.HasPrefix(first, "{"), strings.HasPrefix(first, ";"), strings.Contains(strings.ToUpper(first), "JOBID"), first != "" && strings.Trim(first, "-0123456789. \t") == "":
		return isJobs
	case strings.HasPrefix(first, "NodeName="):
		return isNodes
	case strings.HasPrefix(first, "SwitchName="), strings.HasPrefix(first, "BlockName="), strings.HasPrefix(first, "BlockSizes="):
		return isTopology
	case strings.Contains(first, "Account") && strings.Contains(first, "|"):
		return isShares
	}
	return isScenario
}

// ofWeek is a scenario of a week: every job comes at its instant, runs for as long as it did, and
// states that run time at its submission.
func ofWeek(name string, w *recorded.Week) (string, error) {
	if len(w.Jobs) == 0 {
		return "", fmt.Errorf("%s has no job that can be played: %s", name, notPlayed(w))
	}
	if len(w.Nodes) > maxFleet {
		return "", fmt.Errorf("%d nodes are more than a picture has, %d", len(w.Nodes), maxFleet)
	}
	var b strings.Builder
	asked := 0.0
	for i := range w.Jobs {
		asked += float64(w.Jobs[i].GPUs) * float64(w.Jobs[i].Runtime)
	}
	fmt.Fprintf(&b, "# The week of %s: %d jobs on %d GPUs in %d nodes, %s. They ask for %.0f %% of the GPU time of the fleet.\n",
		oneWord(name), len(w.Jobs), w.FleetGPUs(), len(w.Nodes), w.FleetSays, 100*asked/float64(w.FleetGPUs())/float64(w.Length))
	use := "weight"
	if w.Guaranteed {
		use = "guarantee"
	}
	fmt.Fprintf(&b, "# The share of an account, its %s here, is %s. Every job states its real run time.\n", use, w.SharesSay)
	if text := notPlayed(w); text != "" {
		fmt.Fprintf(&b, "# Not read, not played, or played as something that it was not: %s.\n", text)
	}
	if len(w.Levels) > 0 {
		fmt.Fprintf(&b, "config levels=%s\n", strings.Join(w.Levels, ","))
	}
	names := names{words: map[string]string{}, taken: map[string]bool{}}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		fmt.Fprintf(&b, "node %s gpus=%d product=%s", names.of("node", string(n.ID)), len(n.GPUs), oneWord(n.GPUs[0].Product))
		if n.Pool != "" {
			fmt.Fprintf(&b, " pool=%s", oneWord(n.Pool))
		}
		if len(n.Domains) > 0 {
			fmt.Fprintf(&b, " at=%s", oneWord(strings.Join(n.Domains, "/")))
		}
		b.WriteString("\n")
	}
	for _, q := range w.Queues() {
		fmt.Fprintf(&b, "queue %s weight=%d", names.of("queue", string(q.Name)), q.Weight)
		if w.Guaranteed {
			fmt.Fprintf(&b, " guarantee=gpu:%d", q.Guarantee[quota.GPUMilli]/1000)
		}
		b.WriteString("\n")
	}
	now, longest := berth.Time(0), berth.Hour
	for i := range w.Jobs {
		j := &w.Jobs[i]
		longest = max(longest, j.Runtime)
		if at := j.At - j.At%berth.Time(berth.Second); at > now {
			fmt.Fprintf(&b, "run %v\n", at.Sub(now))
			now = at
		}
		writeJob(&b, names, j)
	}
	fmt.Fprintf(&b, "run %v\n", max(berth.Time(0).Add(w.Length).Sub(now), 0)+min(longest, 2*berth.Day)) // what waited may run
	if _, err := parse(b.String()); err != nil {
		return "", fmt.Errorf("%s has %d jobs, and the lab has no room for so many (%w): take fewer days, or berthbench week", name, len(w.Jobs), err)
	}
	return b.String(), nil
}

func writeJob(b *strings.Builder, names names, j *recorded.Job) {
	spec := &j.Spec
	g := &spec.Groups[0]
	fmt.Fprintf(b, "job %s queue=%s", names.of("job", string(spec.ID)), names.of("queue", string(spec.Queue)))
	if len(spec.Groups) > 1 {
		for i := range spec.Groups {
			fmt.Fprintf(b, " group=g%d:%d:gpus=%d", i, spec.Groups[i].Members, spec.Groups[i].Claim.GPUs)
		}
	} else {
		fmt.Fprintf(b, " members=%d gpus=%d", g.Members, g.Claim.GPUs)
		if len(g.Selector.Pools) > 0 {
			fmt.Fprintf(b, " pool=%s", oneWordEach(g.Selector.Pools))
		}
		if len(g.Selector.Products) > 0 {
			fmt.Fprintf(b, " product=%s", oneWordEach(g.Selector.Products))
		}
	}
	if spec.Topology.Preferred != "" {
		fmt.Fprintf(b, " preferred=%s", spec.Topology.Preferred)
	}
	fmt.Fprintf(b, " runtime=%v\n", max(j.Runtime-j.Runtime%berth.Second, berth.Second))
}

func oneWordEach(list []string) string {
	var words []string
	for _, text := range list {
		words = append(words, oneWord(text))
	}
	return strings.Join(words, "|")
}

// names has the word of a scenario for each name of the files: no two of a kind have the same.
type names struct {
	words map[string]string // by kind and name
	taken map[string]bool   // by kind and word
}

func (n names) of(kind, name string) string {
	if word, known := n.words[kind+" "+name]; known {
		return word
	}
	word := cmp.Or(strings.NewReplacer("/", ".", "..", "._").Replace(oneWord(name)), kind)
	free := word
	for k := 2; n.taken[kind+" "+free]; k++ {
		free = fmt.Sprintf("%s~%d", word, k)
	}
	n.words[kind+" "+name], n.taken[kind+" "+free] = free, true
	return free
}

// notPlayed tells what is not read of the files, or not played, or as something that it was not.
func notPlayed(w *recorded.Week) string {
	var parts []string
	for _, s := range w.Skipped {
		s.File = oneWord(s.File)
		parts = append(parts, s.String())
	}
	return strings.Join(parts, "; ")
}

// maxFleet is the largest number of nodes of a fleet: no picture shows more.
const maxFleet = 4096

// ofTopology is a scenario on the fleet of a topology file of Slurm: topology.conf or, by its
// name, topology.yaml. The file does not tell what GPUs there are, so each node has 8 H100.
func ofTopology(file recorded.File) (string, error) {
	f, err := recorded.ReadTopology(file)
	if err != nil {
		return "", err
	}
	if len(f.Nodes) == 0 || len(f.Nodes) > maxFleet {
		return "", fmt.Errorf("%s has %d nodes; a picture has at least 1 and at most %d", file.Name, len(f.Nodes), maxFleet)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The fleet of %s, with 8 GPUs a node.\nconfig levels=%s\n", oneWord(file.Name), strings.Join(f.Levels, ","))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		where := strings.Join(n.Path, "/")
		if oneWord(n.Name) != n.Name || oneWord(where) != where || strings.Count(where, "/") != len(n.Path)-1 {
			return "", fmt.Errorf("%s: the name of node %q or of a domain of it cannot be said in a script", file.Name, n.Name)
		}
		fmt.Fprintf(&b, "node %s at=%s\n", n.Name, where)
	}
	b.WriteString("queue research\nqueue product\nrun 6h\n")
	return b.String(), nil
}

// oneWord is a text without what ends a word of a script.
func oneWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '=' || r == '|' || r == '\u007f' {
			return -1
		}
		return r
	}, text)
}
