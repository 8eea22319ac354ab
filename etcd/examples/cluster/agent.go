package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/berth-sched/berth"
)

// A box is a machine that is pretended: its GPUs, what runs there, and what its agent has to
// remember. It is a file of lines, one for each thing that happened, so it survives the agent as
// the programs of a real machine do.
type box struct {
	node berth.NodeID
	file *os.File

	term    int64
	carried map[berth.OrderID]bool
	runs    map[berth.JobID]happened
	ended   map[berth.JobID]happened
}

// A happened is one line of a box.
type happened struct {
	What        string            `json:"what"` // started, ended, told, term
	At          int64             `json:"at"`   // Unix milliseconds
	Term        int64             `json:"term,omitempty"`
	Order       berth.OrderID     `json:"order,omitempty"`
	Job         berth.JobID       `json:"job,omitempty"`
	Incarnation berth.Incarnation `json:"incarnation,omitempty"`
	GPUs        berth.GPUSet      `json:"gpus,omitempty"`
}

// openBox finds the box as it is.
func openBox(path string, node berth.NodeID) (*box, error) {
	b := &box{
		node: node, carried: map[berth.OrderID]bool{}, runs: map[berth.JobID]happened{}, ended: map[berth.JobID]happened{},
	}
	lines, err := readBox(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, h := range lines {
		b.take(h)
	}
	b.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return b, err
}

// readBox reads what happened; a last line that is torn did not.
func readBox(path string) ([]happened, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []happened
	for in := bufio.NewScanner(file); in.Scan(); {
		var h happened
		if json.Unmarshal(in.Bytes(), &h) == nil {
			list = append(list, h)
		}
	}
	return list, nil
}

func (b *box) take(h happened) {
	switch h.What {
	case "started":
		b.carried[h.Order] = true
		b.runs[h.Job] = h
	case "ended":
		b.ended[h.Job] = h
		delete(b.runs, h.Job)
	case "told":
		delete(b.ended, h.Job)
	case "term":
		b.term = h.Term
	}
}

func (b *box) note(h happened) {
	h.At = time.Now().UnixMilli()
	text, err := json.Marshal(h)
	if err == nil {
		_, err = b.file.Write(append(text, '\n')) // in one write: it is there whole, or torn at the end
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "box:", err)
		os.Exit(1)
	}
	b.take(h)
}

// runtimeOf is how long the program of a job runs: 1 to 4 s.
func runtimeOf(job berth.JobID) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(job))
	return time.Second + time.Duration(h.Sum32()%3000)*time.Millisecond
}

// runAgents is the process of the agents of some boxes.
func runAgents(dir string, replicas []string, nodes []string) error {
	var group sync.WaitGroup
	for _, node := range nodes {
		b, err := openBox(dir+"/"+node+".box", berth.NodeID(node))
		if err != nil {
			return err
		}
		c, err := newCaller(doorCerts(dir), "node/"+node, replicas)
		if err != nil {
			return err
		}
		group.Go(func() { b.agent(c) })
	}
	group.Wait()
	return nil
}

// agent tells the leader what happened, and does what it orders. After an outage, its own or the
// leader's, it registers again and reports all again that it knows of.
func (b *box) agent(leader *caller) {
	var have berth.OrderID
	var reports []berth.Event
	registered := false
	for {
		for job, h := range b.runs {
			if time.Since(time.UnixMilli(h.At)) > runtimeOf(job) {
				b.note(happened{What: "ended", Order: h.Order, Job: job, Incarnation: h.Incarnation, GPUs: h.GPUs})
			}
		}
		events := reports
		if !registered {
			gpus := slices.Repeat([]berth.GPU{{Product: "H100-80GB"}}, 8)
			events = []berth.Event{berth.NodeJoined{Node: berth.Node{ID: b.node, Domains: []string{"leaf"}, GPUs: gpus}}}
			for _, had := range []map[berth.JobID]happened{b.runs, b.ended} {
				for _, h := range had {
					events = append(events, berth.OrderReported{Order: h.Order, Outcome: berth.OutcomeDone})
				}
			}
		}
		var over []berth.JobID
		for job, h := range b.ended {
			events = append(events, berth.JobFinished{Job: job, Incarnation: h.Incarnation})
			over = append(over, job)
		}
		term, orders, err := leader.ask(agentPath(have), events)
		if err != nil || term < b.term {
			registered, have = false, 0
			time.Sleep(50 * time.Millisecond)
			continue
		}
		registered, reports = true, nil
		for _, job := range over {
			b.note(happened{What: "told", Job: job})
		}
		if term > b.term {
			b.note(happened{What: "term", Term: term})
			registered, have = false, 0 // another leader: all again
		}
		for _, bind := range orders {
			have = max(have, bind.ID)
			b.start(bind)
			reports = append(reports, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
		}
	}
}

// start carries out an order, unless it was.
func (b *box) start(bind berth.Bind) {
	if !b.carried[bind.ID] {
		b.note(happened{What: "started", Order: bind.ID, Job: bind.Job, Incarnation: bind.Incarnation, GPUs: bind.Members[0].GPUs, Term: b.term})
	}
}
