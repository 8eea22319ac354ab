package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Key names an object within its kind.
type Key struct{ Namespace, Name string }

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

func (k Key) compare(l Key) int {
	return cmp.Or(strings.Compare(k.Namespace, l.Namespace), strings.Compare(k.Name, l.Name))
}

// An Object names an object of the cluster.
type Object struct {
	Kind string `json:"kind"`
	Key
}

func (o Object) String() string { return o.Kind + " " + o.Key.String() }

// A Finding is something of an object that could not be translated, or an event about it that the
// core refused. It is there until the object changes for the better.
type Finding struct {
	Object Object
	// Field as the API has it, such as spec.affinity.podAffinity.
	Field string
	// Reason in a sentence without a full stop.
	Reason string
	// Blocks: the gang waits for as long as this is so. Else it is placed without regard to it.
	Blocks bool
}

func (f Finding) String() string { return fmt.Sprintf("%v: %s: %s", f.Object, f.Field, f.Reason) }

// A list collects findings about one object.
type list struct {
	object Object
	all    []Finding
}

// block notes what keeps a gang waiting, and note what does not.
func (l *list) block(field, format string, args ...any) { l.add(true, field, format, args) }
func (l *list) note(field, format string, args ...any)  { l.add(false, field, format, args) }

func (l *list) add(blocks bool, field, format string, args []any) {
	l.all = append(l.all, Finding{l.object, field, fmt.Sprintf(format, args...), blocks})
}

func (l *list) blocks() bool {
	return slices.ContainsFunc(l.all, func(f Finding) bool { return f.Blocks })
}

// maxFindings bounds those of one object.
const maxFindings = 16

// found notes what is wrong with an object as it is now, in place of what was before.
func (c *Cluster) found(l list) {
	if len(l.all) == 0 {
		delete(c.findings, l.object)
		return
	}
	c.findings[l.object] = l.all[:min(len(l.all), maxFindings)]
}

// Findings lists what is not translated now, in order of objects.
func (c *Cluster) Findings() []Finding {
	objects := slices.SortedFunc(maps.Keys(c.findings), func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), a.Key.compare(b.Key))
	})
	var all []Finding
	for _, o := range objects {
		all = append(all, c.findings[o]...)
	}
	return all
}
