// The program lab opens a page on which the scheduling core runs in the browser: a fleet as a
// picture, jobs to submit, hardware to break, time to play forward and back.
//
//	go run ./examples/lab
//	go run ./examples/lab -export DIR
//
// The core is compiled to WebAssembly at the start, by the Go toolchain that runs this program,
// and runs unchanged in a worker of the page. Nothing leaves the browser. With -export the page is
// written as files that any web server can host; they weigh some 4 MB compressed.
//
// # What can be done there
//
//   - Open a preset, any script of the tests, a topology file of Slurm, or the files of your own
//     week (the same as for berthbench week); play it, step through it, or move the slider.
//     Time goes back as it goes forward, to the same bytes.
//   - Submit a job from the form, or do any line of script (package script) at the instant that is
//     shown. What the scenario had planned after it comes all the same; Undo takes it back.
//   - Select a job: why it waits, what would help, what it would take to start it; its victims, its
//     moves and the nodes kept for it are marked in the picture. Select a GPU: which members hold
//     it, and what stops when it fails. Fail it, break its node, cordon or drain it.
//   - See the GPUs at work beside those that are held, where jobs tell how busy they are. A GPU
//     that is lent has two colours: below the holder, which leaves it idle, and above the job that
//     runs over it. Have the holder be busy, and follow in the log how it gets its GPU back.
//   - Change quota and policy; or compare two policies on the same events.
//   - Copy a link, which holds the whole scenario; take the journal along, for examples/replay.
//
// Arrow keys move between GPUs and steps, space plays, and the picture is there as a table too.
//
// Package world plays scenarios, natively as well; worker is its way into the browser, page what is
// seen, and visit a scripted visitor, which CI runs.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/berth-sched/berth/bench/flagline"
)

func main() {
	os.Exit(flagline.Status("lab", run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	listen := flags.String("listen", "localhost:8128", "address to serve the page on; port 0 takes a free one")
	export := flags.String("export", "", "write the page to this folder instead")
	if err := flagline.Parse(flags, args, stdout, ""); err != nil {
		return err
	}
	const compiling = "lab: compiling the core to WebAssembly; the first time takes a minute"
	if *export != "" {
		fmt.Fprintln(stderr, compiling)
		return write(*export, stdout)
	}
	listener, err := net.Listen("tcp", *listen) // an address that is taken is known before the wait
	if err != nil {
		return err
	}
	defer listener.Close()
	fmt.Fprintln(stderr, compiling)
	files, err := site()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "lab: open http://%s/\n", listener.Addr())
	server := &http.Server{Handler: files, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}

// write exports the page to a folder.
func write(folder string, stdout io.Writer) error {
	files, err := site()
	if err != nil {
		return err
	}
	if err := files.write(folder); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "lab: wrote %d files, %.1f MB compressed, to %s\n", len(files), float64(files.size())/1e6, folder)
	return nil
}
