package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
)

// The policy of preemption: which rules, when it pays, and how often.

func (a *arguments) preemption() berth.Preemption {
	p := berth.Preemption{
		MinRuntime: a.span("min-run"), CheckpointTimeout: a.span("checkpoint-timeout"),
		MaxRatio: a.integer("max-ratio", 0), Cooldown: a.spanOrOff("cooldown"),
		GuaranteeWithin: a.spanOrOff("guarantee-within"), MaxMinRuntime: a.spanOrOff("max-min-run"), StopUnsaved: a.yes("stop-unsaved"),
		RateLimit: a.rate("rate"), QueueRateLimit: a.rate("queue-rate"),
		Gain: berth.GainPolicy{
			IgnoreCost: a.yes("ignore-cost"), Turn: a.spanOrOff("gain-turn"), WaitMilli: int(a.milli("gain-wait", 0)),
			Interactive: a.spanOrOff("gain-interactive"), LatencyCritical: a.spanOrOff("gain-latency-critical"),
			Queueing: a.spanOrOff("gain-queueing"),
		},
	}
	a.one("preemption", &p.Mode)
	for _, pair := range a.list("grace") {
		name, text, _ := strings.Cut(pair, ":")
		var class berth.Class
		if err := class.UnmarshalText([]byte(name)); err != nil {
			a.fail("grace=%s: %v", pair, err)
		}
		timeout, err := parseSpan(text)
		if err != nil {
			a.fail("grace=%s: %v", pair, err)
		}
		p.Grace = append(p.Grace, berth.Grace{Class: class, Timeout: timeout})
	}
	for _, pair := range a.list("queue-min-run") {
		name, text, _ := strings.Cut(pair, ":")
		least, err := parseSpan(text)
		if err != nil {
			a.fail("queue-min-run=%s: %v", pair, err)
		}
		p.Queues = append(p.Queues, berth.QueuePreemption{Queue: berth.QueueID(name), MinRuntime: least})
	}
	return p
}

// caps reads the caps of queues, as in research:jobs:10|research:user-gpus:8.
func (a *arguments) caps() (list []berth.QueueCaps) {
	for _, text := range a.list("caps") {
		parts := strings.Split(text, ":")
		if len(parts) != 3 {
			a.fail("caps=%s: not a queue, a word and a number", text)
		}
		many, err := strconv.Atoi(parts[2])
		if err != nil {
			a.fail("caps=%s: %v", text, err)
		}
		name := berth.QueueID(parts[0])
		at := slices.IndexFunc(list, func(c berth.QueueCaps) bool { return c.Queue == name })
		if at < 0 {
			at = len(list)
			list = append(list, berth.QueueCaps{Queue: name})
		}
		switch parts[1] {
		case "jobs":
			list[at].MaxJobs = many
		case "user-jobs":
			list[at].MaxJobsPerUser = many
		case "user-gpus":
			list[at].MaxGPUMilliPerUser = 1000 * int64(many)
		default:
			a.fail("caps=%s: jobs, user-jobs or user-gpus", text)
		}
	}
	return list
}

// budgets reads those of queues, in GPU-hours, as in
// research:100:0s..24h:stop|research:40:24h..48h.
func (a *arguments) budgets() (list []berth.Budget) {
	for _, text := range a.list("budgets") {
		parts := strings.Split(text, ":")
		if len(parts) < 2 {
			a.fail("budgets=%s: not a queue and GPU-hours", text)
			continue
		}
		hours, err := parseMilli(parts[1])
		if err != nil {
			a.fail("budgets=%s: %v", text, err)
		}
		b := berth.Budget{Queue: berth.QueueID(parts[0]), GPUMilliHours: hours}
		for _, part := range parts[2:] {
			from, until, period := strings.Cut(part, "..")
			if !period {
				if b.Stop = part == "stop"; !b.Stop {
					a.fail("budgets=%s: a period, as in 0s..24h, or stop", text)
				}
				continue
			}
			for _, bound := range []struct {
				text string
				at   *berth.Time
			}{{from, &b.From}, {until, &b.Until}} {
				if bound.text == "" {
					continue
				}
				span, err := parseSpan(bound.text)
				if err != nil {
					a.fail("budgets=%s: %v", text, err)
				}
				*bound.at = berth.Time(span)
			}
		}
		list = append(list, b)
	}
	return list
}

// spanOrOff reads a span, or off as -1.
func (a *arguments) spanOrOff(key string) berth.Duration {
	if text, ok := a.lookup(key); ok && text == "off" {
		return -1
	}
	return a.span(key)
}

// rate reads a rate limit, as in 3/1h.
func (a *arguments) rate(key string) berth.RateLimit {
	text, ok := a.lookup(key)
	if !ok {
		return berth.RateLimit{}
	}
	digits, span, _ := strings.Cut(text, "/")
	evictions, err := strconv.Atoi(digits)
	if err != nil {
		a.fail("%s=%s is not of the form 3/1h", key, text)
	}
	per, err := parseSpan(span)
	if err != nil {
		a.fail("%s=%s: %v", key, text, err)
	}
	return berth.RateLimit{Evictions: evictions, Per: per}
}

// lending says when GPUs that are held count as idle.
func (a *arguments) lending() berth.Lending {
	return berth.Lending{QuietMilli: a.integerOrOff("quiet"), QuietFor: a.spanOrOff("quiet-for")}
}

// integerOrOff reads a number, or off as -1.
func (a *arguments) integerOrOff(key string) int {
	if text, ok := a.lookup(key); ok && text == "off" {
		return berth.Off
	}
	return a.integer(key, 0)
}

// idle says when jobs leave GPUs idle, and what becomes of them, as in idle-action=stop.
func (a *arguments) idle() berth.IdlePolicy {
	p := berth.IdlePolicy{QuietMilli: a.integerOrOff("idle-quiet"), QuietFor: a.spanOrOff("idle-for"), Grace: a.spanOrOff("idle-grace")}
	if text, ok := a.lookup("idle-action"); ok {
		if err := p.Action.UnmarshalText([]byte(text)); err != nil {
			a.fail("idle-action=%s: %v", text, err)
		}
	}
	return p
}

// reportActivity tells how busy a replica is, in thousandths.
func reportActivity(s *Session, a *arguments) ([]berth.Event, error) {
	id, replica, err := parseReplica(a.word(0))
	if err != nil {
		return nil, err
	}
	e := berth.ActivityReported{Job: id, Replica: replica, Incarnation: s.incarnation(a, id, replica), ActiveMilli: a.number(1)}
	return one(e, a.finish(2))
}

func writeCheckpoint(s *Session, a *arguments) ([]berth.Event, error) {
	id, replica, err := parseReplica(a.word(0))
	if err != nil {
		return nil, err
	}
	e := berth.CheckpointWritten{Job: id, Replica: replica, Incarnation: s.incarnation(a, id, replica), At: berth.Time(a.span("at"))}
	return one(e, a.finish(1))
}
