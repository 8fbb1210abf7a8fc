package division

import (
	"errors"
	"time"
)

// Divide divides the replicas of one service over sites. A request that contradicts itself (a
// negative count, a site named twice, Min above Max, steps that do not cover a site's room) is an
// error that names the site and the field; too little room is none, but pending replicas with a
// reason.
func Divide(r Request) (Division, error) {
	if err := r.check(); err != nil {
		return Division{}, err
	}
	return Division{}, errors.New("division: kind " + string(r.Kind) + " cannot be divided yet")
}

// Reschedule divides the replicas anew that sites cannot schedule for longer than after: such a site
// keeps the higher of its ready replicas and those held less the unschedulable ones, and gets none;
// what is freed is divided as if it were added. A replica for which no other site has room stays
// where it is, so none is given up for nothing. Rebalance and AllOrNothing do not count.
//
// Karmada shrinks first and then looks for room; ACK One waits 30 s, Karmada 5 min.
func Reschedule(r Request, stuck []Stuck, after time.Duration) (Division, error) {
	return Division{}, errors.New("division: stuck replicas cannot be divided yet")
}
