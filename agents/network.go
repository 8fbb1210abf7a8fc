package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// moves returns how much input has to come from elsewhere to run j at site.
func moves(j protocol.Job, site string) protocol.MiB {
	if j.Home == site || j.Home == "" {
		return 0
	}
	return j.Input
}

// takes returns how long the input takes to come. It comes while the job holds
// its GPUs already: room that is free now may be gone when the data is there.
func (n Network) takes(j protocol.Job, site string) time.Duration {
	seconds := (int64(moves(j, site))*8_389 + n.MBitSec*1000 - 1) / (n.MBitSec * 1000) // 8.389 Mbit in a MiB
	return time.Duration(min(seconds, longest)) * time.Second
}

// longest is what takes says at most, in seconds: no run is that long.
const longest = 10 * int64(protocol.MaxRun/time.Second)

func (n Network) costs(j protocol.Job, site string) protocol.Microdollars {
	return n.PerGiB * protocol.Microdollars(moves(j, site)) / 1024
}

func (n Network) emits(j protocol.Job, site string) protocol.Milligrams {
	return n.Carbon * protocol.Milligrams(moves(j, site)) / 1024
}
