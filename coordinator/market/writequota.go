package market

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// What a site says unasked, and is written down, has a bound: what it is, and what its
// queue submits. Disks fill by it for as long as books are kept, and a restart reads
// it. What is beyond the bound is not answered; an agent and a queue say it again, so
// no site that has so much to say loses any of it.
const (
	quotaBytesPerSecond = 128 << 10 // bytes a second over a long time: dozens of jobs
	quotaBurstBytes     = 128 << 20 // at once: tens of thousands of jobs
)

// An writeQuota is what a site may still have written down.
type writeQuota struct {
	bytes int
	at    protocol.Time
}

// takeWriteQuota reports whether a site may have so many bytes written down, and counts them.
func (k *Market) takeWriteQuota(now protocol.Time, site string, bytes int) bool {
	a, ok := k.writeQuotas[site]
	if !ok {
		a = writeQuota{quotaBurstBytes, now}
	}
	a.at = min(a.at, now) // where the clock was set back
	if gone := min(now.Sub(a.at), time.Hour); gone > 0 {
		a.bytes, a.at = min(quotaBurstBytes, a.bytes+int(gone.Milliseconds())*quotaBytesPerSecond/1000), now
	}
	fits := bytes <= a.bytes
	if fits {
		a.bytes -= bytes
	} else {
		k.counts["site-says-too-much"]++
	}
	k.writeQuotas[site] = a
	return fits
}

// registrationBytes returns a bound of the bytes that one takes on the books.
func registrationBytes(h protocol.RegisterSite) int {
	n := 256
	for _, p := range h.Pools {
		n += len(p.Model) + 64
	}
	return n
}
