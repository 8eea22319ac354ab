package translate

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
)

// A claim is a ResourceClaim, and the pods that name it.
type claim struct {
	object *resourcev1.ResourceClaim
	had    int // holders that were told of
}

func (c *Cluster) upsertClaim(key Key, o *resourcev1.ResourceClaim) {
	cl := c.claims[key]
	if cl == nil {
		cl = &claim{}
	} else if !newer(cl.object, o) {
		return
	}
	c.unhold(key)
	cl.object = o
	c.claims[key] = cl
	for _, d := range heldBy(o) {
		c.held[d] = append(c.held[d], key)
		slices.SortFunc(c.held[d], Key.compare)
		c.deviceTouched(d)
	}
	c.claimTouched(key)
}

func (c *Cluster) deleteClaim(key Key) {
	c.unhold(key)
	delete(c.claims, key)
	delete(c.findings, Object{"ResourceClaim", key})
	c.claimTouched(key)
}

func (c *Cluster) unhold(key Key) {
	cl := c.claims[key]
	if cl == nil {
		return
	}
	for _, d := range heldBy(cl.object) {
		c.held[d] = slices.DeleteFunc(c.held[d], func(k Key) bool { return k == key })
		if len(c.held[d]) == 0 {
			delete(c.held, d)
		}
		c.deviceTouched(d)
	}
}

// claimTouched has a claim looked at again, and the gangs of its pods.
func (c *Cluster) claimTouched(key Key) {
	c.dirtyClaims[key] = true
	for pod := range c.users[key] { // each by itself
		if p := c.pods[pod]; p != nil {
			p.terms = nil
			c.dirtyGangs[p.gang] = true
		}
	}
	if s := c.seats[key]; s != nil {
		c.dirtyGangs[s.gang] = true
	}
}

// deviceTouched has the node of a device looked at again, as the device may be condemned once it is
// free, and the claims that have it, as one may wait for another.
func (c *Cluster) deviceTouched(key deviceKey) {
	if where, is := c.devices[key]; is {
		c.dirtyNodes[where.node] = true
	}
	c.touchHolders(key)
}

func (c *Cluster) touchHolders(key deviceKey) {
	for _, holder := range c.held[key] {
		c.dirtyClaims[holder] = true
	}
}

// heldBy lists the devices of the driver that a claim holds.
func heldBy(o *resourcev1.ResourceClaim) (all []deviceKey) {
	if o.Status.Allocation == nil {
		return nil
	}
	for _, r := range o.Status.Allocation.Devices.Results {
		if r.Driver == Driver && (r.AdminAccess == nil || !*r.AdminAccess) {
			all = append(all, deviceKey{r.Pool, r.Device})
		}
	}
	return all
}

// A holder is a claim of others that holds devices, as it is told.
type holder struct {
	id      berth.JobID
	node    string
	members []berth.MemberPlacement
}

// ours reports whether a claim has what this program gave it.
func (c *Cluster) ours(key Key) bool {
	s, cl := c.seats[key], c.claims[key]
	if s == nil || cl == nil {
		return false
	}
	at := slices.IndexFunc(s.Claims, func(a Allocation) bool { return a.Claim == key.Name })
	return at >= 0 && s.Claims[at].UID == cl.object.UID && (cl.object.Status.Allocation == nil || s.Claims[at].Is(cl.object.Status.Allocation))
}

// holding is what a claim of others holds, as the members of a job; nil: nothing, or on nodes or
// devices that are not known yet.
func (c *Cluster) holding(key Key) *holder {
	cl := c.claims[key]
	if cl == nil || c.ours(key) {
		return nil
	}
	findings := list{object: Object{"ResourceClaim", key}}
	defer func() { c.found(findings) }()
	var devices []device
	for _, d := range heldBy(cl.object) {
		where, known := c.devices[d]
		switch {
		case !known:
			findings.note("status.allocation", "it holds the device %s of the pool %s, which no slice has", d.name, d.pool)
			continue
		case len(c.held[d]) > 1:
			findings.note("status.allocation", "the device %s of the pool %s is held by %v", d.name, d.pool, c.held[d])
		}
		devices = append(devices, where)
	}
	if len(devices) == 0 {
		return nil
	}
	slices.SortFunc(devices, device.compare)
	h := &holder{node: devices[0].node}
	var whole berth.GPUSet
	for _, d := range devices {
		switch {
		case d.node != h.node:
			findings.note("status.allocation", "it holds devices of several nodes: those of the first count")
		case d.partition == (mig.Placement{}):
			whole |= 1 << d.gpu
		default:
			h.members = append(h.members, berth.MemberPlacement{Group: d.partition.Profile.String(), Node: berth.NodeID(d.node), GPUs: 1 << d.gpu, Instance: d.partition})
		}
	}
	slices.SortStableFunc(h.members, func(a, b berth.MemberPlacement) int { return strings.Compare(a.Group, b.Group) })
	for i := 1; i < len(h.members); i++ {
		if h.members[i].Group == h.members[i-1].Group {
			h.members[i].Index = h.members[i-1].Index + 1
		}
	}
	if whole != 0 {
		h.members = append(h.members, berth.MemberPlacement{Group: "gpus", Node: berth.NodeID(h.node), GPUs: whole})
	}
	return h
}

// endHolders tells which claims of others do not hold any more what they held.
func (c *Cluster) endHolders() {
	for _, key := range slices.SortedFunc(maps.Keys(c.dirtyClaims), Key.compare) {
		if was := c.holders[key]; was != nil {
			if now := c.holding(key); now == nil || !reflect.DeepEqual(now.members, was.members) {
				c.endHolder(key)
			}
		}
	}
}

func (c *Cluster) endHolder(key Key) {
	c.tell(berth.JobFinished{Job: c.holders[key].id, Incarnation: 1, Reason: "the claim is not allocated any more, or not as it was"})
	c.dropHolder(key)
}

func (c *Cluster) dropHolder(key Key) {
	h := c.holders[key]
	delete(c.holders, key)
	delete(c.holderOf, h.id)
	c.node(h.node).seats--
	c.dirtyNodes[h.node] = true
}

// beginHolders tells which claims of others hold devices.
func (c *Cluster) beginHolders() {
	for _, key := range take(c.dirtyClaims, Key.compare) {
		if c.holders[key] != nil {
			continue
		}
		h := c.holding(key)
		if h == nil || c.node(h.node).told == nil {
			continue
		}
		cl := c.claims[key]
		h.id = serial("claim "+key.String(), cl.object.UID, cl.had)
		cl.had++
		job := berth.Job{
			ID: h.id, Queue: OthersQueue, Tenant: berth.TenantID(key.Namespace),
			Class: berth.ClassLatencyCritical, NonPreemptible: true,
		}
		for i := range h.members {
			m := &h.members[i]
			if n := len(job.Groups); n > 0 && job.Groups[n-1].Name == m.Group {
				job.Groups[n-1].Members++
				continue
			}
			asks := berth.MIGInstance(m.Group)
			if m.Instance == (mig.Placement{}) {
				asks = berth.WholeGPUs(m.GPUs.Len())
			}
			job.Groups = append(job.Groups, berth.Group{Name: m.Group, Members: 1, Claim: asks})
		}
		since := cl.object.CreationTimestamp
		if at := cl.object.Status.Allocation.AllocationTimestamp; at != nil {
			since = *at
		}
		c.holders[key], c.holderOf[h.id] = h, key
		c.node(h.node).seats++
		for i := range h.members {
			c.inMode(&h.members[i])
		}
		c.tell(berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{
			Incarnation: 1, Started: berth.TimeOf(since.Time), Members: slices.Clone(h.members),
		}}})
	}
}

// An ask is what the claims of a pod ask for together.
type ask struct {
	gpus     int
	profile  string
	products []string
}

// maxDevices bounds what a request asks for; the API allows 32 devices a claim.
const maxDevices = 32

// read adds what a claim asks for.
func (a *ask) read(o *Options, cl *resourcev1.ResourceClaim, findings *list) {
	at := "resourceClaim " + errtext.Short(cl.Name)
	if len(cl.Spec.Devices.Constraints) > 0 {
		findings.block(at+": constraints", "constraints between devices are not kept")
	}
	for _, r := range cl.Spec.Devices.Requests {
		field := at + ": requests." + r.Name
		e := r.Exactly
		if e == nil {
			findings.block(field, "alternatives (firstAvailable) are not chosen from")
			continue
		}
		kind, known := o.kindOf(e.DeviceClassName)
		count := cmp.Or(e.Count, 1)
		switch {
		case !known:
			findings.block(field, "it is not known what a device of the class %q is", errtext.Short(e.DeviceClassName))
			continue
		case e.AdminAccess != nil && *e.AdminAccess:
			findings.block(field, "access for an administrator is not given")
			continue
		case e.AllocationMode != "" && e.AllocationMode != resourcev1.DeviceAllocationModeExactCount:
			findings.block(field, "the allocation mode %q is not done: ask for a count", errtext.Short(string(e.AllocationMode)))
			continue
		case e.Capacity != nil:
			findings.block(field, "capacity is not asked for by itself")
			continue
		case count < 0 || count > maxDevices:
			findings.block(field, "a count of %d is out of range", count)
			continue
		}
		profile := ""
		for _, s := range e.Selectors {
			if s.CEL == nil || !a.selector(s.CEL.Expression, &profile) {
				findings.block(field, "a CEL selector of a form that is not evaluated")
			}
		}
		switch {
		case kind == WholeGPU && profile == "":
			a.gpus += int(count)
		case profile == "":
			findings.block(field, "an instance of no profile: add the selector device.attributes[%q].profile == \"1g.10gb\"", Driver)
		case count != 1 || a.profile != "":
			findings.block(field, "a pod with several instances is not placed")
		default:
			a.profile = profile
		}
	}
}

// The forms of CEL selectors that are evaluated, joined by &&.
var (
	attribute = regexp.MustCompile(`^device\.attributes\[["']gpu\.nvidia\.com["']\]\.(profile|productName|type) == ["']([^"']+)["']$`)
	ofDriver  = regexp.MustCompile(`^device\.driver == ["']gpu\.nvidia\.com["']$`)
)

// selector reads a CEL selector. False: it is of another form.
func (a *ask) selector(expression string, profile *string) bool {
	for part := range strings.SplitSeq(expression, "&&") {
		part = strings.Join(strings.Fields(part), " ")
		if ofDriver.MatchString(part) {
			continue
		}
		m := attribute.FindStringSubmatch(part)
		if m == nil {
			return false
		}
		switch m[1] {
		case "profile":
			name, err := mig.ParseProfileName(m[2])
			if err != nil {
				return false
			}
			*profile = name.String()
		case "productName":
			if len(a.products) > 0 && a.products[0] != m[2] {
				return false
			}
			a.products = []string{m[2]}
		}
	}
	return true
}

// claim is the ask as a claim of the core.
func (a *ask) claim(findings *list) berth.Claim {
	switch {
	case a.profile != "" && a.gpus > 0:
		findings.block("spec.resourceClaims", "a pod with whole GPUs and an instance is not placed")
	case a.profile != "":
		return berth.MIGInstance(a.profile)
	}
	return berth.WholeGPUs(a.gpus)
}

// An Allocation is what a claim of a member is to have, or has.
type Allocation struct {
	Claim string    `json:"claim"`
	UID   types.UID `json:"uid"`
	// Devices in the order of the requests.
	Devices []Device `json:"devices"`
}

// A Device is an allocated device of the driver, for a request of the claim.
type Device struct{ Request, Pool, Name string }

// Is reports whether an allocation of the API has just these devices.
func (a *Allocation) Is(of *resourcev1.AllocationResult) bool {
	return slices.EqualFunc(a.Devices, of.Devices.Results, func(d Device, r resourcev1.DeviceRequestAllocationResult) bool {
		return r.Driver == Driver && d == Device{r.Request, r.Pool, r.Device}
	})
}

// allocationOf is what a claim has by now; false: nothing.
func allocationOf(o *resourcev1.ResourceClaim) (Allocation, bool) {
	a := Allocation{Claim: o.Name, UID: o.UID}
	if o.Status.Allocation == nil {
		return a, false
	}
	for _, r := range o.Status.Allocation.Devices.Results {
		a.Devices = append(a.Devices, Device{r.Request, r.Pool, r.Device})
	}
	return a, true
}

func (d deviceKey) String() string { return fmt.Sprintf("%s/%s", d.pool, d.name) }
