package tidy

import (
	"fmt"
	"slices"
	"strings"
)

// mayImport says why a package of the module, given as a path below it, may not
// import the other; the empty string means that it may.
func mayImport(from, path string) string {
	target, ours := below(path)
	if ours && slices.ContainsFunc(upper, func(folder string) bool { return within(target, folder) }) {
		return mayImportUpper(from, target)
	}
	switch {
	case forTests[from]:
		return ""
	case ours && forTests[target]:
		return fmt.Sprintf("imports %s, which is for tests alone", target)
	}
	siblings, decides := siblings(from)
	if _, reads := readers[from]; reads || !decides && !within(from, "internal") {
		return "" // the upper floor imports what it likes
	}
	if ours {
		_, reads := readers[target]
		if within(target, "internal") && !reads || slices.Contains(siblings, target) {
			return ""
		}
		return fmt.Sprintf("imports its sibling %s against the arrows", display(target))
	}
	if pure[path] || from == decoder && path == "reflect" {
		return ""
	}
	for _, allowed := range thirdParty {
		if path == allowed || strings.HasPrefix(path, allowed+"/") {
			return ""
		}
	}
	return fmt.Sprintf("imports %q, which is not on the list of pure packages", path)
}

// mayImportUpper is mayImport for a target on the upper floor: only bench, examples and
// the module in etcd look sideways, others no further than their
// own folder.
func mayImportUpper(from, target string) string {
	folder, _, _ := strings.Cut(target, "/")
	if within(from, folder) || within(from, "bench") || within(from, "examples") || within(from, "etcd") || within(from, "kube") {
		return ""
	}
	return fmt.Sprintf("imports %s, which is for bench and examples alone", target)
}

func display(path string) string {
	if path == "" {
		return "the root"
	}
	return path
}
