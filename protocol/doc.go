// Package protocol defines the messages that the parties of the market exchange, their
// fields with units, and their encoding. It imports no other package of the repository.
//
// A party is the coordinator, a site's agent, a site's executor (party "hands/SITE"), a
// site's source of grid signals ("feed/SITE"), the queue of a site's own cluster, a
// submitter or a tenant, the operator API ("desk"), or a judge. Parties share no memory: a party
// learns of another only by a [Message]. So the log of all messages is the complete
// history of a run, which package history folds into job status, timelines and
// explanations, and which a replay reproduces.
//
// # A job, in messages
//
// The second column is the kind as it is encoded; it never changes within a version.
//
//	Submit       submit    submitter   -> coordinator  run this job
//	CallForBids  call      coordinator -> all agents   opens a round: bid for these jobs
//	SitePrices   prices    coordinator -> agent        shadow prices of its capacity, if the call has none
//	Bids         offer     agent       -> coordinator  options for each job, or why there are none; free capacity
//	Award        award     coordinator -> agent        the site won the job with this option
//	Defer        hold      coordinator -> submitter    not awarded yet: when the job is called next, and why
//	Reject       refuse    coordinator -> submitter    no site can run it, and why
//	Accept       accept    agent       -> coordinator  the site has reserved the capacity
//	Decline      decline   agent       -> coordinator  the site cannot run it any more, and why
//	PartsDecided parts     coordinator -> submitter    all parts of a job at several sites stand, or none does
//	Confirm      confirm   coordinator -> sender       a Submit, RegisterSite, Accept, Decline or UsageReport is durable
//	Launch       launch    agent       -> executor     start it on this node and these GPUs, under this power cap
//	Started      started   executor    -> agent        it runs; a live agent tells the coordinator, and where
//	Finished     exited    executor    -> agent        it ended, with the energy it used
//	Interrupted  lost      executor    -> agent        it could not start, or was stopped by another cause than its own program
//	LocalStart   local-start agent     -> coordinator  it started this job of its own queue, hearing no coordinator
//	Preempt      preempt   coordinator -> agent        stop this run, so that another job can start
//	Preempted    preempted agent       -> coordinator  its run was stopped to make room for another
//	UsageReport  done      agent       -> coordinator  measured energy, carbon and money
//	Settlement   settled   coordinator -> all          payment: measured usage against the bid (see Message.OnlyTo)
//	JobStatus    standing  coordinator -> queue        status of a job that the queue submitted
//	JudgeRequest ask       coordinator -> judge        choose among options that cost nearly the same
//	JudgeAnswer  answer    judge       -> coordinator  a choice for each order of the options, or why there is none
//	QuoteRequest enquiry   coordinator -> all agents   what would this job cost? It is not submitted
//	Quote        quote     agent       -> coordinator  what the agent would bid now; it binds nobody
//	LogRequest   log-request coordinator -> agent       what has this job written? The agent asks its executor
//	JobLog       job-log   executor    -> agent        what a pod of it wrote; the agent tells the coordinator
//
// # A service, in messages
//
//	SubmitService    service        submitter   -> coordinator  run this service, or change it
//	ScaleService     scale          operator    -> coordinator  run so many replicas of it
//	RebalanceService rebalance      operator    -> coordinator  divide all of its replicas anew
//	DeleteService    delete         operator    -> coordinator  remove it from all sites
//	CallForCapacity  capacity-call  coordinator -> all agents   how many further replicas of these services fit?
//	CapacityBid      capacity       agent       -> coordinator  so many, at this marginal cost
//	ServiceDivision  division       coordinator -> all          how many replicas each site is to hold, what is pending, and why
//	ServiceStatus    service-status coordinator -> queue        status of a service that the queue submitted
//	AssignReplicas   assign         coordinator -> agent        hold so many from now on
//	ReplicaStatus    replicas       agent       -> coordinator  so many run, so many find no node
//	ServiceSettlement service-settled coordinator -> all        what they took since the reading before, and what is paid for it
//	RunReplicas      run-replicas   agent       -> executor     run these, on these nodes and GPUs, and no others
//	ReplicasRunning  running        executor    -> agent        these run; these were lost
//
// # The coordinator's log, in messages
//
//	LogHead          head           coordinator -> all          size and root of the log, signed
//	Receipt          receipt        coordinator -> sender       the place in the log of a Submit or of Bids, signed
//	SiteClearing     cleared        coordinator -> agent        what the clearing of a round read of the site
//
// LogBegin [begun], LogEntries [logged] and Openings [opened] are stored and shown, and never sent.
//
// An AssignReplicas is repeated until a ReplicaStatus names its revision, a RunReplicas until a
// ReplicasRunning does.
//
// A message may be lost. A sender that needs an answer retransmits until it comes: a
// Submit until a Confirm with Acknowledged or another answer, an Accept until
// AcceptConfirmed or AwardVoid, a Launch until Started, a UsageReport until it is settled
// or JobClosed. Each of these is idempotent.
//
// Messages that are not about one job: Cancel, Drain, DecommissionSite and Policy (an
// operator's requests), RegisterSite (an agent registers its site), Signal (a source
// publishes prices, carbon intensities or PUE), Inventory (the executor reports nodes and
// running jobs), IdleReading and SiteUsage (the executor, then the agent, report the
// energy of a site's hour), Heartbeat (an agent or the coordinator lives) and SiteCondition (the
// coordinator's monitor: a site has become silent, or is back). Heartbeats and
// what jobs write are in no ledger; CompletedRun, InputLog and Snapshot are stored in logs and never sent.
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
