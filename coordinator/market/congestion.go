package market

import "github.com/gridbid/gridbid/protocol"

const (
	// freeBids is how many bids of a call are never too many.
	freeBids = 1000
	// maxRest is how many windows the market rests for answers that are on their way.
	maxRest = 10
)

// A congestion adapts how many bids a call asks for to how many the market reads in its window, as
// TCP adapts to a network: a call that was too large is followed by one of half its bids, and only
// once its answers have come. Without that, calls and answers would pile up until the connection
// fails, on any machine that is slower than Config.MostBids takes it to be.
type congestion struct {
	limit    int           // bids of the next call; 0: Config.MostBids
	rest     protocol.Time // no round opens before, unless what is on its way comes; 0: at any time
	onTheWay int           // answers to the last call that the market waits for meanwhile
	enough   int           // of onTheWay, when it waits no more
}

// limitOf returns how many jobs a call may have.
func (c *congestion) limitOf(cfg Config, sites int) int {
	limit := cfg.MostBids
	if c.limit > 0 {
		limit = min(limit, c.limit)
	}
	return min(cfg.Most, max(limit/max(sites, 1), 1))
}

// roundClosed takes in that a round closed in which so many sites were waited for, of which some
// did not answer.
func (c *congestion) roundClosed(now protocol.Time, cfg Config, r *round) {
	switch missed := len(r.awaited); {
	case r.asked <= freeBids:
	case missed > r.hoped/2:
		c.limit = max(r.asked/2, freeBids)
		c.rest, c.onTheWay, c.enough = now.Add(maxRest*cfg.Window), missed, r.hoped/10
	case missed == 0 && c.limit > 0:
		if c.limit *= 2; c.limit >= cfg.MostBids {
			c.limit = 0
		}
	}
}

// answerCame takes in a late answer to the last call.
func (c *congestion) answerCame() {
	if c.onTheWay--; c.onTheWay <= c.enough {
		c.rest = 0
	}
}
