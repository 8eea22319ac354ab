package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// A tres is what Slurm calls trackable resources, of a whole job.
type tres struct {
	cpuMilli, memoryMiB int64
	nodes, gpus         int
	// products are the types of GPUs, parted by "|"; profile is the type where it is
	// a MIG profile.
	products, profile string
	// types counts the types of GPUs; mixed: instances are among them, and not of one profile.
	types int
	mixed bool
}

// tres reads a value such as cpu=16,gres/gpu:a100=8,mem=64G,node=2. Resources that no
// core knows of, such as energy or licences, are passed over.
func (s *sacctRows) tres(c column) tres {
	var sum tres
	clear(s.seen)
	all, typed := int64(0), int64(0)
	for item := range strings.SplitSeq(s.text(c), ",") {
		if item == "" {
			continue
		}
		key, value, found := strings.Cut(item, "=")
		key = strings.ToLower(key)
		kind, isTyped := strings.CutPrefix(key, "gres/gpu:")
		twice := s.seen[key]
		s.seen[key] = true
		switch {
		case !found:
			s.refuse(c, fmt.Sprintf("%q is not of the form name=amount", clip(item)))
		case twice:
			s.refuse(c, fmt.Sprintf("%q is told twice", clip(key)))
		case key == "cpu":
			sum.cpuMilli = s.share(c, item, value, maxValue/1000) * 1000
		case key == "mem":
			sum.memoryMiB = s.memory(c, item, value)
		case key == "node":
			sum.nodes = int(s.share(c, item, value, maxJobGPUs))
		case key == "gres/gpu":
			all = s.share(c, item, value, maxJobGPUs)
		case isTyped:
			count := s.share(c, item, value, maxJobGPUs)
			if typed += count; count > 0 {
				sum.add(s, c, kind)
			}
		case !isKnownTRES(key):
			s.skip(fmt.Sprintf("the resource %q is not read", errtext.Short(key)))
		}
	}
	// The untyped amount counts the typed ones too, where both are there.
	if all = max(all, typed); all > maxJobGPUs {
		s.refuse(c, fmt.Sprintf("%d GPUs are more than %d", all, maxJobGPUs))
	}
	sum.gpus = int(all)
	return sum
}

// isKnownTRES reports whether Slurm has such a resource that no core knows of.
func isKnownTRES(key string) bool {
	kind, _, of := strings.Cut(key, "/")
	if of {
		return kind == "fs" || kind == "ic" || kind == "bb" || kind == "license"
	}
	return key == "billing" || key == "energy" || key == "pages" || key == "vmem"
}

// add notes a type of GPU. An allocation has what it was given, which need not be
// what it had asked for.
func (t *tres) add(s *sacctRows, c column, kind string) {
	s.checkName(c, kind)
	profile := kind[strings.LastIndexByte(kind, '_')+1:]
	if !isProfile(profile) {
		profile = ""
	}
	if t.types++; t.types > 1 && profile != t.profile {
		t.mixed = true
	}
	switch {
	case profile != "":
		t.profile = s.intern(profile)
	case c == s.allocated:
	default:
		if spelt := s.products[kind]; spelt != "" {
			kind = spelt
		}
		t.products = s.intern(strings.TrimPrefix(t.products+"|"+kind, "|"))
	}
}

func isProfile(name string) bool {
	_, err := mig.ParseProfileName(name)
	return err == nil
}

// share reads a whole number of a list.
func (s *sacctRows) share(c column, item, digits string, most int64) int64 {
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v < 0 || v > most {
		s.refuse(c, fmt.Sprintf("the amount of %q is no whole number of 0 to %d", clip(item), most))
		return 0
	}
	return v
}

// memory reads an amount such as 1.50T in MiB, rounded up. Without a unit it is MiB.
func (s *sacctRows) memory(c column, item, text string) int64 {
	number, shift := text, 10
	if text != "" {
		if at := strings.IndexByte("KMGTP", text[len(text)-1]); at >= 0 {
			number, shift = text[:len(text)-1], 10*at
		}
	}
	v, ok := parseThousandths(number)
	const most = int64(maxValue) * 1000
	if !ok || v > most<<10>>shift {
		s.refuse(c, fmt.Sprintf("the amount of %q is no memory of 0 to %d MiB", clip(item), int64(maxValue)))
		return 0
	}
	return divide(v<<shift, 1000<<10)
}
