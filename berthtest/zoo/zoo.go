// The program zoo plants faults in the core and in the packages that it reckons with, one at a
// time, and says which of them the tests catch.
//
//	go run ./berthtest/zoo                    # all of them: some 10 s of one core each
//	go run ./berthtest/zoo -run '^quota' -jobs 4
//
// It runs in the root of the module. A fault is a text of a file that is replaced by another,
// what is wrong with it, and the test that is to fail: a narrow one, named after what it looks
// at. The files of testdata list them, as [parse] reads them. Nothing is written to the tree: go
// test gets the changed file by -overlay. A survivor, a fault that does not compile or one whose
// text is gone ends it with status 1.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("zoo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	which := flags.String("run", "", "plant only the faults whose names match this regular expression")
	jobs := flags.Int("jobs", max(1, runtime.NumCPU()/2), "faults that are tried at a time")
	verbose := flags.Bool("v", false, "print what the test says of each fault that is caught")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	only, err := regexp.Compile(*which)
	if err != nil || *jobs < 1 || flags.NArg() > 0 {
		fmt.Fprintf(stderr, "zoo: -run takes a regular expression and -jobs a number from 1; there are no other arguments: %v\n", err)
		return 2
	}
	list, err := readAll(".")
	if err != nil {
		fmt.Fprintln(stderr, "zoo:", err)
		return 2
	}
	list = slices.DeleteFunc(list, func(f fault) bool { return !only.MatchString(f.name) })
	results := make([]result, len(list))
	began, slots := time.Now(), make(chan struct{}, *jobs)
	var done sync.WaitGroup
	var print sync.Mutex
	for i := range list {
		done.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = list[i].try(".")
			print.Lock()
			defer print.Unlock()
			fmt.Fprintf(stdout, "%-9s %4.0f s  %-32s %s %s\n", results[i].verdict, results[i].took.Seconds(), list[i].name, list[i].dir, list[i].test)
			if *verbose || results[i].verdict != caught {
				fmt.Fprintf(stdout, "    %s: %s\n%s", list[i].file, list[i].wrong, indent(results[i].said))
			}
		})
	}
	done.Wait()
	count := map[verdict]int{}
	for _, r := range results {
		count[r.verdict]++
	}
	fmt.Fprintf(stdout, "zoo: caught %d of %d, in %.0f s\n", count[caught], len(list), time.Since(began).Seconds())
	for i, r := range results {
		if r.verdict != caught {
			fmt.Fprintf(stdout, "zoo: %s: %s\n", r.verdict, list[i].name)
		}
	}
	if count[caught] < len(list) {
		return 1
	}
	return 0
}

// A fault is one that is planted.
type fault struct {
	name, wrong string
	file        string // below the root, with slashes
	old, new    string
	dir, test   string // the package, and the pattern of -run
}

// readAll reads the faults of testdata below a root, in the order of their files.
func readAll(root string) ([]fault, error) {
	files, err := filepath.Glob(filepath.Join(root, "berthtest", "zoo", "testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		return nil, cmp.Or(err, fmt.Errorf("there are no faults below %s: it runs in the root of the module", root))
	}
	var all []fault
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		list, err := parse(string(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// parse reads faults, each of them like this:
//
//	# quota-sum: usage is not added to the parents
//	file quota/charge.go
//	test ./quota TestUsage
//	<<<<
//	the old text, whole lines
//	====
//	the new text
//	>>>>
func parse(text string) (list []fault, err error) {
	for part := range strings.SplitSeq("\n"+text, "\n# ") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		head, body, ok1 := strings.Cut(part, "\n<<<<\n")
		old, rest, ok2 := strings.Cut(body, "====\n")
		text, _, ok3 := strings.Cut(rest, ">>>>")
		lines := strings.Split(head, "\n")
		name, wrong, ok4 := strings.Cut(lines[0], ": ")
		f := fault{name: name, wrong: wrong, old: old, new: text}
		for _, line := range lines[1:] {
			switch words := strings.Fields(line); {
			case len(words) == 2 && words[0] == "file":
				f.file = words[1]
			case len(words) == 3 && words[0] == "test":
				f.dir, f.test = words[1], words[2]
			}
		}
		if !ok1 || !ok2 || !ok3 || !ok4 || f.file == "" || f.test == "" || f.old == f.new {
			return nil, fmt.Errorf("no fault: %q", head)
		}
		list = append(list, f)
	}
	return list, nil
}

// plant is a file with the fault in it.
func (f *fault) plant(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.file)))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(b, []byte(f.old)); n != 1 {
		return nil, fmt.Errorf("its old text is %d times in %s, and not once", n, f.file)
	}
	return bytes.Replace(b, []byte(f.old), []byte(f.new), 1), nil
}

// A verdict is what became of a fault.
type verdict string

const (
	caught   verdict = "caught"
	survives verdict = "SURVIVES"
	gone     verdict = "GONE"   // the text to replace is not there
	broken   verdict = "BROKEN" // it does not compile in time, or no test ran
)

type result struct {
	verdict verdict
	said    string
	took    time.Duration
}

// most is how long a test may take with a fault in it: one that never ends is caught as well. To
// build it takes no longer than patience, or nothing is known of the fault.
const most, patience = time.Minute, 10 * time.Minute

// try runs the test of a fault with the fault in the tree.
func (f *fault) try(root string) (r result) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	planted, err := f.plant(root)
	if err != nil {
		return result{verdict: gone, said: err.Error()}
	}
	dir, err := os.MkdirTemp("", "zoo")
	if err != nil {
		return result{verdict: broken, said: err.Error()}
	}
	defer os.RemoveAll(dir)
	overlay, err := overlayOf(root, dir, f.file, planted)
	if err != nil {
		return result{verdict: broken, said: err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), most+patience)
	defer cancel()
	c := exec.CommandContext(ctx, "go", "test", "-overlay="+overlay, "-count=1", "-vet=off", "-timeout="+most.String(), "-run="+f.test, f.dir)
	c.Dir = root
	out, err := c.CombinedOutput()
	said := string(out)
	switch {
	case ctx.Err() != nil || strings.Contains(said, "[build failed]") || strings.Contains(said, "[setup failed]") || strings.Contains(said, "no tests to run"):
		return result{verdict: broken, said: said}
	case err == nil:
		return result{verdict: survives, said: said}
	}
	return result{verdict: caught, said: said}
}

// overlayOf writes what -overlay of go takes to have another text in the place of a file.
func overlayOf(root, dir, file string, text []byte) (string, error) {
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(dir, "planted.go")
	b, err := json.Marshal(map[string]map[string]string{"Replace": {path: replacement}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, cmp.Or(os.WriteFile(replacement, text, 0o600), os.WriteFile(overlay, b, 0o600))
}

// indent is the beginning of what a test says, below its fault.
func indent(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return "        " + strings.Join(lines[:min(len(lines), 20)], "\n        ") + "\n"
}
