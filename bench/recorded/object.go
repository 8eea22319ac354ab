package recorded

import (
	"slices"
	"strings"
	"time"

	"github.com/berth-sched/berth/internal/jsontext"
)

// An object is a Node or a Pod, as far as it is read. The fields are those of the API of
// Kubernetes, https://kubernetes.io/docs/reference/kubernetes-api/. Of lists stands here what comes
// of all their elements, so that an object takes no more memory than its text.
type object struct {
	kind, name, namespace string
	created               time.Time
	labels                map[string]string // those that say something of GPUs
	owner                 string            // kind and UID of what makes gangs, or nothing
	node                  string
	selector              map[string]string // as labels
	containers            []container       // those that ask for something, in their order
	claims                []named
	phase                 string
	started               time.Time
	capacity              []resource
	parts, running        int       // containers with a status, and those that have not ended
	finished              time.Time // the last of the others
	changed, latest       time.Time // the last transition of a condition, and all that is told of time
	made                  []named   // claims that were made for it
}

// A container asks for resources.
type container struct {
	init      bool // it comes before the others
	ends      bool // before the others start
	resources []resource
}

// A resource is an amount of a device plugin's.
type resource struct{ name, amount string }

// A named is a resource claim by its name in a pod.
type named struct{ name, claim string }

// objectOf reads a Node or a Pod.
func objectOf(c *jsontext.Cursor, kind string) (*object, error) {
	o := &object{kind: kind}
	c.Object(func(key []byte) {
		switch string(key) {
		case "metadata":
			c.Object(func(key []byte) { o.metadata(c, key) })
		case "spec":
			c.Object(func(key []byte) { o.spec(c, key) })
		case "status":
			c.Object(func(key []byte) { o.status(c, key) })
		}
	})
	return o, c.Err()
}

func (o *object) metadata(c *jsontext.Cursor, key []byte) {
	switch string(key) {
	case "name":
		o.name = c.Text()
	case "namespace":
		o.namespace = c.Text()
	case "creationTimestamp":
		o.created = o.time(c)
	case "labels":
		o.labels = labelsOf(c)
	case "ownerReferences":
		c.List(func(int) {
			var kind, uid string
			c.Object(func(key []byte) {
				switch string(key) {
				case "kind":
					kind = c.Text()
				case "uid":
					uid = c.Text()
				}
			})
			switch kind {
			case "ReplicaSet", "StatefulSet", "DaemonSet", "Node":
			default:
				if o.owner == "" {
					o.owner = kind + "/" + uid
				}
			}
		})
	}
}

func (o *object) spec(c *jsontext.Cursor, key []byte) {
	switch string(key) {
	case "nodeName":
		o.node = c.Text()
	case "nodeSelector":
		o.selector = labelsOf(c)
	case "containers":
		c.List(func(int) { o.container(c, false) })
	case "initContainers":
		c.List(func(int) { o.container(c, true) })
	case "resourceClaims":
		o.claims = namedOf(c, o.claims)
	}
}

func (o *object) status(c *jsontext.Cursor, key []byte) {
	switch string(key) {
	case "phase":
		o.phase = c.Text()
	case "startTime":
		o.started = o.time(c)
	case "capacity":
		o.capacity = resourcesOf(c, nil)
	case "containerStatuses":
		c.List(func(int) {
			o.parts++
			finished := o.finishedAt(c)
			if finished.IsZero() {
				o.running++
			}
			o.finished = later(o.finished, finished)
		})
	case "conditions":
		c.List(func(int) {
			c.Object(func(key []byte) {
				switch string(key) {
				case "lastTransitionTime":
					o.changed = later(o.changed, o.time(c))
				case "lastHeartbeatTime":
					o.time(c)
				}
			})
		})
	case "resourceClaimStatuses":
		o.made = namedOf(c, o.made)
	case "extendedResourceClaimStatus":
		c.Object(func(key []byte) {
			if string(key) == "resourceClaimName" {
				o.claims = append(o.claims, named{claim: c.Text()})
			}
		})
	}
}

// container reads what a container asks for.
func (o *object) container(c *jsontext.Cursor, before bool) {
	one := container{init: before, ends: before}
	c.Object(func(key []byte) {
		switch string(key) {
		case "restartPolicy":
			one.ends = c.Text() != "Always" && before
		case "resources":
			c.Object(func(key []byte) {
				if string(key) == "requests" || string(key) == "limits" {
					one.resources = resourcesOf(c, one.resources)
				}
			})
		}
	})
	if len(one.resources) > 0 {
		o.containers = append(o.containers, one)
	}
}

// finishedAt reads when a container ended, from its status.
func (o *object) finishedAt(c *jsontext.Cursor) (at time.Time) {
	c.Object(func(key []byte) {
		if string(key) != "state" {
			return
		}
		c.Object(func(key []byte) {
			if string(key) != "terminated" {
				return
			}
			c.Object(func(key []byte) {
				if string(key) == "finishedAt" {
					at = o.time(c)
				}
			})
		})
	})
	return at
}

// time reads an instant, and notes the latest.
func (o *object) time(c *jsontext.Cursor) time.Time {
	line := c.Text()
	if line == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, line)
	if err != nil {
		c.Fail("not an instant: %.40q", line)
	}
	o.latest = later(o.latest, at)
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// labelsOf reads the labels that say something of GPUs.
func labelsOf(c *jsontext.Cursor) map[string]string {
	var labels map[string]string
	c.Object(func(key []byte) {
		switch string(key) {
		case productLabel, amdLabel, countLabel, replicasLabel, sharingLabel:
			if labels == nil {
				labels = map[string]string{}
			}
			labels[string(key)] = c.Text()
		}
	})
	return labels
}

// resourcesOf adds the resources that are not of Kubernetes itself, by name.
func resourcesOf(c *jsontext.Cursor, list []resource) []resource {
	c.Object(func(key []byte) {
		if name := string(key); strings.Contains(name, "/") {
			list = append(list, resource{name, c.Text()})
		}
	})
	slices.SortStableFunc(list, func(a, b resource) int { return strings.Compare(a.name, b.name) })
	return list
}

// namedOf adds claims that have names.
func namedOf(c *jsontext.Cursor, list []named) []named {
	c.List(func(int) {
		var one named
		c.Object(func(key []byte) {
			switch string(key) {
			case "name":
				one.name = c.Text()
			case "resourceClaimName":
				one.claim = c.Text()
			}
		})
		if one != (named{}) {
			list = append(list, one)
		}
	})
	return list
}

// claimNames are those of a pod's resource claims: its own, or those that were made of templates or
// of resources for it.
func (o *object) claimNames() (names []string) {
	for _, c := range o.claims {
		name := c.claim
		for _, made := range o.made {
			if name == "" && made.name == c.name {
				name = made.claim
			}
		}
		names = append(names, name)
	}
	return names
}
