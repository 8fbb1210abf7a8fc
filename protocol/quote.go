package protocol

// A QuoteRequest asks what a job would cost without submitting it: the operator API asks the
// coordinator, which asks all agents. Call is what a round of this job alone would call for;
// Call.Round is the number of the request. No award follows, and nobody keeps the job.
type QuoteRequest struct {
	Call CallForBids `msgpack:"c"`
}

// A Quote answers a QuoteRequest: what the agent would bid now. It binds nobody.
type Quote struct {
	Bids Bids `msgpack:"b"`
}

func (QuoteRequest) messageKind() string { return "enquiry" }
func (Quote) messageKind() string        { return "quote" }
