package agents

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// inputToTransfer returns how much input must be moved to run j at site.
func inputToTransfer(j protocol.Job, site string) protocol.MiB {
	if j.Home == site || j.Home == "" {
		return 0
	}
	return j.Input
}

// transferTime returns how long moving the input takes, rounded up to a second. The job uses its
// GPUs meanwhile, because capacity that is free now may be gone when the data has arrived.
func (n Network) transferTime(j protocol.Job, site string) time.Duration {
	seconds := (int64(inputToTransfer(j, site))*8_389 + n.MBitSec*1000 - 1) / (n.MBitSec * 1000) // 8.389 Mbit in a MiB
	return time.Duration(min(seconds, maxTransferSeconds)) * time.Second
}

// maxTransferSeconds bounds transferTime, so that arithmetic on it cannot overflow. No run is that
// long.
const maxTransferSeconds = 10 * int64(protocol.MaxRun/time.Second)

// transferCost returns what carriers are paid for moving j's input to site.
func (n Network) transferCost(j protocol.Job, site string) protocol.Microdollars {
	return n.PerGiB * protocol.Microdollars(inputToTransfer(j, site)) / 1024
}

// transferCarbon returns the carbon of moving j's input to site.
func (n Network) transferCarbon(j protocol.Job, site string) protocol.Milligrams {
	return n.Carbon * protocol.Milligrams(inputToTransfer(j, site)) / 1024
}
