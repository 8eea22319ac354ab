package dra

import (
	"strconv"

	"github.com/berth-sched/berth/internal/jsontext"
)

// A rule is a DeviceTaintRule with an effect: which devices it taints. Empty is any.
type rule struct {
	driver, pool, device string
	line                 int
}

// maxRules is more than a cluster has.
const maxRules = 1 << 14

// taintRule reads a DeviceTaintRule: the taint counts as one that is in the slice of each device
// that driver, pool and name select. https://kubernetes.io/docs/reference/kubernetes-api/resource/
func (r *Reader) taintRule(c *jsontext.Cursor) error {
	t, known := rule{line: c.Line()}, false
	var tainted raw
	selects, evaluated := false, true
	c.Object(func(key []byte) {
		switch string(key) {
		case "apiVersion":
			version := string(c.Bytes())
			known = version == "resource.k8s.io/v1alpha3" || version == "resource.k8s.io/v1beta2" || version == "resource.k8s.io/v1"
		case "spec":
			c.Object(func(key []byte) {
				switch string(key) {
				case "deviceSelector":
					selects = c.Kind() == '{'
					c.Object(func(key []byte) {
						switch string(key) {
						case "driver":
							t.driver = c.Text()
						case "pool":
							t.pool = c.Text()
						case "device":
							t.device = c.Text()
						case "deviceClassName":
							evaluated = c.Text() == "" && evaluated
						case "selectors":
							c.List(func(int) {
								evaluated = false
								c.Skip()
							})
						default:
							evaluated = false
							r.unread(c, key, "the selector of a DeviceTaintRule", " ")
						}
					})
				case "taint":
					r.taint(c, &tainted)
				default:
					r.unread(c, key, "the spec of a DeviceTaintRule", " ")
				}
			})
		default:
			r.unread(c, key, "a DeviceTaintRule", " kind metadata status ")
		}
	})
	c.End()
	switch {
	case c.Failed():
	case !known:
		r.skip(t.line, "a DeviceTaintRule of another version than resource.k8s.io/v1, v1beta2 and v1alpha3 is not read")
	case !tainted.Tainted: // which was told
	case !selects:
		r.skip(t.line, "a DeviceTaintRule without a selector taints no device")
	case !evaluated:
		r.skip(t.line, "a DeviceTaintRule that selects by a DeviceClass, by CEL or by something else that is not read is not evaluated: it taints no device here")
	case t.driver != "" && t.driver != Driver:
		r.skip(t.line, "a DeviceTaintRule is of devices of the driver ", strconv.Quote(t.driver[:min(len(t.driver), 60)]))
	case len(r.rules) == maxRules:
		c.Fail("more than %d DeviceTaintRules", maxRules)
	default:
		r.rules = append(r.rules, t)
	}
	return c.Err()
}

// applyRules taints devices. O(devices + rules), but for rules that name a device and no pool.
func (r *Reader) applyRules() {
	d := r.dump
	byPool, byName := map[string][]int{}, map[string][]int{}
	if len(r.rules) > 0 {
		for i := range d.Devices {
			byPool[d.Devices[i].Pool] = append(byPool[d.Devices[i].Pool], i)
			byName[d.Devices[i].Name] = append(byName[d.Devices[i].Name], i)
		}
	}
	all, pools := false, map[string]bool{}
	for _, t := range r.rules {
		found := false
		taint := func(at int) { d.Devices[at].Tainted, found = true, true }
		switch {
		case t.pool != "" && t.device != "":
			if at, is := d.byName[deviceKey{t.pool, t.device}]; is {
				taint(at)
			}
		case t.pool != "" && pools[t.pool], t.pool == "" && t.device == "" && all:
			continue // by a rule before
		case t.pool != "":
			pools[t.pool] = true
			for _, at := range byPool[t.pool] {
				taint(at)
			}
		case t.device != "":
			for _, at := range byName[t.device] {
				taint(at)
			}
			byName[t.device] = byName[t.device][:min(1, len(byName[t.device]))] // the others are done
		default:
			all = true
			for at := range d.Devices {
				taint(at)
			}
		}
		if !found {
			r.skip(t.line, "a DeviceTaintRule selects no device of the file")
		}
	}
}

// class reads a DeviceClass: what it says is for the scheduler of Kubernetes, and told.
func (r *Reader) class(c *jsontext.Cursor) error {
	c.Object(func(key []byte) {
		if string(key) != "spec" {
			r.unread(c, key, "a DeviceClass", " apiVersion kind metadata ")
			return
		}
		c.Object(func(key []byte) {
			switch string(key) {
			case "selectors":
				r.notEvaluated(c, "the CEL selectors of a DeviceClass are not evaluated: what is allocated counts")
			case "extendedResourceName":
				line, name := c.Line(), c.Text()
				r.skip(line, "the extended resource of a DeviceClass is not read: ", strconv.Quote(name[:min(len(name), 60)]))
			default:
				r.unread(c, key, "the spec of a DeviceClass", " config suitableNodes ")
			}
		})
	})
	c.End()
	return c.Err()
}
