package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// A queueTold is a queue that the core has: of the ConfigMap, or of a namespace.
type queueTold struct {
	queue      quota.Queue
	configured bool
}

func (c *Cluster) isConfig(key Key) bool {
	return key.Name != "" && key == Key{c.options.ConfigMap.Namespace, c.options.ConfigMap.Name}
}

func (c *Cluster) setQueue(q quota.Queue, configured bool) {
	if was, is := c.queues[q.Name]; !is || !reflect.DeepEqual(was.queue, q) {
		c.tell(berth.QueueSet{Queue: q})
		for key, g := range c.gangs { // each by itself
			if g.told == nil {
				c.dirtyGangs[key] = true
			}
		}
	}
	c.queues[q.Name] = queueTold{q, configured}
}

// tellConfig tells queues and policy. A ConfigMap in which something is wrong changes nothing.
func (c *Cluster) tellConfig() {
	if !c.configChanged {
		return
	}
	c.configChanged = false
	object := Object{"ConfigMap", Key{c.options.ConfigMap.Namespace, c.options.ConfigMap.Name}}
	var queues []quota.Queue
	policy, told := c.options.Policy, false
	if c.configMap != nil {
		findings := list{object: object}
		c.parseConfig(&findings, &queues, &policy)
		c.found(findings)
		if findings.blocks() {
			return
		}
		_, told = c.configMap.Data["policy"]
	} else {
		c.found(list{object: object})
	}
	if _, is := c.queues[OthersQueue]; !is {
		c.setQueue(quota.Queue{Name: OthersQueue}, true)
	}
	if told || c.policyTold != nil {
		if policy = perClaim(policy); c.policyTold == nil || !reflect.DeepEqual(*c.policyTold, policy) {
			c.tell(berth.PolicyChanged{Policy: policy})
			c.policyTold = &policy
		}
	}
	named := map[berth.QueueID]bool{OthersQueue: true}
	for _, q := range queues {
		named[q.Name] = true
		c.setQueue(q, true)
	}
	var gone []berth.QueueID
	for name, q := range c.queues {
		if q.configured && !named[name] {
			gone = append(gone, name)
		}
	}
	slices.SortFunc(gone, func(a, b berth.QueueID) int { // children first
		return cmp.Or(cmp.Compare(c.depth(b), c.depth(a)), strings.Compare(string(a), string(b)))
	})
	for _, name := range gone {
		q := c.queues[name]
		if slices.ContainsFunc(slices.Collect(maps.Values(c.jobs)), func(g *gang) bool { return g.told.job.Queue == name }) {
			q.configured = false // it stays for the jobs that it has, as that of a namespace
			c.queues[name] = q
			continue
		}
		delete(c.queues, name)
		c.tell(berth.QueueRemoved{Queue: name})
	}
}

// parseConfig reads the ConfigMap, strictly: a field that is not known is an error.
func (c *Cluster) parseConfig(findings *list, queues *[]quota.Queue, policy *berth.Policy) {
	wrong := func(field string, err error) { findings.block("data."+field, "%v", err) }
	if text, is := c.configMap.Data["queues"]; is {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			wrong("queues", err)
		}
		seen := map[berth.QueueID]bool{}
		for i, one := range list {
			q, err := berth.DecodeQueue(one)
			switch {
			case err != nil:
				wrong(fmt.Sprintf("queues[%d]", i), err)
			case seen[q.Name]:
				wrong(fmt.Sprintf("queues[%d]", i), fmt.Errorf("%q is there twice", q.Name))
			}
			seen[q.Name] = true
			*queues = append(*queues, q)
		}
	}
	if text, is := c.configMap.Data["policy"]; is {
		p, err := berth.DecodePolicy([]byte(text))
		if err != nil {
			wrong("policy", err)
		}
		*policy = p
	}
}

// depth is how many queues are above a queue.
func (c *Cluster) depth(name berth.QueueID) (above int) {
	for q := c.queues[name].queue; q.Parent != "" && above < len(c.queues); above++ {
		q = c.queues[q.Parent].queue
	}
	return above
}
