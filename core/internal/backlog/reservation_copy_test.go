package backlog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/fields"
)

// A copy of a reservation has every field, and shares none.
func TestACopyOfAReservationIsWholeAndSharesNothing(t *testing.T) {
	require.Empty(t, fields.Forgotten(func(r berth.Reservation) berth.Reservation { return cloneReservation(&r) }), "cloneReservation of reservation.go")
}
