package protocol

// SitePrices tells a site the shadow prices of its own capacity, just before a CallForBids that
// carries none. In a federation of many sites each hears only these; the prices of all in a call to
// all would grow with the square of the sites (decision 0290).
type SitePrices struct {
	Round        uint64        `msgpack:"n"` // of the call; of a QuoteRequest: 0
	ShadowPrices []ShadowPrice `msgpack:"sp" name:"shadow"`
}

func (SitePrices) messageKind() string { return "prices" }
