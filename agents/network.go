package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// inputToTransfer returns how much input has to come from elsewhere to run j at site.
func inputToTransfer(j protocol.Job, site string) protocol.MiB {
	if j.Home == site || j.Home == "" {
		return 0
	}
	return j.Input
}

// transferTime returns how long the input takes to come. It comes while the job holds
// its GPUs already: room that is free now may be gone when the data is there.
func (n Network) transferTime(j protocol.Job, site string) time.Duration {
	seconds := (int64(inputToTransfer(j, site))*8_389 + n.MBitSec*1000 - 1) / (n.MBitSec * 1000) // 8.389 Mbit in a MiB
	return time.Duration(min(seconds, maxTransferSeconds)) * time.Second
}

// maxTransferSeconds is what takes says at most, in seconds: no run is that long.
const maxTransferSeconds = 10 * int64(protocol.MaxRun/time.Second)

func (n Network) transferCost(j protocol.Job, site string) protocol.Microdollars {
	return n.PerGiB * protocol.Microdollars(inputToTransfer(j, site)) / 1024
}

func (n Network) transferCarbon(j protocol.Job, site string) protocol.Milligrams {
	return n.Carbon * protocol.Milligrams(inputToTransfer(j, site)) / 1024
}
