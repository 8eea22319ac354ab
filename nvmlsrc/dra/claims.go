package dra

import (
	"strconv"

	"github.com/berth-sched/berth/internal/jsontext"
)

// claim reads a ResourceClaim.
func (r *Reader) claim(c *jsontext.Cursor) error {
	claim, known := Claim{Line: c.Line()}, false
	c.Object(func(key []byte) {
		switch string(key) {
		case "apiVersion":
			known = version(c)
		case "metadata":
			c.Object(func(key []byte) {
				switch string(key) {
				case "name":
					claim.Name = c.Text()
				case "namespace":
					claim.Namespace = c.Text()
				default:
					r.unread(c, key, "the metadata of a ResourceClaim", " uid resourceVersion creationTimestamp deletionTimestamp deletionGracePeriodSeconds annotations labels ownerReferences finalizers managedFields generateName generation selfLink ")
				}
			})
		case "spec":
			r.requests(c)
		case "status":
			r.status(c, &claim)
		default:
			r.unread(c, key, "a ResourceClaim", " kind ")
		}
	})
	c.End()
	key := [2]string{claim.Namespace, claim.Name}
	_, twice := r.dump.ofClaim[key]
	switch {
	case c.Failed():
	case !known:
		r.skip(claim.Line, otherVersion)
	case claim.Name == "":
		r.skip(claim.Line, "a ResourceClaim without a name is not read")
	case twice:
		r.skip(claim.Line, "a ResourceClaim is told again")
	default:
		r.dump.ofClaim[key] = len(r.dump.Claims)
		r.dump.Claims = append(r.dump.Claims, claim)
	}
	return c.Err()
}

// requests tells what of a spec is not evaluated: what is allocated counts.
func (r *Reader) requests(c *jsontext.Cursor) {
	c.Object(func(key []byte) {
		if string(key) != "devices" {
			r.unread(c, key, "the spec of a ResourceClaim", " ")
			return
		}
		c.Object(func(key []byte) {
			switch string(key) {
			case "requests":
				c.List(func(int) {
					c.Object(func(key []byte) { r.request(c, key) })
				})
			case "constraints":
				r.notEvaluated(c, "constraints among the devices of a claim are not evaluated")
			default:
				r.unread(c, key, "the devices of a ResourceClaim", " config ")
			}
		})
	})
}

func (r *Reader) request(c *jsontext.Cursor, key []byte) {
	switch string(key) {
	case "exactly":
		c.Object(func(key []byte) { r.request(c, key) })
	case "firstAvailable":
		r.notEvaluated(c, "the alternatives of a request (firstAvailable) are not evaluated: what is allocated counts")
	case "selectors":
		r.notEvaluated(c, "the CEL selectors of a request are not evaluated")
	case "tolerations":
		r.notEvaluated(c, "the tolerations of a request are not evaluated")
	case "capacity":
		r.notEvaluated(c, "the capacity that a request asks for is not evaluated")
	default:
		r.unread(c, key, "a request", " name deviceClassName allocationMode count adminAccess ")
	}
}

// notEvaluated tells of a list or an object that has something in it.
func (r *Reader) notEvaluated(c *jsontext.Cursor, reason string) {
	line, some := c.Line(), false
	switch c.Kind() {
	case '[':
		c.List(func(int) { some = true })
	case '{':
		c.Object(func([]byte) { some = true })
	default:
		c.Skip()
	}
	if some {
		r.skip(line, reason)
	}
}

func (r *Reader) status(c *jsontext.Cursor, claim *Claim) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "allocation":
			claim.Allocated = c.Kind() == '{'
			c.Object(func(key []byte) {
				if string(key) != "devices" {
					r.unread(c, key, "an allocation", " nodeSelector allocationTimestamp ")
					return
				}
				c.Object(func(key []byte) {
					if string(key) != "results" {
						r.unread(c, key, "the devices of an allocation", " config ")
						return
					}
					c.List(func(i int) {
						if i == maxResults {
							c.Fail("more than %d devices in an allocation", maxResults)
							return
						}
						r.result(c, claim)
					})
				})
			})
		case "reservedFor":
			c.List(func(int) { r.consumer(c, claim) })
		default:
			r.unread(c, key, "the status of a ResourceClaim", " devices ")
		}
	})
}

func (r *Reader) result(c *jsontext.Cursor, claim *Claim) {
	var result Result
	c.Object(func(key []byte) {
		switch string(key) {
		case "driver":
			result.Driver = c.Text()
		case "pool":
			result.Pool = c.Text()
		case "device":
			result.Device = c.Text()
		case "adminAccess":
			result.Admin = c.Bool()
		case "shareID":
			result.Part = c.Text() != "" || result.Part
		case "consumedCapacity":
			c.Object(func([]byte) { result.Part = true })
		default:
			r.unread(c, key, "a device of an allocation", " request tolerations bindingConditions bindingFailureConditions ")
		}
	})
	switch {
	case c.Failed():
	case result.Device == "" || result.Pool == "" || result.Driver == "":
		c.Fail("an allocation without driver, pool or device")
	default:
		claim.Results = append(claim.Results, result)
	}
}

// consumer reads for what a claim is reserved.
func (r *Reader) consumer(c *jsontext.Cursor, claim *Claim) {
	var name, resource string
	c.Object(func(key []byte) {
		switch string(key) {
		case "name":
			name = c.Text()
		case "resource":
			resource = c.Text()
		default:
			r.unread(c, key, "what a claim is reserved for", " apiGroup uid ")
		}
	})
	switch {
	case c.Failed():
	case name == "":
		c.Fail("a claim is reserved for something without a name")
	case resource != "pods":
		r.skip(c.Line(), "a claim that is reserved for something else than pods: ", strconv.Quote(resource[:min(len(resource), 40)]))
	default:
		claim.Pods = append(claim.Pods, name)
	}
}
