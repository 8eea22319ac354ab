// Package grid is where rules that decide over time are judged: cells that span kinds of fleets
// and of work, each played by the core as it comes and by its rivals on the same jobs. See [Help]
// for what it measures.
package grid
