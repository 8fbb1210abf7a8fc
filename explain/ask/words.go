package ask

// lexicon is what words mean to the grammar: concepts, then the phrases that
// stand for them. What stands after "_", word by word, or after "__", says nothing
// that changes an answer. Every word of a question must be here, or be a name, a number or a time.
const lexicon = `
_: a an the of for to in on by as is was were are am be been being do does did has have had having shall it its
_: this that these those there then so
_: please me my mine our ours we us i you your tell show give say get just really exactly currently still one ones
total: total, altogether, overall, in total, in all, all in all, all together, taken together, sum, sum of, grand total
_: and with from s thing things kind much what's about each any some every all in effect
_: effects getting anyone anybody anything grid
_: utc cent value figure figures amount number id name called
__: ve got, have got, i got, i have got, that day, if you please, by the way, on earth, the heck, the hell, out there
__: and so on, one by one, like this, look like, looks like, looked like, on balance, as it is, as it was
_: sum tally grand aggregate individual separate respective single gets here full market among within inside
_: like
_: @ & rerun re-run recompute recalculate redo pls plz hey hi hello thanks thank ok okay could can
_: want wants know see wondering wonder quick question actually eventually finally somebody someone anywhere somewhere
_: ve ll re d whatever put break broken breaking graph chart plot diagram picture exact specific certain particular
_: details detail information info respectively please also too already yet even simply basically roughly
_: approximately about around looks look seem seems scheduler system federation fleet everybody
_: everyone folks guys
_: at into onto
_: split left made make makes making take took taken taking during over across between whole entire run's could can
_: choice
why: on what grounds, what drove, what was behind it, what speaks for, what spoke for, do not get why
why: do not understand why, do not see why, not get why, not understand why, not see why, reasoning, the reasoning
why: reasoning for, reasoning behind, walk me through, talk me through, take me through, walk us through
why: help me understand, how did it come that, how come that, how was it that, elaborate on, make sense of
why: what explains, what lies behind, clarify, what was the rationale behind, what is the rationale behind
why: what was the thinking behind, what is the logic behind, what was the reason behind, what was the reason, why
why: reason, reasons, explain, how come, for what reason, explanation, what is the reason, what caused
why: what was the rationale, what is the rationale, rationale, rationale for, rationale behind, justify, justification
why: the reasons, motive, what led to, what made, grounds for, how so, what is behind, what was behind
why: the logic behind, logic behind, thinking behind
not: not, never, no, do not
which: which, what, who, whose
who: who, whose
how: how, how do, how does
many: #, how many, number of, count, count of, how often, # of, number, how often did, tally, tally of, the number of
long: minutes, hours, long, seconds, duration, duration of, how many minutes, how many hours, length of time, how long
when: when, what time, start time, at what time, which hour, what hour, what date, at which time, since when
when: at what hour
where: took care of, at which place, on which place, in which place, which datacentre, where, location of, located
where: at what site, on what site, at which site, on which site, on which cluster, whereabouts, whereabouts did
where: in which region, in what region, which datacenter, which data center, which data centre, which location
where: in which datacenter, in which data center, at which location, in which location, which place, at what location
where: where abouts, what site
list: list, table
decision: decision, decision id, ruling, d-number, decision number, verdict, the id of the decision, which ruling
place: send, sends, sending, give to, handed to, hand, goes, taking on, take on, took on, decided for, decided on
place: go for, went for, settle on, settled on, opt for, opted for, favoured, favored, favoring, winning, victory
place: taking, go, went, gone, won, win, wins, winner, got, chosen, choose, chose, placed, place, placing, picked
place: pick, selected, select, awarded, award, assigned, sent, landed, end up, ended up, allocated, landed on, landing
place: ruled, gave, given, go to, won by, located, land, lands, land in, landed in, landed at, wound up, ended up at
place: ended up in, end up at, put, puts, allocate, allocation, placement, assign, scheduled, scheduled at
place: scheduled on, scheduled to, dispatched to, routed, routed to, route, shipped to, went to, going to, goes to
place: preferred, beat, beats, beaten, wins out, taken by, took place, chosen over, host, hosted, hosts, hosting
run: run, ran, running, runs, execute, executed, work, worked, working, processed, process, computed, run at, run on
run: training run, runtime, run time, run for, runs for
start: beginning, starting point, begin of, go off, on its way, start, started, starts, starting, begin, began, launch
start: launched, kicked off, kick off, kicks off, fire up, fired up, get going, got going, get started, got started
start: go live, set off, starting time, commence, commenced, began running, begin running, start running
start: started running, starts running, off the ground
end: ending of, finish line, end, ended, ends, finish, finished, finishes, done, complete, completed, wrap up
end: wrapped up, finishing time, end time, finish time, finishing, ending, over with, ready, completion
end: completion time
late: came in too late, not make their deadline, not make its deadline, not make the deadline, not meet their deadline
late: not meet its deadline, not meet the deadline, not make their deadlines, not meet their deadlines
late: fail to meet their deadline, failed to meet their deadline, failed their deadline, failed its deadline, ran late
late: running late, came in late, were behind, not finished in time, not finish in time, not finished on time
late: not finish on time, not done in time, not done on time, deadline not met, deadlines not met, lateness
late: missed their deadlines, on time, in time, late, overdue, missed their deadline, missed its deadline
late: missed deadlines, miss their deadline, miss its deadline, missed the deadline, miss the deadline
late: deadline misses, past their deadline, deadlines missed, deadlines were missed, missed deadline
late: after their deadline, too late, finished late, ended late, past the deadline, overran, blew their deadline
late: blew its deadline, blew the deadline, past due, behind schedule, deadline violations, deadline violation
late: sla violations, overshot, overshot their deadline, overshot its deadline, delinquent, tardy, deadline breaches
late: breached their deadline, breached its deadline, behind their deadline, not on time, not in time, miss a deadline
late: missed a deadline, missing their deadline, missing its deadline, missing the deadline, exceeded their deadline
late: violated their deadline, deadlines did we miss, deadlines we missed, deadlines got missed, past its deadline
late: past deadline, after the deadline, after its deadline, over deadline, due date missed, busted their deadline
late: busted its deadline
defer: start late, started late, so late, deferred, defer, delayed, postponed, held, held back, hold, put off
defer: start later, held up, postpone, the delay, delay, put back, held off, delaying, deferring, deferral, postponing
defer: parked, park, on hold, holding back, pushed back, push back, pushed out, shifted, shift, moved later
defer: holding off
waitingfor: waiting for, wait for
wait: waiting times, queueing times, queue times, queuing times, wait around, in the waiting line, wait in line
wait: waits for, standing in line, stand in line, wait, waits, waited, waiting, queue time, queued, queueing time
wait: waiting time, wait time, pending, queue, time in the queue, spend in the queue, waiting before
wait: spent in the queue, sit in the queue, in the queue, waiting time before, delay before, time waiting, wait times
wait: stuck in the queue, queue delay, queueing delay, queuing delay, queuing time, queuing, queueing, waiting in line
wait: in line, time in queue, in queue, wait in the queue, waits in the queue, idle in the queue, lined up, line up
wait: sat in the queue, sitting in the queue, wait before starting, linger, lingered, hang around
wait: delay until it started
queue: queue at, queue of, queue for, waiting at, queued in, queued at, backlog, backlog at, backlog of, backlog in
queue: lined up at, lined up in, lined up for, queue in, waiting in, in the queue at, in the queue of, waiting line at
queue: queue length at, queue length of
bids: quotes, bid, bids, offer, offers, offered, answer, answered, quote, quoted, say about, options, option
bids: bids came in, bids were made, came in for, bidder, bidders, bidding, put in a bid, made a bid, made an offer
bids: made offers, make an offer, proposals, proposal, proposed, submit a bid, submitted a bid, quotation, quotations
bids: respond, responded, responses, response, replied, reply, replies, came back with
unable: refusals, not handle, could not handle, why were there no bids from, no bids from, did not make an offer
unable: not make an offer, passed over, pass over, overlooked, skipped, left out, bypassed, stayed away from
unable: stay away from, stayed out of, stayed out, kept out of, were not able to, was not able to, not able to
unable: dropped out of, unwilling, ignored, disregarded, turned it down, had nothing to offer, offered nothing
unable: no offers, had no offer, have no offer, gave no offer, put in no bid, no bids, spoke against, speaks against
unable: speak against, held against, said no to, said no, could not take, can not take, ineligible, refuse, refused
unable: refuses, reject, rejected, rejects, turned down, excluded, not eligible, could not run, infeasible, no offer
unable: not bid, not offer, made no offer, ruled out, lose, lost out, could not have run, passed on, declined to bid
unable: turn down, did not bid, fail to bid, unsuitable, stopped from running, excluded from, decline, declined
unable: declines, reasons for not bidding, not bidding, refrain, refrained, refused to bid, refuse to bid, refusal
unable: rejection, rejections, say no to, says no to, turning down, abstain, abstained, disqualified, unable to take
unable: unable to run, unable, opted out, sat out, backed out, were unable to take, knocked out, filtered out
unable: out of the running, no bid, without a bid, without an offer, excuse
differ: main, cost differences, differences, differ by, main cost, cost gap, price gap, comes from, come from
differ: does come from, stem from, arise from, difference, differ, differed, differs, biggest term, largest term
differ: main term, decisive, deciding term, compare, differs most, differ most, main difference, biggest difference
differ: largest difference, different, cost difference, apart, gap, gap between, separated, separates, set apart
differ: tipped it, tipped the scales, tipped the balance, distinguishes, distinguished, cost component, term, terms
differ: which term, component, factor, delta, deciding factor, decisive factor, biggest factor, main factor
differ: largest factor, tip the balance, discrepancy, margin, spread
if: what if, if, suppose, had won, would have, instead on, could have, how would, what would happen, had gone, were to
if: assuming, imagine, would, wouldn't, what happens if, what would have happened if, what would have happened had
if: what would happen had, what if we had, if we had, hypothetically, pretend, let us say, say that, in case
if: had it been, were it
instead: instead, instead of, rather than, over
elsewhere: better place, elsewhere, anywhere else, other sites, another site, at other sites, somewhere else
elsewhere: at the other sites, other site, elsewhere instead, in another place, another place, some other site
elsewhere: any other site, at a different site, different site, on another cluster, another cluster, other clusters
elsewhere: in another region, another region, in other regions, at any other site
immediately: immediately, at once, right away, straight away, without waiting, on arrival, start now, started now
immediately: run now, right now at once, without delay, instantly, straightaway, right then, as soon as it arrived
immediately: when it arrived, on the spot, with no wait, with no delay, no waiting, upon arrival, directly
immediately: as soon as it came in, the moment it arrived, the moment it came in
save: save, saved, saves, saving, savings, gain, gained, worth it, worth waiting, pay off, paid off, benefit
save: benefit of, benefits, benefits of, advantage, advantage of, worth, worthwhile, worth the wait, saves us, gain by
save: gained by, save by, saved by, bring us, buy us, bought us, benefitted
carbonprice: carbon price, a carbon price of, carbon price of, price of carbon, carbon tax, with carbon at
carbonprice: break-even carbon price, breakeven carbon price, under a carbon price of, with a carbon price of
carbonprice: at a co2 price of, co2 price, co2 price of, price per tonne of co2, price per tonne of carbon
carbonprice: price per ton of co2, price of co2, price on carbon, price on co2, co2 tax, carbon pricing
carbonprice: carbon cost of, with carbon priced at, carbon priced at, emissions price, price for carbon, price for co2
carbonprice: if carbon were
breakeven: needed, required, necessary, how pricey, need to be, needs to be, have to be, has to be, must be
breakeven: would need, until, how far up, how high, how low, how far must, needed for, required for, break-even
breakeven: breakeven, at what, break even, tipping point, how expensive must, how expensive would, how high must
breakeven: how high would, get before, be before, from which, from what, threshold, at which, crossover
breakeven: crossover point, turning point, switch point, tip over
change: change, changed, changes, flip, flips, switch, switches, turn out differently, different outcome
change: come out differently, differently, same, the same, unchanged, stay the same, outcome, affect, affected, alter
change: altered, what changes, what would change, change anything
tonne: €/tco2, tco2e, euros, euro, eur, dollars, dollar, usd, t, tonne, tonnes, ton, €/t, $/t, a tonne, eur/t, usd/t
tonne: tco2, eur/tco2, usd/tco2, $/tco2, eur/ton, usd/ton, euro/t, a ton, per tonne, per ton, per t, a tonne of co2
tonne: per tonne of co2, per ton of co2, per tco2, bucks, bucks a tonne, dollars a tonne, dollars per tonne
tonne: eur per tonne, euros per tonne, usd per tonne, €/tonne, $/tonne, per tonne of carbon, a tonne of carbon
tonne: per ton of carbon, dollars a ton, per tonne co2
slack: deadline, slack, hours of slack, more hours of slack, more time, later deadline, longer deadline, could wait
slack: could have waited, deadline later, later, with more time, longer to finish, more slack, extra slack, deadlines
slack: deadline extended by, extended deadline, looser deadline, relaxed deadline, extra hours, extra time
slack: additional time, more leeway, leeway, extension, deadline extension, extended, deadline had been, moved back
slack: pushed back by, due later
without: in a world without, shut, without, ignoring, down, were down, was down, had been down, been down, drop
without: removed, ignored, excluding, minus, disregarding, lost, away, had been away, were away, were offline
without: had been offline, shut down, were not there, had not been there, were gone, was gone, is gone, be gone
without: gone dark, been gone, were no, losing, loss of, out of, unavailable, were unavailable, was unavailable
without: not available, offline, been offline, had been unavailable, without any, in the absence of, absence of
without: absent, drops out, dropped out, drop out, failed, were to fail, fails, were taken out, taken out of
without: turned off, switched off, were switched off, powered down, taken offline, knocked out, knocked offline, gone
without: missing, outage of, an outage of, outage at, outage, take away, taken away, did not exist, not existed
without: never existed, out of the picture, out of the market, not been there, unplugged, dead
residency: residency, residency rule, data residency, data residency rule, residency constraint, residency constraints
residency: residency requirement, residency requirements, residency restriction, residency restrictions
residency: residency rules, allowed to travel freely, travel freely, free to travel, free to move, allowed anywhere
residency: allowed to go anywhere, go anywhere, data locality, locality, locality rule, data rule, data restriction
residency: sovereignty, data sovereignty, region limit, region limits, location restriction, location restrictions
residency: geo restriction, allowed to be anywhere, allowed to leave
compare: compared, versus, vs, better, than, compared to, compared with, stack up against, stacks up against, against
compare: comparison, comparison of, comparison between, contrast, measure up to, relative to, v, or
policy: policy, policies
policyname: heuristic, auction, greedy, first-come-first-served, fcfs, fifo, baseline, random
carbon: tco2, tco2e, €/tco2, eur/tco2, usd/tco2, $/tco2, carbon, co2, co2e, emissions, emission, gco2, carbon dioxide
carbon: carbon footprint, footprint, greenhouse gas, ghg, kgco2, kg, kilograms of co2, kilograms of carbon, kg of co2
carbon: co2 emissions, carbon emissions, carbon dioxide emissions, co₂, co2eq, co2-eq, kgs of co2, kilos of co2
carbon: kilos of carbon, kilo of co2, kilogrammes of co2, tonnes of co2, tons of co2, tonnes of carbon, tons of carbon
carbon: grams of co2, grams of carbon, t of co2, kilos, kilograms, for the climate, climate impact, climate
carbon: carbon output, co2 output, co2 footprint, greenhouse gases, greenhouse gas emissions, kg co2, kg co2e, kgs
carbon: co2 balance, carbon balance, carbon bill, climate footprint, pollution
emit: most emitting, emit, emitted, emits, emitting, produced, caused, cause, causes, responsible for, polluting
emit: polluted, pollute, put out, give off, gave off, spew, spewed, pump out, pumped out, release, released, generate
emit: generated, polluter, emitter, emitters, polluters, responsible, blow out, blew out, account for, accounted for
emit: accounts for, contributed, contribute, attributable to, down to
energy: energy, electricity, kwh, electricity used, consumption, consumed, power used, used energy
energy: electricity consumption, energy consumption, energy use, energy used, kilowatt hours, kilowatt-hours, mwh, wh
energy: gwh, kilowatthours, watt hours, megawatt hours, power consumption, energy demand, juice, electric energy
energy: electrical energy, power usage, energy usage, electricity usage, power use, amount of power, amount of energy
energy: electricity demand
cost: damage, the damage, amount due, sum due, dollar amount, in dollars, in euros, in money, money spent, cost us
cost: set us back, cost, costs, money, spend, spent, spending, expense, power cost, euros spent, expensive
cost: most expensive, costliest, dearest, electricity bill, power bill, energy bill, electricity cost, energy cost
cost: spend on power, spent on power, expenses, owe, owes, owed, went into power, gone into power, into power
cost: into electricity, into energy, on power, on electricity, on energy, for power, for electricity, for energy
cost: went into electricity, dollars, euros, bucks, expenditure, expenditures, outlay, charge, charge-back, chargeback
cost: budget, pricey, bill for electricity, bill for power, bill for energy, pay for electricity, pay for power
cost: pay for energy, paid for electricity, paid for power, paid for energy, pay for, electricity costs, power costs
cost: energy costs, electric bill, energy expenses, energy spend, electricity spend, power spend, financially
used: takes, taking in, spent on running, used, use, uses, burn, burned, burnt, burns, consume, consumes, consuming
used: using, usage, draw in all, eat, ate, guzzle, guzzled, go through, went through, take in all
most: most, highest, dirtiest, biggest emitter, worst, largest share, top, most emitting, dearest, most expensive
most: costliest, maximum, max, longest, largest, most of all, with the most, the most, heaviest, greatest
most: worst offender, worst offenders, top-most, biggest, priciest, hungriest, thirstiest
least: least, lowest, minimum, min, smallest, shortest, tiniest, fewest, lightest
greenest: low-carbon, cleanest choice, greenest, cleanest, lowest carbon, least carbon, green, clean, lowest-carbon
greenest: lowest co2, greener, cleaner, climate friendly, most climate friendly, climate-friendly, eco friendly
greenest: eco-friendly, most eco friendly, sustainable, most sustainable, lowest emission, lowest-emission
greenest: lowest emissions, least polluting, least dirty, low carbon, lower carbon, lower-carbon, most renewable
greenest: renewable, best for the climate, carbon-friendly, carbon friendly, lowest in carbon, lowest in co2
greenest: least co2, least carbon-intensive, clean power, cleanest power, cleanest electricity, greenest power
greenest: greenest electricity, clean energy, green energy, lowest carbon intensity, lowest intensity
greenest: best carbon intensity, best intensity, smallest carbon intensity, minimum carbon, cleanest energy
greenest: greenest energy, lowest footprint, at its cleanest, at its greenest, lowest ci, lowest g/kwh
greenest: least intensity, least emissions
cheapest: cheapest, cheap, lowest price, cheaper, lowest cost, least cost, least expensive, inexpensive
cheapest: most affordable, affordable, best value, lowest-price, lowest-cost, best price, cheapest power
cheapest: cheapest electricity, cheapest energy, least pricey, lowest electricity price, lowest power price
cheapest: lowest energy price, lowest prices, lowest tariff, at its cheapest, best deal, cheap power
cheapest: cheap electricity
dirtiest: dirtier place than necessary, dirtier than necessary, dirtier site than necessary
dirtiest: biggest emitter among the sites, dirtier, dirtier place, dirtiest site, dirtiest, biggest emitter
dirtiest: worst polluter, biggest polluter, largest emitter, worst emitter, top emitter, highest emitter, main emitter
dirtiest: top polluter, worst offender, biggest offender, main polluter, largest polluter, heaviest emitter
bysite: by site, per site, by sites, each site, every site, for each site, site by site, across sites, split by site
bysite: by location, by cluster, per cluster, per location, each cluster, for each cluster, every cluster
bysite: of each site, at each site, by agent
bytenant: by tenant, per tenant, by team, per team, each tenant, each team, for each tenant, which tenant, which team
bytenant: tenant by tenant, split by tenant, of each tenant
byhour: by hour, per hour, hourly, each hour, hour by hour, over time, over the day
byjob: by job, each job, every job
jobs: run jobs, job, jobs, workload, workloads, gang, gangs, task, tasks, training, trainings, train, inference
jobs: run of, batch, queue entries, submissions
sites: site, sites, agent, agents, cluster, clusters, location, region, regions, place, places, datacenter
sites: datacenters, data center, data centers, data centre, data centres, dc, dcs, facility, facilities, locations
sites: partner, partners, provider, providers, bidder sites, member, members
tenants: tenant, tenants, team, teams, customer, customers, department, departments, group, groups, user, users
tenants: client, clients
intensity: carbon intensity, ci, intensity, gco2 per kwh, g/kwh, gco2/kwh, how green, how clean, carbon intensities
intensity: co2 per kwh, grid intensity, grams of co2 per kwh, grams per kwh, grams of carbon per kwh, g per kwh
intensity: kg per mwh, carbon content, how dirty, co2 intensity, emission intensity, emissions intensity
intensity: emission factor, emissions factor, grid emissions, grid carbon, g co2 per kwh, grams co2 per kwh
intensity: g of co2 per kwh, g/kwh of co2, gco2eq/kwh, grams a kwh, grams per kilowatt hour, carbon per kwh
intensity: carbon per kilowatt hour, co2 per kilowatt hour, how dirty is the grid, dirty, how dirty is the power
intensity: how clean is the power, how green is the power, carbon factor, grid mix, cleanliness, greenness
intensity: gramms per kwh, how sustainable, how carbon intensive, how carbon-intensive, carbon level, co2 level
intensity: carbon levels, co2 content, carbon intensive
ourenergy: overall, our energy, of our energy, energy we used, our electricity, our power, what we consumed
ourenergy: we consumed, energy we consumed, electricity we used, electricity we consumed, power we used
ourenergy: our consumption, energy consumed, per kwh used, per kwh consumed, of what we used, that we used
ourenergy: that we consumed
price: electricity price, power price, price of electricity, price of power, energy price, price, grid price
price: spot price, spot prices, prices, electricity prices, power prices, tariff, tariffs, rate, a mwh cost, mwh cost
price: a kwh cost, kwh cost, cost per mwh, cost per kwh, cost of a mwh, cost of a kwh, price per mwh, price per kwh
price: price of a mwh, price of a kwh, per mwh, market price, $/mwh, €/mwh, usd/mwh, eur/mwh, price of energy
price: energy prices, grid prices, electricity tariff, cost of electricity now, dollars per mwh
price: dollars per megawatt hour
average: usually, normally, generally, ordinarily, as a rule, in general, statistically, average, mean, avg
average: on average, typical, typically, averaged, in the mean, mean value, the usual, usual, on avg
p95: p95, 95th percentile, 95th-percentile, 95 percentile, 95th pct, 95 pct, 95th percentile of, percentile 95, 95 %
p95: p-95, 95th, 95-percentile
median: median, p50, 50th percentile, the median, p-50
now: now, right now, at the moment, at present, latest, today's state, current, right this moment, at this moment
now: presently, right at the moment, at this instant, this instant, lately, recently, nowadays, as of now, live
now: at this point, right now please, this very moment, this minute, today right now, immediately now, these days
now: currently
free: availability, gpu availability, free, idle, available, unused, room, is there room, vacant, spare, unoccupied
free: unallocated, spare capacity, idle capacity, free capacity, capacity left, open, headroom, space, space for
free: not in use, not busy, sitting idle, lying idle, unassigned, going spare, to spare, slack capacity, vacancies
free: vacancy, leftover, left over, unbooked, remaining capacity, room left, room for, some room, any room, have room
free: had room, capacity free, capacity available
gpus: gpu, gpus, gpu's, card, cards, accelerator, accelerators, graphics cards, graphic cards, capacity, devices
gpus: gpu cards, compute, gpu capacity, compute capacity
largest: largest, biggest, largest block, biggest block, block, how large, how big, how big a, chunk, contiguous
largest: contiguous chunk, largest chunk, biggest chunk, contiguous block, max size, maximum size, size, maximum gang
largest: max gang, gang size, large, big, largest gang, biggest gang, largest contiguous, upper limit
fit: fit, fits, take now, could take, can take, hold, accommodate, squeeze, squeeze in, squeeze into, cram, cram into
fit: can i get, could i get, get me, fits in, fits on, fit in, fit on, fit into, can i have, accommodated, swallow
fit: absorb, be placed, handle, cope with, stomach
frag: fragmented, fragmentation, fragments, scattered, how scattered, splintered, shattered, chopped up, defragmented
frag: fragmentation level, defrag
power: power draw, power, kw, draw, drawing, watts, drawn, kilowatts, drawing power, kilowatt, current draw, pulling
power: pull, wattage, electrical draw, electric load, electrical load, load in kw, power load, kva, mw, megawatts
power: megawatt, watt, power level, power being drawn, power usage now, sucking, electrical power, current power
power: drawing right now, instantaneous power, load
report: last check in, report, reported, last report, last reported, heard from, last seen, last heard
report: last heard from, heard, hear from, reporting, last hear, heartbeat, last heartbeat, sign of life
report: last sign of life, signs of life, alive, still alive, check in, checked in, last check-in, responding
report: still responding, last message, last contact, contact, contacted, in touch, last update, updated, last updated
report: phoned home, online, still online, still there, still up, last time we heard, when did we hear, last word
report: time since, reach, reachable, last news, news
forecast: forecast, forecasts, predicted, prediction, expected, outlook, foreseen, projected, predictions, prognosis
forecast: outlooks, projection, projections, expectation, forecasted, forecasting, prediction of, predict, predicts
forecast: anticipated, expect, expected to be, look ahead, looking ahead
error: any good, no good, be trusted, to be trusted, worth anything, error, wrong, off, accuracy, accurate, how wrong
error: how good, how far off, far off, mean error, inaccuracy, errors, mae, mean absolute error, mistaken, miss by
error: missed by, precise, precision, reliable, reliability, good was, good were, how accurate, inaccurate, deviate
error: deviation, deviations, deviated, quality, how correct, correct, trustworthy, turn out, turned out, hold up
error: held up, come true, came true, how far out, how right, how precise
next: next, coming, ahead, coming up, upcoming, over the next, in the coming, following, within the next
best: which hour is best, best hours, best point in time, best day, best slot, best, best hour, best time, best start
best: should, best moment, best hour for carbon, cleanest time, greenest hour, cleanest hour, best time to start
best: ideal, ideally, optimal, optimum, ideal time, optimal time, smartest, good time, good moment, sensible
best: favourable, favorable, most favourable, perfect time, right time, right moment, best window, when is it best
best: wisest, suitable, smart time, clever
submit: need, launch time, start time for, starting time for, submit, submitting, schedule, launch it, launching
submit: queue up, send it off, hand in, kick it off, schedule it, start it, submit it, run it, do it, send off
submit: put it in
canwait: can wait, can be delayed, flexible, flexible by, can be shifted, shiftable, can slip, has slack of
canwait: with slack of, can be put off, time to spare, deferrable, deferrable by, deferrable for, not urgent, no rush
canwait: no hurry, can be delayed by, can wait for, can wait up to, flexible within
rules: rule, rules, policy rules, weights, rules are active, active, show rules, in force, configured, which weights
rules: weight, prices in force, apply, active rules, active policy, show the policy, current policy, current rules
rules: ruleset, rule set, policies in force, policy in force, policies active, policies apply, currently in force
rules: policy settings, settings, configuration, parameters, constraints in force, policies are active
rules: policies are in force, in effect, constraints
quota: quota, quotas, borrow, borrows, borrowed, borrowing, cohort, left quota, quota left, remaining quota
quota: over quota, quota remaining, remaining budget of gpus, gpu quota, allowance, entitlement, entitled
fairshare: fair share, fair, fairness, fair-share, share, shares, fairly, treated fairly, fair treatment, unfair
fairshare: portion, slice, share of, shares of, proportion, split fairly, fair split, equal share, gpu hours
fairshare: gpu-hours
priority: priority, priorities, priority class, priority classes, prioritised, prioritized, priority level, prio
priority: prios, precedence
preempt: preempt, preempted, preempts, preemption, evict, evicted, evictions, kicked out, killed, kicked off by
preempt: got kicked, pushed out by, interrupted, bumped, bumped off, suspended, evicting, preempting, ousted
preempt: thrown out, booted
replica: replica, replicas, pods, pod, k of n
arbitrated: arbitrated, arbitration, model decide, the model decide, model decided, llm, tie-break, tie-breaks
arbitrated: tiebreak, tie break, judge, ai, did the model, the model choose, model chose, asked the model, model asked
arbitrated: language model, arbiter, arbitrate, arbitrations, language models, consulted, model consulted
arbitrated: was the model, chatgpt, gpt, artificial intelligence, an ai, model pick, model picked, model involved
arbitrated: tie breaks, tie breaker, tie-breaker, by the model, by a model, ai model, ollama, the judge
daybefore: day before, the day before, against yesterday, than yesterday, previous day, with yesterday, to yesterday
daybefore: compare with yesterday, compare to yesterday, compared with yesterday, compared to yesterday, vs yesterday
daybefore: versus yesterday, since yesterday, with the day before, compared with the day before, than the day before
daybefore: compared to the day before, compare with the day before, compare to the day before, against the day before
changedby: last policy change, who changed, policy last, changed the policy, changed last, changed the policy last
changedby: policy changed last, policy changed, made the last policy change, last changed the policy, last changed
changedby: policy history, policy log, policy changes, history of the policy, edited the policy, touched the policy
changedby: who set the policy, policy was changed
underbid: match the metering, match, matches, realistic, line up with, lines up with, in line with, consistent with
underbid: promise too much, promises too much, too optimistic, overpromise, over-promise, overpromised
underbid: keep to their bids, kept to their bids, reliable bids, trust the bids, agree with, underbids, underbid
underbid: underbidding, overbid, overbids, differ from what it then used, honest, lie, lied, lies, bid error
underbid: then used, accurate bids, bid what they then use, bid error by site, honest are the bids, promise, promised
underbid: keep their bids, lowball, lowballs, lowballing, bid accuracy, accuracy of bids, accuracy of the bids
underbid: bids accurate, bids honest, cheat, cheats, cheating, too low, bids too low, bid too low, under-bid
underbid: optimistic, over-optimistic, bid error per site, dishonest, truthful, truthfully, keep their word
underbid: kept their word, keep their promises, live up to their bids, stick to their bids, sticks to its bids
underbid: true to their bids, match their bids, matched their bids, understate, understates, understated
silent: outages, answering, not answering, stopped answering, stop answering, quit answering, unavailable agents
silent: gone silent, gone missing, miss any rounds, missed any rounds, missed any auctions, miss any auctions
silent: miss auctions, missed auctions, missed auction rounds, missed an auction, answer every round
silent: answered every round, silent, missed bidding rounds, missed rounds, unreachable, did not answer, not answer
silent: miss rounds, missed, not respond, offline, miss a bidding round, missed a bidding round, missed a round
silent: miss a round, went silent, no answer, did not respond, gave no answer, failed to answer, quiet, went quiet
silent: go quiet, gone quiet, went dark, go dark, skipped auctions, skip auctions, skipped rounds, skip rounds
silent: skipped a round, skipped bidding, unresponsive, not responding, dropped off, disconnected, lost contact
silent: no contact, cannot be reached, can not be reached, not reachable, lost connection, not heard from, unanswered
silent: failed to respond, failed to bid, did not take part, not take part, timeouts, timed out, timeout, no-show
silent: no-shows, mute, never answered, failed to reply, not reply, ignored calls, be reached, dropped out of rounds
stuck: sits there, sitting there, just sits, sits idle, sits around, sitting around, will not start
stuck: not going anywhere, goes nowhere, stuck, hang, hanging, never started, never ran, not finished, unfinished
stuck: unplaced, not placed, never finished, for ever, stuck for ever, forever, not moving, hung, hung forever
stuck: hang forever, hanging forever, stalled, zombie, zombies, dead in the water, in limbo, limbo, will never start
stuck: will never run, jammed, lost jobs, starving, starved, starve, starvation, going nowhere, not finish, not ended
stuck: did not finish, never end, never ended, wedged, blocked forever, not completed, incomplete, still open
stuck: unserved, left behind, without a site, no site
history: move, history, timeline, what happened to, happened to, life of, story of, re-dispatched, redispatched
history: dispatched, rescheduled, moved, migrated, path of, happened with, life story, lifecycle, life cycle
history: ever moved, been moved, was moved, log of, event log, events of, trace, trace of, story, chronology
history: chronology of, full story, journey, journey of, biography, track record, relocated, happen to, happening to
history: happening with, transferred, moved around, sequence of events, become of, became of, go on with, been through
happened: was decided, got decided, happens, happens to, happens with, what happens, what happens to, what happened
happened: happened, going on, what went on, did happen, happen, events, event, happening, occurred, occur, take place
happened: took place at, has changed, going down, goings-on, news from, activity, activities, transpired
decide: decide, decided, decisions, coordinator, awards, award decisions, ruled on, rulings, decisions were made
decide: decisions did
advice: should i change, should change, what to change, what should i change, how can i, advice, improve, fix, sooner
advice: tips, tip, tips for, recommend, recommendation, recommendations, suggestion, suggestions, suggest, speed up
advice: speed, faster, quicker, what could i do, what can i do, what can be done, how could i, how do i get, earlier
advice: quickly, make it cheaper, what would help, would help, how to, optimise, optimize, get it cheaper
advice: cut the cost, reduce the cost, lower the cost, do differently, do better, advise
ahead: come before, comes before, came before, before me in the queue, is before, are before, was before, were before
ahead: started before, served before, ahead of me, in front of me, jobs before, ahead of my, ahead of, in front of
ahead: before me, blocks, blocking, in the way of, competing with, holding, ahead, in line before, in the line before
ahead: in the queue before, queue before, queued before, waiting before, before it, precedes, precede, preceding
ahead: preceded, jumped ahead, in front, further up, took precedence over, overtook, cut in front of, hogging
ahead: occupying, using the gpus, holds the gpus, ahead in the queue
home: home, home site, its home, overflow, preferred site, own site, at home, home region, home cluster, home location
home: where it came from, its own site, submitted from, its origin, origin
asked: submit, submits, submitted, arrive, arrived, came, come, request, requested, ask, received, came in, get in
asked: submitted at, handed in, enqueued, entered
only: only
back: back
everything: bill, everything, consumption and cost, resource use, all costs, resources, resource usage
everything: resource consumption, full bill, total bill, cost and carbon, statement, invoice
paidto: paid, pay, pays, charged, payment, paid to, receive, received, earn, earned, earnings, income, revenue
paidto: compensated, reimbursed, remunerated, takings, pocketed, compensation
help: help, what can i ask, what can you do, what can be asked, questions
summary: tl dr, summary, summarise, summarize, overview, totals, results, result, how did it go, recap, sum up, tl;dr
summary: tldr, in short, in a nutshell, big picture, key figures, headline figures, kpis, kpi, statistics, stats
summary: at a glance, high-level, wrap-up, digest, give me an overview, rundown, brief, how did the day go
summary: how did the run go, how was the day, how did things go, how are we doing, how did we do, status
summary: how did it all go, dashboard, key numbers
unrecorded: water, trees, tree, temperature, humidity, cars, car, flights, weather, latency, uptime, noise, litres
unrecorded: liters, lorries, planes, households, homes powered, temperatures, heat, rain, wind speed, sunshine
unrecorded: salaries, cooling, failures of disks, memory errors, bandwidth
opinion: love, good, bad, run well, opinion, trust, deserve, nice, happy, smart, do you think, you think, do you like
opinion: you like, i like, like best, like most, worth using, reasonable, stupid, silly, fair to say, better person
opinion: favourite, favorite, should i trust, run badly, ugly, best site overall
beyond: next year, next month, in 12 months, next week, months, month, year, years, future, 2027, 2028, 2029, 2030
beyond: 2035, 2040, 2050, decade, decades, century
act: over to, relocate, relocated, move, migrate, stop, cancel, delete, restart, suspend, resume, resubmit, scale, reschedule, pause, terminate
act: abort, drain, cordon, kill, reboot, shut down, turn off, switch off, evict, launch job, start job, fire, hire
act: buy, sell, deploy, install, upgrade, uninstall, wipe, erase, reset, transfer, submit job
legislate: drop, limit, prefer, cap, forbid, allow, ban, never move, must stay, must, disallow, use hydro first
legislate: favour, favor, keep, remove, lift, require, exclude, avoid, stop using, restrict, set
rulewords: till, until, weekend, hydro, eu, out, outside, data, stay, anywhere, always, for ever
hinder: takes so long, take so long, take so long to start, takes so long to start, taking so long, took so long
hinder: holdup, hold-up, the holdup, hold-up with, what is wrong, trouble with, problem with, matter with
hinder: the matter with, the problem with, the trouble with, impede, impedes, impeding, obstacle, obstacles
hinder: bottleneck, blocker, blockers, standing in the way, what keeps, what kept, what stops, what stopped
hinder: what prevents, what prevented, what holds, what delayed, what delays, what blocks, what blocked
hinder: what is holding, what holds up, what is holding up, holding up, what is keeping, what is stopping
hinder: what is preventing, what is blocking, blocks, what is in the way, what is wrong with, wrong with, what hinders
hinder: what is delaying, keeps, keeping, hold up, holds back, preventing, prevents, prevent, prevented, stopping
hinder: stopped, stops, kept, hindered, hindering, blocked, block
mine: my jobs, my team, my tenant, my workloads, my carbon, my emissions, my footprint, my energy, my costs, my cost
mine: my bill, my wait, my waits, i emit, i emitted, i spend, i spent, i use, i used, did i
never: never, do not
ruleid: rule id
stale: stale, outdated, out of date, how old, age of, fresh, freshness, how fresh, how recent, up to date
stale: how old is the data, data age, age of the data, old is the data
pert: t, tonne, tonnes, ton, €/t, $/t, a tonne, a ton, per tonne, per ton, per t, eur/t, usd/t, tco2, tco2e, eur/tco2
pert: usd/tco2, €/tco2, $/tco2, dollars per tonne, euros per tonne, dollars a tonne, dollars a ton, per tonne of co2
pert: per tonne of carbon, per tco2, €/tonne, $/tonne
hourword: slot, hour, moment, stunde, time slot, time window, window, point in time, time of day
missed: not make, not meet, fail to meet, failed to meet, not keep, not kept, fail to make, failed to make, miss
missed: missed, misses, missing, blew, blown, breached, violated, exceeded, overshot, busted
deadline: deadline, deadlines, due date, due dates, sla, slas, due time, cut-off
helped: involved, helped, help, had helped, have helped, make a difference, made a difference, matter, mattered
measured: metering, the meter, meters, meter, measurements, measurement, what was measured, in the end, measured
measured: metered, metered values, reality, actual, actuals, actually used, really used, actual consumption
measured: actual use, actual usage, meter readings, what they used, what was used, real usage, real consumption
more: extra cost, how much more, how much less, extra, dearer, surcharge, premium, penalty, penalty for, penalty of
more: additional, additionally, worse, costlier, how much worse
`
