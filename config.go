package berth

import (
	"fmt"
	"slices"
)

// A Config is what a core is made with. Only the policy changes later, by
// PolicyChanged; everything else that changes is a fact and comes as an event.
// The zero value is valid: a flat fleet with the default limits and policy.
type Config struct {
	// Levels names the levels of the fleet's topology between the fleet itself
	// and its nodes, from the widest to the narrowest: "spine", "leaf". Every
	// node stands in one domain of each. "fleet" and "node" are taken.
	Levels []string `json:"levels,omitempty"`
	// Limits bound the core's memory.
	Limits Limits `json:"limits,omitzero"`
	// Policy is how the core decides.
	Policy Policy `json:"policy,omitzero"`
}

// Limits bound what the core holds. An event that would exceed one is refused
// with ErrLimit. Zero means the default.
type Limits struct {
	// Nodes in the fleet; default 65,536.
	Nodes int `json:"nodes,omitempty"`
	// Queues in the quota tree; default 16,384.
	Queues int `json:"queues,omitempty"`
	// Replicas, pending and placed, of all jobs together; default 2,097,152.
	Replicas int `json:"replicas,omitempty"`
	// Members of one replica; default 65,536.
	Members int `json:"members,omitempty"`
	// Groups of one job; default 64.
	Groups int `json:"groups,omitempty"`
}

// A Policy is how the core decides, as far as it can be chosen. Zero fields mean
// their defaults.
type Policy struct {
	// BindTimeout is how long a Bind may go unreported; default 2 minutes.
	BindTimeout Duration `json:"bindTimeout,omitempty"`
	// ReleaseTimeout is how long one attempt of a Release may go unreported;
	// default 1 minute.
	ReleaseTimeout Duration `json:"releaseTimeout,omitempty"`
	// ReleaseAttempts is how often a Release is given before its members are
	// presumed dead and their capacity free; default 3.
	ReleaseAttempts int `json:"releaseAttempts,omitempty"`
	// RetryBackoff is how long a replica waits after its first failed Bind, twice
	// as long after the second, and so on up to MaxRetryBackoff; defaults
	// 5 seconds and 5 minutes.
	RetryBackoff    Duration `json:"retryBackoff,omitempty"`
	MaxRetryBackoff Duration `json:"maxRetryBackoff,omitempty"`
	// PassBudget bounds the placement attempts of one pass; the rest goes on in
	// the next. Default 10,000.
	PassBudget int `json:"passBudget,omitempty"`
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Nodes, 65_536)
	setDefault(&l.Queues, 16_384)
	setDefault(&l.Replicas, 2_097_152)
	setDefault(&l.Members, 65_536)
	setDefault(&l.Groups, 64)
	return l
}

func (p Policy) withDefaults() Policy {
	setDefault(&p.BindTimeout, 2*Minute)
	setDefault(&p.ReleaseTimeout, Minute)
	setDefault(&p.ReleaseAttempts, 3)
	setDefault(&p.RetryBackoff, 5*Second)
	setDefault(&p.MaxRetryBackoff, max(5*Minute, p.RetryBackoff))
	setDefault(&p.PassBudget, 10_000)
	return p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c *Config) check() *Error {
	for i, name := range c.Levels {
		if err := checkName(name); err != nil {
			return err.in(index("levels", i))
		}
		if name == levelFleet || name == levelNode || slices.Contains(c.Levels[:i], name) {
			return refuse(ErrDuplicate, index("levels", i), fmt.Sprintf("the level %q is taken", name))
		}
	}
	if len(c.Levels) > maxLevels {
		return refuse(ErrLimit, "levels", fmt.Sprintf("%d levels; the most is %d", len(c.Levels), maxLevels))
	}
	if err := c.Limits.check(); err != nil {
		return err.in("limits")
	}
	return c.Policy.check().in("policy")
}

func (l *Limits) check() *Error {
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"nodes", l.Nodes, 1 << 20},
		{"queues", l.Queues, 1 << 20},
		{"replicas", l.Replicas, 1 << 28},
		{"members", l.Members, 1 << 20},
		{"groups", l.Groups, 1 << 10},
	} {
		if f.value < 0 || f.value > f.most {
			return refuse(ErrInvalid, f.name, fmt.Sprintf("%d is outside 0..%d", f.value, f.most))
		}
	}
	return nil
}

func (p *Policy) check() *Error {
	for _, f := range []struct {
		name  string
		value Duration
	}{
		{"bindTimeout", p.BindTimeout},
		{"releaseTimeout", p.ReleaseTimeout},
		{"retryBackoff", p.RetryBackoff},
		{"maxRetryBackoff", p.MaxRetryBackoff},
	} {
		if err := checkSpan(f.value); err != nil {
			return err.in(f.name)
		}
	}
	if p.ReleaseAttempts < 0 || p.ReleaseAttempts > maxOrdinal {
		return refuse(ErrInvalid, "releaseAttempts", fmt.Sprintf("%d is outside 0..%d", p.ReleaseAttempts, maxOrdinal))
	}
	if p.PassBudget < 0 {
		return refuse(ErrInvalid, "passBudget", fmt.Sprintf("is negative: %d", p.PassBudget))
	}
	if p.MaxRetryBackoff != 0 && p.MaxRetryBackoff < p.RetryBackoff {
		return refuse(ErrInvalid, "maxRetryBackoff", "is shorter than retryBackoff")
	}
	return nil
}
