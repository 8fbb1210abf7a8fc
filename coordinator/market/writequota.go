package market

import (
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// The event log keeps a site's registrations and its queue's submissions until they are compacted,
// and a restart reads them, so a quota bounds their bytes. The market does not answer what exceeds
// the quota. Agents and queues retransmit, so a site that has that much to submit loses nothing.
const (
	quotaBytesPerSecond = 128 << 10 // sustained: dozens of jobs a second
	quotaBurstBytes     = 128 << 20 // burst: tens of thousands of jobs
)

// A writeQuota is a token bucket: the bytes that a site may still have recorded.
type writeQuota struct {
	bytes int
	at    protocol.Time
}

// takeWriteQuota reports whether the quota has room for so many bytes, and takes them. Time earns
// at most an hour's worth at once, so that the product cannot overflow.
func (k *Market) takeWriteQuota(now protocol.Time, site string, bytes int) bool {
	a, ok := k.writeQuotas[site]
	if !ok {
		a = writeQuota{quotaBurstBytes, now}
	}
	a.at = min(a.at, now) // the clock was set back
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

// registrationBytes returns an upper bound of a registration's encoded size.
func registrationBytes(h protocol.RegisterSite) int {
	n := 256
	for _, p := range h.Pools {
		n += len(p.Model) + 64
	}
	return n
}
