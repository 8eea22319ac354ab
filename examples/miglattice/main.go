// The program miglattice draws how a GPU divides: the sets of MIG instances that can
// exist together, and what one step leads to, for a person to read.
//
//	go run ./examples/miglattice -list
//	go run ./examples/miglattice -product H100-80GB -o lattice.svg
//	go run ./examples/miglattice -product H100-80GB -profiles 1g.10gb,1g.20gb,3g.40gb -format text
//
// An H100 has 2,319 layouts, more than an eye can take in. So layouts that differ only
// in where their instances lie are drawn once, and unless told otherwise only with the
// plain profiles of each size. The exit status is 1 if something went wrong, and 2 if
// the program was not asked properly.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/mig"
)

func main() {
	os.Exit(flagline.Status("miglattice", run(os.Args[1:], os.Stdout), os.Stderr))
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("miglattice", flag.ContinueOnError)
	name := flags.String("product", "H100-80GB", "the product to draw")
	profiles := flags.String("profiles", "", "the profiles to draw, with commas between (default: the plain one of each size)")
	all := flags.Bool("all", false, "draw all profiles of the product")
	format := flags.String("format", "svg", "svg for a browser or a book, text for a terminal, dot for Graphviz")
	output := flags.String("o", "-", "the file to write; - is standard output")
	list := flags.Bool("list", false, "list the products and their profiles, and draw nothing")
	if err := flagline.Parse(flags, args, stdout, ""); err != nil {
		return err
	}
	if *list {
		return listProducts(stdout)
	}
	draw, ok := map[string]func(io.Writer, *graph){"svg": writeSVG, "text": writeText, "dot": writeDot}[*format]
	if !ok {
		return flagline.Misused("there is no format %q; there are svg, text and dot", *format)
	}
	product, err := findProduct(*name)
	if err != nil {
		return err
	}
	chosen, err := choose(product, *profiles, *all)
	if err != nil {
		return err
	}
	g, err := newGraph(product, chosen)
	if err != nil {
		return err
	}
	var drawing bytes.Buffer
	draw(&drawing, g)
	if *output == "-" {
		_, err = stdout.Write(drawing.Bytes())
		return err
	}
	return os.WriteFile(*output, drawing.Bytes(), 0o644)
}

func listProducts(w io.Writer) error {
	for _, product := range mig.Products() {
		if _, err := fmt.Fprintf(w, "%-13s %-10s %s\n", product.Name, product.Confidence(), profileNames(product)); err != nil {
			return err
		}
	}
	return nil
}

// findProduct looks a product up, in whatever case its name is written.
func findProduct(name string) (mig.Product, error) {
	var known []string
	for _, product := range mig.Products() {
		if strings.EqualFold(product.Name, name) {
			return product, nil
		}
		known = append(known, product.Name)
	}
	return mig.Product{}, flagline.Misused("there is no product %q; there are %s", name, strings.Join(known, ", "))
}

// choose returns the profiles to draw, in the product's order: all, those that the list
// names, or the classic ones.
func choose(product mig.Product, list string, all bool) ([]mig.Profile, error) {
	switch {
	case all && list != "":
		return nil, flagline.Misused("-all and -profiles exclude each other")
	case all:
		return product.Profiles, nil
	case list == "":
		return classic(product), nil
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	var chosen []mig.Profile
	for _, profile := range product.Profiles {
		if name := profile.Name.String(); wanted[name] {
			chosen = append(chosen, profile)
			delete(wanted, name)
		}
	}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); wanted[name] {
			return nil, flagline.Misused("%s has no profile %q; it has %s", product.Name, name, profileNames(product))
		}
	}
	return chosen, nil
}

// classic returns the profiles that a GPU had from the start: of each number of compute
// slices the plain one with the least memory. The others take the same places with
// more engines or more memory, and multiply the layouts without changing the picture.
// Of a GPU whose partitions are all alike it returns all profiles: they do not mix.
func classic(product mig.Product) []mig.Profile {
	if product.Uniform {
		return product.Profiles
	}
	var chosen []mig.Profile
	for _, profile := range product.Profiles {
		if profile.Name.Attribute != mig.AttributePlain {
			continue
		}
		last := len(chosen) - 1
		if last < 0 || chosen[last].ComputeSlices != profile.ComputeSlices {
			chosen = append(chosen, profile)
		} else if profile.MemorySlices < chosen[last].MemorySlices {
			chosen[last] = profile
		}
	}
	return chosen
}

func profileNames(product mig.Product) string {
	var names []string
	for _, profile := range product.Profiles {
		names = append(names, profile.Name.String())
	}
	return strings.Join(names, ", ")
}
