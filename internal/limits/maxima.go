package limits

// Bounds that keep every sum of valid amounts inside an int64, however many
// members are held: 2^32 is four million cores or four pebibytes on one node.
const (
	MaxAmount = 1 << 32
	// MaxIncarnation is the highest that may be told, so that there is room to count
	// on from it.
	MaxIncarnation = 1 << 30
	// MaxOrder is the ID of the order after which no pass begins. The pass that reaches it may give
	// some more, and a snapshot has as many again, so that every snapshot can be restored.
	MaxOrder = 1 << 62
	// MaxInstant is the last instant that the core takes, in milliseconds: after 73 million
	// years. The largest Time stands for never; no instant that is a few spans after such a one,
	// or twice as late, comes near it.
	MaxInstant = 1 << 61
	// MaxFuture is the last instant that the core may expect something at.
	MaxFuture   = MaxInstant << 1
	MaxAttempts = 1 << 30
	// MaxRequeueCaps is the most causes for which a job may cap how often it comes back.
	MaxRequeueCaps = 16
	MaxOrdinal     = 1 << 16
	// MaxSpan is in milliseconds: 278 years, which the standard library's durations hold.
	MaxSpan = 1 << 43
	// MaxKinds bounds the kinds of node that a caller can make. Nodes that are set aside
	// are kinds of their own, of which ends of reservations can make more, but never more
	// than there are nodes.
	MaxKinds = 4096
	// MaxReservedGangs bounds the work of a pass for gangs with a reservation.
	MaxReservedGangs = 256
	// MaxStretch is the largest that a policy may state: the turn of a job stays an instant.
	MaxStretch = 100
	// MaxQueuesOfPolicy is how many queues a list of a policy may name.
	MaxQueuesOfPolicy = 16_384
	// MaxGPUMilliHours is the largest budget: half a million GPUs for a year.
	MaxGPUMilliHours = 1 << 42
	// MaxRuntimeSamples bounds the run times that are remembered of a kind of job, and
	// MaxRuntimeKinds the kinds.
	MaxRuntimeSamples = 128
	MaxRuntimeKinds   = 4096
)

// LevelFleet and LevelNode are the implicit ends of every topology.
const (
	LevelFleet = "fleet"
	LevelNode  = "node"
	MaxLevels  = 16
)

// MaxSameLabels bounds the labels that are to have one value over a gang.
const MaxSameLabels = 8

// MaxParts bounds the parts of a gang, and MaxCopies the copies of all of them together.
const (
	MaxParts  = 64
	MaxCopies = 1024
)

// MaxAlternatives bounds the gangs that a job may run as, beside its own.
const MaxAlternatives = 7

// MaxDependencies bounds the jobs that one job waits for.
const MaxDependencies = 1024

// MaxSurge bounds how many replicas of a service start before others stop.
const MaxSurge = 1024

// MaxTaints bounds the taints of a node, and the tolerations of a selector: each is compared with
// each.
const MaxTaints = 64

// MaxPerHour bounds what the core remembers of a pool.
const MaxPerHour = 10_000

const (
	MaxLosses = 64
	// MaxDoublings is how often a quarantine doubles.
	MaxDoublings = 4
)

// MaxMovers bounds among how many gangs one search looks for those to move.
const MaxMovers = 256
