// Package protocol defines the messages that the parties of the market exchange, with
// their encoding. It has no other contents.
//
// A party is a coordinator, an agent, the executor of a site (party "hands"), a source
// of grid signals ("feed"), a submitter, a judge, or the queue of a site's own
// cluster. Parties share no memory: a party learns of another only by a [Message]. So
// the log of all messages is the whole history of a run, which package history folds
// into job status, pages and explanations, and which a replay repeats.
//
// # A job, in messages
//
//	Submit   submitter   -> coordinator  run this job
//	Call     coordinator -> every agent  opens a round: bid for these jobs
//	Offer    agent       -> coordinator  bids: options for each job, or why there are none; free capacity
//	Award    coordinator -> agent        the site won the job with this option
//	Hold     coordinator -> submitter    deferred: when the job is called next, and why
//	Refuse   coordinator -> submitter    rejected: no site can run it, and why
//	Accept   agent       -> coordinator  the site has reserved the capacity
//	Decline  agent       -> coordinator  the site cannot run it any more, and why
//	Confirm  coordinator -> sender       acknowledges a Submit, Accept or Done as stored
//	Launch   agent       -> executor     start it on this node and these GPUs, with this cap
//	Started  executor    -> agent        it runs
//	Exited   executor    -> agent        it finished, with the energy it drew
//	Lost     executor    -> agent        interrupted by another cause than the job itself
//	Preempted agent      -> coordinator  its run was stopped to make room for another
//	Done     agent       -> coordinator  usage report: measured energy, carbon and money
//	Settled  coordinator -> all          payment: measured against bid
//	Standing coordinator -> queue        status of a job that the queue submitted
//	Ask      coordinator -> judge        choose among options that cost nearly the same
//	Answer   judge       -> coordinator  a choice for each order of the options, or why there is none
//
// A message may be lost. A sender that needs an answer retransmits until it comes: a
// Submit until a Confirm with Taken or another answer, an Accept until Stands or Void, a
// Launch until Started, a Done until it is settled or Closed. Each of these is
// idempotent.
//
// Messages without a job: Cancel, Drain and Policy (an operator's request), Hello (an
// agent registers its site), Signal (a source publishes prices, carbon intensities or
// PUE), Inventory (the executor reports nodes and running jobs), Meter (an agent reports
// the energy of its site in an hour, idle draw included), Heard (a coordinator records
// its inputs in order, for replay).
//
// # Units
//
// Every quantity has a type named for its unit, and is an integer: money in
// millionths of a dollar, energy in millijoules, power in milliwatts, carbon in
// milligrams, GPU shares in thousandths, time in milliseconds. A sum of integers is
// the same in any order and on any machine, which replays need: they are compared byte
// for byte.
//
// # Evolution
//
// See [Version]. Within a version fields are added, never renamed, retyped or reused;
// rows that are encoded as arrays grow at their end. A reader ignores unknown fields and
// counts messages of unknown kinds. It refuses messages, streams and ledgers of any other
// version. testdata/vN holds messages of version N: tests decode those of the current
// version and check that older ones are refused, so these files must not change.
package protocol
