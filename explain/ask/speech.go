package ask

// speech is what people say around a question, and further words for what they
// ask, by the same marks as in lexicon.
const speech = `
_: they them their theirs she he idea remind inform kindly curious maybe perhaps possibly possible again simple
_: something some let lets told mention mentioned folks mate buddy dear sir pray sorry excuse quickly-please
_: honestly frankly basically anyway anyways well oh hmm uh ah right btw asap fyi cheers greetings morning-all
_: heya howdy yo question-for apparently obviously supposedly reportedly seemingly interested tell telling show
_: showing
_: give giving display print output return fetch bring pull-up provide deliver report-on
_: i'd i'm i've you'd
__: so far, up to now, until now, thus far, any idea, do you know, can you tell, could you tell, i wonder
__: i was wondering
__: i am wondering, i am curious, just curious, out of curiosity, for me, for us, for my boss, for the report
__: for my report, for the record, for the books, i would like to know, would like to know, i want to know, i need
__: i need to know, need to know, we need, would you mind, if possible, when you have a moment, if you can
__: if you could
__: could i have, can i see, let me see, let me know, let us see, walk me to, do we know, do we have
__: is it possible to
__: i am interested in, interested in, on average please, to be honest, in the end, at the end, at the end of the day
__: first of all, one more thing, another question, another one, next question, quick one, on my screen
__: here is one, in detail, in details, in one line, in a table, as a table, as a list, as a chart, as a graph
__: in numbers
__: in figures, the fleet, the federation
__: of the federation, of the fleet, on the fleet, for the fleet, across the fleet, across the federation
__: by any chance
__: turns out to be, please tell, i guess, i suppose, i think, i believe, it seems, as far as you know, a bit
__: a little
__: all of them, every one of them, every single, of them
__: at all, so to speak, in your records, according to the record, according to the ledger, in the ledger, on record
__: can you explain me, machine park, on which machines, the system, in terms of, with respect to, with regard to
__: regarding, concerning, when it comes to, as regards, as for, in respect of, speaking of, on the subject of
__: break down, breaking down, carbon wise, co2 wise, carbon-wise, co2-wise
__: if any, whether, if there
__: up, existed, exist, exists, there exist, distribution, distribution of, my choice, i would have expected
__: i would have thought, i expected, i had expected, would have been my choice, compute
command: put, send, take, tell, ask, inform, warn, remind, notify, call, email, mail
people: people, folks, users, everybody, one, persons, we
behind: behind
not: was not there a, was not there any, were there not, is there not a, is not there a, are there not
not: was there not a
pends: in the queue, in line, in queue
pends: lined up
less: less, fewer
last: last, lastly
left: left, remaining, are left, is left
runnerup: runner-up, runner up, second best, next best, second choice, second place, plan b, the second best
runnerup: the next best, the runner-up
runnerup: the second choice, the next choice, the second place, runners-up, next in line, the next in line
why: any reason, any reason for, any reason why, the story behind, story behind, what is the story behind
why: what convinced
why: what persuaded, fail to see why, i fail to see why, what speaks in favour of, what spoke in favour of
why: what was decisive for, what decided, what tipped, what was the argument for, argument for, arguments for
why: the case for
why: what brought, what moved, what sent, what put, how is it that, how was it possible that, the why of, whys
why: why is it
why: why is it that, why was it that, wherefore, based on what, on what basis, on which basis, by what criteria
why: on which grounds, for which reason, for which reasons, for what reasons, due to what, because of what
why: what is the cause
why: what was the cause, the cause, cause of, cause for, what are the reasons, what were the reasons
why: explain me, explain to me, explain us, make clear, break down why, spell out why, give reasons, give a reason
why: give the reason, give me the reason, state the reason, reason behind, reasons behind, reasons for, reason for
why: the reasoning behind, the rationale behind, the motive behind, motive behind, rationale behind, thinking behind
why: the thinking behind, the idea behind, idea behind, the argument behind, the why behind, the reason that
why: the reason why, reason that, reason why, reasons why, reasons that, the logic of, logic of, the grounds, grounds
place: land, got it, placed at, picked for, ended, end up with, ended up with, assigned to, allocated to, granted
place: grant, grants, secured, secure, obtain, obtained, obtains, receives the job, get the job, gets the job
place: got the job
place: took the job, take the job, takes the job, take it, took it, takes it, be chosen, been chosen, be picked
place: been picked, been selected, be selected, been taken, be taken, was taken, were taken, got picked, got chosen
place: got selected
place: stay, stayed, stays, remain, remained, send it, sent it, sent off to, put there, put on, put it, wins it
place: succeed, succeeded, prevail, prevailed, come out on top, came out on top, come first, came first, made it
place: make it
place: brought to, directed to, steered to, forwarded to, deployed to, deployed on, deployed at, handed over to
place: accepted, accept, accepts, favour of, favor of, choosing, selecting, picking, winning site, chosen site
where: what place, what location, what cluster, what region, what datacenter, what data center, what data centre
where: on which machine park, in which machine park, on which site, on what cluster, on what machine, which region
where: to which site, to what site, to which location
where: to which cluster, to what place, in which site, in what site, which dc, in which dc, on which location
where: whereto, where to, site of, location for, site for, cluster of, the whereabouts of, whereabouts of
where: site?, location?, on which machine, which machine, position of, the site of, the site where, place of
where: place where, the place where, the place of
decision: decision behind, decision number belongs, decision belongs, which d-, decision for, the decision for
decision: number of the decision
decision: decision reference, reference of the decision, decision that placed, which decision, id of the decision
decision: d number, d-id, d-number of, decision no, which d number, ledger id, the decision about
decision: decision responsible
when: at what o clock, what o clock
start: get off the ground, got off the ground, gets off the ground, kick in, kicked in, kicks in, begun, been begun
start: get under way, got under way, underway, under way, take off
start: took off, takes off, get off, got off, going off, set out, got rolling, get rolling, gets rolling, started up
start: start up, starts up, initiated, initiate, initiation, commencement, commenced, commences, spin up, spun up
start: started at, started on, came up, get started, enter execution, entered execution, kickoff, kick-off, onset
start: first ran, turn came, its turn came, admitted
end: be over, been over, come to an end, came to an end, terminated, terminate, terminates, wound down
end: stopped running, stop running, exit, exited, concluded, conclude, finalised, finalized, finish up
end: finish line, end date, finish of, the finish of, done with, be done, been done, eta
long: how much time, how many seconds, amount of time, for what time, length of, how long a time, since how long
long: for how long, how long did it take, total time, time did, how much of a, elapsed, elapsed time, time taken
wait: spend waiting, spent waiting, waiting duration, wait duration, duration of waiting
wait: sitting in the queue before it got going
wait: kept in the queue, kept waiting, keep waiting, time spent waiting, time to start, time until start
wait: time until it started
wait: time before it started, time before start, time before starting, wait until it started
wait: wait until it could start
wait: queued up, queued for how long, spent queued, spend queued, spend in queue, spent in queue, spend queueing
wait: spent queueing, spend queuing, spent queuing, spend in line, spent in line, be queued, stay in the queue
wait: stayed in the queue, stay queued, waiting in the queue, stayed queued, lie in the queue, lay in the queue
wait: sit around, sat around, sit waiting, sat waiting, stand by, on the waiting list, in the waiting list
wait: waiting list
wait: latency before start, start delay, startup delay, start-up delay, launch delay, delay before start
wait: delay before starting
wait: delay to start, delay till start, queue wait, in the waiting room, waiting period, wait period
wait: idle before start
wait: not yet started, not started yet, yet to start, yet to run, still to start, to be started, unstarted
wait: time between submission and start, time between arrival and start, time from submission to start
wait: time from arrival to start, between submission and start, between arrival and start, from submission to start
wait: from arrival to start, waits?, enqueued
wait: take until, it take until, did it take until, does it take until, did it take before, did it take for
wait: take before, it take before, have to wait until, wait until, before it could start, till it started
defer: held back for, holding back for, kept back, keep back, keep back for, kept on hold, put on ice, on ice, shelved
defer: made to wait, make wait, made wait, let wait, left waiting, left to wait, so slow to start, slow to start
defer: detained
defer: retained, put on hold, postponement, set aside, stalled at start, delayed start, late start, start so late
defer: started so late, kept for later, moved to later, moved later, rescheduled for later, not start earlier
defer: not start sooner, not started earlier, not started sooner, not run earlier, not run sooner, not begin earlier
defer: not begin sooner, not start right away, not start immediately, not start at once, not started right away
defer: not started immediately, not run immediately, not run at once, not run right away, not started at once
defer: not start straight away, not start directly, not begin at once, not begin immediately, take so long
waitingfor: blocked on, waiting on, wait on, waits on, queued behind what
bids: bidded, bid on the table, on the table, on the table for, proposals made, made offers, offers made
bids: offers made for
bids: every bid, each bid, all bids, all offers, all the offers, all the bids, asking price, asking prices
bids: their price
bids: bid list, list of bids, list of offers, offer list, bids list, auction results, tenders, tender, tendered
bids: submitted bids, incoming bids, incoming offers, bids placed, placed a bid, place a bid, put in bids
bids: put in offers
bids: bid for, bid on, in the running, who competed for, competed for, compete for, compete, competed, contenders
bids: contender
bids: competitors, competition, in the race, in the race for, candidates, candidate, were interested in
bids: was interested in
bids: interested in taking, interested, attract, attracted, draw bids, drew, get offers, got offers, took part in
bids: take part in
bids: participate in, participated in, participate, participated, participants, participants in, participating
unable: lost, bow out, bowed out, bowed out of, bow out of, not allowed to bid, not allowed to bid on
unable: not allowed to take
unable: not allowed to run, not permitted, not permitted to bid, not permitted to run, not allowed, forbidden to bid
unable: they cannot do, can not do, could not do, not do, said they can not do, said they could not
unable: said that they can not
unable: not participate, could not participate, could not participate in, not participate in, did not participate in
unable: not take part in, not compete, not compete for, not in the running, not an option, not options, no candidate
unable: was no candidate, were no candidates, no option, not qualify, did not qualify, not qualified, unqualified
unable: fell out
unable: dropped, dropping out, withdrew, withdraw, withdrawn, stepped back, stepped aside, gave up, passed, passes
unable: not possible for, impossible, impossible for, out of the question, not feasible, unfeasible, failed to qualify
unable: unwilling to bid, unwilling to take, not willing to bid, not willing, did not want, not want
unable: did not want to bid
unable: not want to bid, not interested, uninterested, refusing, refuser, refusers, decliners, denied, deny, denies
unable: denial
unable: not be used, could not be used, not usable, unusable, not suitable, not suited, unfit, barred, barred from
unable: blocked from
unable: prohibited, prohibited from, kept from bidding, kept out, shut out, left aside, off the table, no go, no-go
unable: no offer from, gave no bid, give no bid, give no offer, without offering, lost the auction, lost it, losing
unable: came second, come second, lost against, lose against, lost to, lose to, beaten by, outbid, was outbid
unable: undercut
unable: turned, could not have, can not have, were excluded, was excluded, had to pass, had to decline, had to refuse
unable: sent no bid, sent no offer, could offer nothing, nothing to offer, unable to bid, unable to offer
unable: could not bid, can not bid, not bidding on, not bidding for, did not offer, not offering
differ: ahead of, in which term, which component separates, what separates, gap in cost, difference in cost
differ: cost difference
differ: difference in price, price difference, which part of the cost, what part of the cost, which cost part
differ: biggest gap
differ: made it better than, better than, beat, beats, prevail over
differ: win out over
differ: edge, edge over, the edge over, advantage over, lead over
differ: head to head
differ: side by side, next to, how differ, how different, distinction, distinguish, contrast between, decisive term
if: had, simulate, simulation, simulation of, in the case that, in case of, supposing
if: what would be if, what would be, what happens when, what happens with, what happens to
if: let us assume, assume, assume that, suppose that, imagine that, pretend that, let us pretend, picture that
if: what about if, how about if, and if, what would change if, what changes if, how would it be if
if: how would it look if
if: were allowed, was allowed, had been allowed, would be, would it be, would it have, would that have, would that be
if: hypothetical, hypothetical case, in theory, theoretically, replay, replay with, rerun with, re-run with
if: repeat with
if: in the event of, in the event that, what would have been if, what would have been
instead: in place of, in lieu of, other than at
elsewhere: at other places, in other places, other places, in any other place, any other place, any other cluster
elsewhere: some other place
elsewhere: at another place, at another cluster, at some other site, on any other site, on another site
elsewhere: on other sites
elsewhere: on the other sites, at the others, at others, the others, other locations, another location
elsewhere: at another location
elsewhere: in another location, at any other place, at other clusters, on other clusters, different place
elsewhere: a different place
elsewhere: at different sites, different location, other options, alternatives, alternative, the alternatives
elsewhere: other choices
elsewhere: alternative sites, alternative site, alternative locations, any of the other sites, each of the other sites
elsewhere: anywhere but here
immediately: not waited, had not waited, had not had to wait, no waiting time, without the wait, without the waiting
immediately: without any wait, without any delay, without the delay, without being delayed, without being deferred
immediately: not been delayed
immediately: not been deferred, not been held, not been held back, had started at once, not deferred, not delayed
immediately: not held back
immediately: skip the wait, skipped the wait, skip the queue, skipped the queue, skipping the queue, from the start
immediately: straight on arrival, the moment it came, at arrival, at its arrival, when it came, when it came in
immediately: upfront
immediately: no deferral, without deferral, as soon as possible, soonest, at the earliest, earliest possible
immediately: first thing
immediately: immediate, an immediate start, immediate start, at the very start, instant start, an instant start
immediately: instantaneous start, an early start
save: bring, brought, won by, win by, help, helped, did good, do any good, any good from, the point of, use of
save: good of
save: economise, economize, economised, economized, saving from, savings from, savings by, savings of, saving of
save: profit from, profit of, profited, profit, profits, be worth, pay, paid itself off, make sense, made sense
save: useful
save: worthwhile to, any use, of any use, cut, cuts, reduce, reduced, reduces, reduction, lower, lowered, cheaper by
save: greener by
carbonprice: must carbon cost, must co2 cost, carbon have to cost, co2 have to cost, should carbon cost, should co2 cost, carbon need to cost, co2 need to cost
carbonprice: with co2 at, if carbon cost, if co2 cost
carbonprice: emission price, price of emissions, price for emissions, price on emissions, carbon fee, co2 fee
carbonprice: carbon levy
carbonprice: co2 levy, co2 pricing, carbon priced, co2 priced
carbonprice: carbon were priced, carbon price of the market, co2 certificates, certificate price, ets price, kappa
carbonprice: value of carbon, carbon value, shadow price, shadow price of carbon, carbon price set to, carbon price at
breakeven: climb, climbs, rise, rises, go up, be for, flips to, flip to, flips over to, overtake, overtakes
breakeven: catch up, catches up, catch up with, does it take, would it take, it takes, take for
breakeven: would make, tips to, tips in favour of, swing, swings, swing to, swings to, starts winning, start winning
breakeven: cross over
breakeven: at which point, from when on, up to which, up to what, what level, which level, to what level
breakeven: to reach, hit, raised to, increase to, increased to, go to before
change: come out, comes out, came out, turn out, turned out, turns out, come out the same, come out otherwise
change: otherwise
change: different result, another result, other result, another winner, different winner, other winner, same winner
change: same result
change: the result, the winner, make a difference to, any difference, difference to, any different, matter for
change: matters
change: influence, influenced, influences, impact, impacts, impacted, end up differently, go differently
change: gone differently
change: turned out differently, been different, be different, look different, looked different, have any effect
change: affects, move to, switch to, switched to, go elsewhere
tonne: a tonne of co2, tonne of co2, tonne of carbon, ton of co2, ton of carbon, per metric ton, metric ton
tonne: metric tons
slack: hours more, more hours, extra hour, hour more, more hour, another hour, deadline plus, deadline by
slack: deadline was
slack: deadline were, deadline is, be later, allowed to be, allowed to finish, allowed to end, more patience, patience
slack: more flexible, extended by, extend, extends, extending, prolonged, prolong, longer, shifted by, moved by, moved
slack: pushed by, delayed by, relaxed, relaxed by, loosened, loosened by, stretched, stretched by, postponed by
slack: deadline moved
slack: granted, additional hours, hours extra, time more, hours later, hours of extra time, hours of extra slack
slack: hours additional, hours to spare, on top
slack: allowed, gave it, had been given, been given, were given, was given, been granted, were granted, were to get
slack: had got, deadline pushed, deadline shifted, deadline relaxed, deadline moved back, deadline postponed
slack: deadline later by, later deadline by, deadline extension of, extension of, slack of, extra slack of, an extra
slack: extra time of, due later by
without: switched off, drop out, drops out, is not there, not around, not take part, not there for
without: not been available, were not available, not have been available
without: not exist, go down, goes down, going down, crashed, crash, crashes
without: had crashed, broke down, had broken down, power cut, power cut at, blackout
without: blackout at, had a blackout, outage in, downtime, downtime of, downtime at, in maintenance, under maintenance
without: maintenance at, maintenance of, were closed, been closed, closure of, shut off, shutting down
without: shutting, turned out, left the federation, leave the federation, leaves the federation, left the market
without: leaves the market, taken out, take out, taking out, pulled out, pulls out, dropped off
without: excluded, being down, being offline
without: being off, were off, was off, is off, kicked out, thrown out, not in the market, not in the federation
without: not part of, out of service, out of order, out of action, dark, failing, failure of, failure at, failed
without: not be there, not be available, be unavailable, be down, be offline, be off, be gone, lose, lost
without: had never existed, never joined, not joined, had not joined, had not been part of, had not existed
without: disabled, deactivated, cut off, removed from, banned, blacklisted
residency: data rule, data rules, could go anywhere, data could go anywhere, residency rule away, the residency
residency: residence rule
residency: residence, data residence, data residency constraint, data residency constraints, data residency limits
residency: geographic restriction, geographic restrictions, geographical restriction, geographical restrictions
residency: data localisation
residency: data localization, localisation rule, localization rule, rule about data, rules about data, rule on data
residency: jurisdiction, gdpr, data protection, data protection rule, geofence, geofencing, border, borders
residency: national border
residency: data may leave, data could leave, data was allowed to leave, data were allowed to leave
residency: data allowed anywhere
residency: data could travel, data could move freely, data free to move, data allowed to leave, region rule
residency: regional rule
compare: stack up, against one another, against each other, which is better, who is better, superior, superior to
compare: outperform
compare: outperforms, outperformed, compares, compare with, measured against, as opposed to, in comparison
compare: in comparison to
compare: in comparison with, relative, comparing, beats, beat, fares, fare against, fared against, fared, do better
compare: did better
compare: do better than, did better than, better off, better off than, better off with, improvement over, gain over
compare: benefit over
compare: advantage over, worse than, as good as
policy: rule book, strategy, strategies, scheduling policy, scheduling policies, scheduler policy, algorithm
policy: algorithms, baselines, scheduling strategy
run: executing, operating, being executed, being run, processing, being processed, in execution, in operation
run: active on
stuck: does nothing, doing nothing, do nothing, nothing happens with, nothing is happening with, does not move
stuck: not budging, does not budge, will not budge, not advance, not advancing, does not go on
emit: produce, produces, producing, pollutes, blows out, blowing out, spews, spewing, puts out, putting out, add to
emit: adds to, added to the total
instead: preferred to, preferred over, favoured over, favored over, chosen over, picked over, taken over
instead: selected over
line: queues, the queues, queue, the queue, our queue, waiting line, the waiting line, the line
line: the backlog
wait: queue, the queue, our queue, waiting line, the waiting line, the line
wait: the backlog, sat there, sit there, sitting there, sat there before
future: will, going to be, going to, gonna be, is going to, shall be
_: find found calculate
__: find out, work out, figure out, i lost track of, lost track of, i mean, mean to say, who else
ever: ever, at any time, at some point
hourword: time, exact time
when: from when till when, from when to when, from when until when, what exact time, which exact time
why: what for, how did you arrive at, how did we arrive at, how did they arrive at, arrive at, arrived at
why: how do you explain, how can it be that, how can you explain, what makes you choose
arbitrated: any model, a model, the model, overrule, overruled, overrules, override, overrode, model overrule
hinder: took ages to start, take ages to start, takes ages to start, took ages, takes ages, taking ages, so slow
hinder: so slowly, take forever to start, takes forever to start, taking forever, taking forever to start
hinder: took forever, took forever to start
if: calculate, compute, estimate
carbonprice: if carbon costs, if co2 costs, when carbon costs, when co2 costs, tonne of carbon worth
carbonprice: ton of carbon worth, tonne of co2 worth, ton of co2 worth, a tonne of carbon worth, a tonne of co2 worth
carbonprice: worth of a tonne of carbon
happened: becomes of, become of, became of
change: stable, robust, firm, hold firm, stand, stands, still stand, remain the same, remains the same, flip over
slack: push, push back, pushed further, more leeway of
without: strike, cross out, remove, struck, minus, take away
residency: could run anywhere, run anywhere, go anywhere, be placed anywhere, could be placed anywhere, restricted by
residency: bound by, be anywhere, free to run anywhere, any site allowed
carbon: grams, gram, grammes, grams of emissions
under: under
how: how bad, how bad is, how bad are, how bad was, how bad were
bysite: rank the sites by, rank sites by, order the sites by, order sites by, sort the sites by, sort sites by
bysite: everywhere, at all places, in all places, in every place, for every site tell me the, site ranking
bysite: ranking of sites, ranking of the sites
cost: spends, we pay, did we pay, do we pay, we paid, have we paid, i pay, they pay, pays for electricity
cost: pay on average, did it set us back, owes us
used: need, needs, requires, require, required
late: not make it in time, not make it on time, not making it in time, come too late, came too late
late: not finish before the deadline, not ready in time, not ready on time, not complete in time, not complete on time
late: unpunctual, delayed beyond their deadline
full: full, booked out, fully booked, at capacity, maxed out, sold out, occupied, busy, crowded, overbooked
empty: empty, long
error: forecasts right, forecast right, predictions right, prediction right, right with
rules: do we operate, operate, we operate
history: walk through, life of, the life of, the log of, walk me through the life of, log of
happened: anything new, what is new, something new, something happen, something happened
advice: help me to speed up, help me to, help me speed up, help us speed up, speed up
priority: high priority, highest priority, higher priority, low priority, lowest priority, lower priority
kind: long jobs, short jobs, big jobs, small jobs, large jobs, longer jobs, shorter jobs, bigger jobs, larger jobs
kind: smaller jobs, long job, long running jobs, long-running jobs, heavy jobs, light jobs, old jobs, new jobs, recent jobs
kind: urgent jobs, cheap jobs, expensive jobs, finished jobs, running jobs, failed jobs, successful jobs, other jobs
late: meet its deadline, met its deadline, make its deadline, made its deadline, keep its deadline, kept its deadline
wait: how long before
long: how long before, how long since
why: understand, i would love to understand, to understand, want to understand, i want to understand, love to understand
slack: plus
without: is out, was out, were out, be out, been out, is away, was away, be away
kind: longest job, longest jobs, shortest job, shortest jobs, heaviest job, heaviest jobs, the longest job, oldest job
kind: newest job, oldest jobs, newest jobs, latest job, first job, last job
pends: waiting, is waiting, are waiting, queued, are queued, is queued, queueing, queuing
kwh: kwh, mwh, gwh, wh, kilowatt hours, kilowatt-hours, kilowatthours, megawatt hours, watt hours, in kwh, kwhs
instead: win over, won over, win out over, won out over, wins over, wins out over, win against, won against, prevail over
why: deciding reason, deciding reason for, the deciding reason, what led you to, led you to, led to, defend, ask why
why: what was the deciding reason, what was the main reason, main reason, main reason for, the main reason
__: morning, good morning, good evening, good afternoon, check, check whether, check if, my users, users ask, my boss asks
__: whether, so then
differ: how far apart, far apart, how close, how close were
hinder: what gives, taking so long, what is taking, so long, taking it so long
unable: would not take, will not take, failed to get, failed to win, fail to get, fail to win, did not bid for
without: off the list, off the list for
if: repeat, repeat the run, as if, re-do, if only
summary: how did the market do, how did the market go, how is the market doing, how has the market done, in short
bytenant: tenant-wise, team-wise, customer-wise
bysite: site-wise, location-wise
ourenergy: energy we bought, we bought, the energy we bought, the power we bought, power we bought, electricity we bought
end: through
report: sending reports, sends reports, send reports, sending data, sends data, still sending
greenest: greenest spot, cleanest spot, greenest corner
cheapest: cheapest spot
used: needed
underbid: less than they used, less than they use, less than they then used, less than it used, less than used
kind: of the biggest job, of the largest job, of the most expensive job, of the cheapest job, of the dirtiest job
kind: of the greenest job, of the smallest job, the biggest job of, the largest job of
__: any clue, clue, why ever, to date, till date, up to date figures, until today, letting, might, have a look, look up
why: motivation, motivation for, motive for, reconstruct why, reconstruct, why ever
late: overrun, overran, overruns, overrunning
wait: until a job starts, until jobs start, until a job starts running, until it gets to run
place: handle, handled, handles, serve, served
fairshare: treated unfairly, treated badly, unfairly, unfairly treated, being treated unfairly, being treated fairly
breakeven: become the winner, becomes the winner, became the winner
course: profile, curve, trend, trend of, the trend of, develop, evolve, developed, evolved, development, development of, evolution of
bygone: waited, had to wait, have waited, had waited
wait: time passed before, how much time passed before, passed before, time went by before, time until
end: delivered
bysite: the different sites, different sites, the various sites, various sites
silent: all sites answer, all agents answer, every site answer, every agent answer, all sites respond, all agents respond
silent: every site respond, all sites reply, all agents reply, all sites answered, all agents answered, all sites bid
__: in the auctions, in the auction, at the auctions, in the rounds, and nobody else, and no one else, nobody else
`
