// The program inventory says what a machine has to schedule: its GPUs as NVML tells of
// them, how they reach each other and the NICs, how they divide, which processes use them, and how
// they do. It reads and changes nothing.
//
//	go run ./examples/inventory                           # a table, 100 columns wide
//	go run ./examples/inventory -format json -o node.json # what to tell berth
//	go run ./examples/inventory -format topo              # as nvidia-smi topo -m, to compare
//	go run ./examples/inventory -fake hgx-h100            # on a machine without GPUs
//
// Names and units are those of nvidia-smi: what "nvidia-smi -q", "topo -m" and
// "mig -lgip", "-lgipp" and "-lgi" print can be laid beside it. What the driver, the
// kernel or the user's rights leave open is listed at the end.
//
// The exit status is 1 if something went wrong, and 2 if the program was not asked
// properly.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/nvmlsrc"
)

func main() {
	os.Exit(flagline.Status("inventory", run(os.Args[1:], os.Stdout), os.Stderr))
}

// formats are the ways to say what was found.
var formats = map[string]func(io.Writer, *machine) error{
	"table": writeTable, "json": writeJSON, "topo": writeTopology,
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("inventory", flag.ContinueOnError)
	format := flags.String("format", "table", "what to write: table, json or topo")
	output := flags.String("o", "-", "the `file` to write; - is standard output")
	box := flags.String("fake", "", "simulate a `machine` instead of reading this one: "+strings.Join(nvmlsrc.FakeMachines(), ", "))
	library := flags.String("library", "", "the driver's `library`, where the loader does not find it")
	name := flags.String("node", "", "the `name` of the node (default: this host's, or the box's)")
	if err := flagline.Parse(flags, args, stdout, ""); err != nil {
		return err
	}
	if formats[*format] == nil {
		return flagline.Misused("there is no format %q; there are table, json and topo", *format)
	}
	source, err := open(*box, *library)
	if err != nil {
		return err
	}
	m, err := look(nameOf(*name, *box), source)
	if err = errors.Join(err, source.Close()); err != nil {
		return err
	}
	// Nothing is written before all of it is there, so that no file is left half done.
	var page bytes.Buffer
	if err := formats[*format](&page, m); err != nil {
		return err
	}
	if *output != "-" {
		return os.WriteFile(*output, page.Bytes(), 0o644)
	}
	_, err = stdout.Write(page.Bytes())
	return err
}

// open starts a session with the driver, or with a machine that is not there.
func open(box, library string) (*nvmlsrc.Source, error) {
	if box != "" {
		pretend, err := nvmlsrc.NewFakeMachine(box)
		if errors.Is(err, nvmlsrc.ErrUnknownMachine) {
			return nil, flagline.Misused("%v", err)
		}
		if err != nil {
			return nil, err
		}
		return pretend.Open()
	}
	source, err := nvmlsrc.Config{Library: library}.Open()
	if errors.Is(err, nvmlsrc.ErrNoDriver) {
		return nil, fmt.Errorf("%w\nTo see what there would be to see: -fake %s", err, strings.Join(nvmlsrc.FakeMachines(), ", or "))
	}
	return source, err
}

func nameOf(name, box string) string {
	if name != "" {
		return name
	}
	if box != "" {
		return box
	}
	host, err := os.Hostname()
	if err != nil {
		return "node"
	}
	return host
}

// A machine is all that there is to say.
type machine struct {
	name string
	nvmlsrc.Inventory
	health nvmlsrc.Reading
}

// look asks the driver for everything.
func look(name string, source *nvmlsrc.Source) (*machine, error) {
	m := &machine{name: name}
	var err error
	if m.Inventory, err = source.Inventory(); err != nil || len(m.GPUs) == 0 {
		return m, err
	}
	monitor, err := source.Monitor(nvmlsrc.MonitorConfig{GPUs: m.GPUs})
	if err != nil {
		return nil, err
	}
	m.health, err = monitor.Next(context.Background())
	return m, errors.Join(err, monitor.Close())
}

// gaps are the questions without an answer, each once.
func (m *machine) gaps() []string {
	var texts []string
	seen := map[string]bool{}
	for _, gaps := range [][]*nvmlsrc.Error{m.Gaps, m.health.Gaps} {
		for _, gap := range gaps {
			if text := gap.Error(); !seen[text] {
				seen[text] = true
				texts = append(texts, strings.TrimPrefix(text, "nvmlsrc: "))
			}
		}
	}
	return texts
}

// products counts the GPUs by product, in the order of their first.
func (m *machine) products() string {
	counts := map[string]int{}
	var names []string
	for i := range m.GPUs {
		name := product(&m.GPUs[i])
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", counts[name], name)
	}
	if len(names) == 0 {
		return "no GPUs"
	}
	return strings.Join(names, ", ")
}

func product(g *nvmlsrc.GPU) string {
	if g.Product == "" {
		return "unknown product"
	}
	return g.Product
}
