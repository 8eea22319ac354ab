package limits

// Bounds that keep every sum of valid amounts inside an int64, however many
// members are held: 2^32 is four million cores or four pebibytes on one node.
const (
	MaxAmount = 1 << 32
	// MaxIncarnation is the highest that may be told, so that there is room to count
	// on from it; a snapshot may have counted on already.
	MaxIncarnation = 1 << 30
	MaxActions     = 1 << 62
	MaxAttempts    = 1 << 30
	MaxOrdinal     = 1 << 16
	// MaxSpan is in milliseconds: 278 years, which the standard library's durations hold.
	MaxSpan = 1 << 43
	// MaxKinds bounds the kinds of node that a caller can make. Nodes that are set aside
	// are kinds of their own, of which ends of reservations can make more, but never more
	// than there are nodes.
	MaxKinds = 4096
	// MaxReservedGangs bounds the work of a pass for gangs with a reservation.
	MaxReservedGangs = 256
)

// LevelFleet and LevelNode are the implicit ends of every topology.
const (
	LevelFleet = "fleet"
	LevelNode  = "node"
	MaxLevels  = 16
)

// MaxSameLabels bounds the labels that are to have one value over a gang.
const MaxSameLabels = 8

// MaxPerHour bounds what the core remembers of a pool.
const MaxPerHour = 10_000

const (
	MaxLosses = 64
	// MaxDoublings is how often a quarantine doubles.
	MaxDoublings = 4
)

// MaxMovers bounds among how many gangs one search looks for those to move.
const MaxMovers = 256
