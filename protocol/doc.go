// Package protocol is the language of the market: every sentence that a party
// may say to another, and nothing else.
//
// A party is a coordinator, an agent, the hands of a site, a feed of grid
// signals, a submitter, or the queue of a site's own cluster. Parties share no memory. What one knows of another
// it has read in a [Message], so the record of messages is the whole history
// of a run: replay repeats it, the page draws it, the narrator tells it.
//
// # A job, in messages
//
//	Submit   submitter   -> coordinator  please run this
//	Call     coordinator -> every agent  who can run these, when, at what cost?
//	Offer    agent       -> coordinator  each job: options, or why not; room left
//	Award    coordinator -> agent        you run it, as this option says
//	Hold     coordinator -> submitter    not yet; asked again then, and why
//	Refuse   coordinator -> submitter    nobody can, and why
//	Accept   agent       -> coordinator  reserved
//	Decline  agent       -> coordinator  no longer possible, and why
//	Confirm  coordinator -> who spoke    on the books: the Submit, Accept, Done
//	Launch   agent       -> its hands    this node, these GPUs, under this cap
//	Started  hands       -> agent        it runs
//	Exited   hands       -> agent        it ended, and took this much energy
//	Lost     hands       -> agent        it runs no more, by no fault of its own
//	Preempted agent      -> coordinator  its run was taken down to make room
//	Done     agent       -> coordinator  it ended; energy, carbon, money measured
//	Settled  coordinator -> everybody    paid: measured against bid
//	Standing coordinator -> a queue      who has the job you submitted; how it ended
//	Ask      coordinator -> judge        these cost nearly the same: which?
//	Answer   judge       -> coordinator  this one, twice; or why not
//
// A message may be lost. Who needs an answer says the same again until it comes:
// a Submit until it is Taken or answered, an Accept until it Stands or is Void, a
// Launch until Started, a Done until it is settled or Closed. Each is harmless
// when said twice.
//
// Beside a job: Cancel, Drain and Policy (an operator asks), Hello (an agent says what
// its site is), Signal (a feed says a price, a carbon intensity, a weather),
// Inventory (hands say what a site consists of), Meter (an agent says what its
// site drew in an hour, idle draw included), Heard (a coordinator notes for its
// ledger what it took in, in which order).
//
// # Units
//
// Every quantity has a type named for its unit, and is an integer: money in
// millionths of a dollar, energy in millijoules, power in milliwatts, carbon
// in milligrams, GPU shares in thousandths, time in milliseconds. Integers add
// up to the same sum in any order and on any machine; replays are compared
// byte for byte, so sums must not wobble.
//
// # Evolution
//
// See [Version]. Within a version fields are added, never renamed, retyped or reused;
// rows that travel as arrays grow at their end. A reader ignores fields that it does not
// know, and counts kinds that it does not know. A reader refuses messages, streams and
// ledgers of any other version. testdata/vN holds messages of version N: tests read
// those of the current version and see those of older ones refused, so none of these
// files may change.
package protocol
