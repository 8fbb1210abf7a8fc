package chat

import "strings"

// lexicon is what words mean to the grammar: concepts, then the phrases that
// stand for them. Phrases after "_" say nothing that changes an answer. Every
// word of a question must be here, or be a name, a number or a time.
const lexicon = `
_: a an the of for to in on by as is was were are am be been being do does did has have had having will shall it its this that these those there then so
_: please me my mine our ours we us i you your tell show give say get just really exactly currently still one ones
_: and with from s thing things kind much what's about each any some every all altogether overall in total total effect effects getting anyone anybody anything grid
_: utc cent value figure figures amount number id name called
_: at into onto
_: split left made make makes making take took taken taking during over across between whole entire run's could can choice
why: why, reason, reasons, explain, how come, for what reason, explanation, what is the reason, what was the reason, what caused
not: not, never, no, do not
which: which, what, who, whose
how: how
many: how many, number of, count, count of, how often
long: how long
when: when, what time, start time, at what time, which hour, what hour
where: where, location of, located, at what site, on what site, at which site, on which site, on which cluster
list: list, table
decision: decision, decision id
place: go, goes, went, gone, won, win, wins, winner, got, chosen, choose, chose, placed, place, placing, picked, pick, selected, select, awarded, award, assigned, sent, landed, end up, ended up, allocated, landed on, landing, ruled, gave, given, go to, won by, located
run: run, ran, running, runs, execute, executed
start: start, started, starts, starting, begin, began, launch, launched
end: end, ended, ends, finish, finished, finishes, done, complete, completed
late: missed their deadlines, on time, in time, late, lateness, overdue, missed their deadline, missed its deadline, missed deadlines, miss their deadline, miss its deadline, missed the deadline, miss the deadline, deadline misses, past their deadline, deadlines missed, deadlines were missed, missed deadline, after their deadline, too late, finished late, ended late, past the deadline, overran
defer: start late, started late, so late, deferred, defer, delayed, postponed, held, held back, hold, put off, start later, held up, postpone, the delay, delay, put back, held off
waitingfor: waiting for, wait for
wait: wait, waits, waited, waiting, queue time, queued, queueing time, waiting time, wait time, pending, queue, time in the queue, spend in the queue, waiting before, spent in the queue, sit in the queue, in the queue, waiting time before, delay before, time waiting, wait times, waits, stuck in the queue
queue: queue at, queue of, queue for, waiting at
bids: bid, bids, offer, offers, offered, answer, answered, quote, quoted, say about, options, option, bids came in, bids were made, came in for
unable: said no to, said no, could not take, can not take, ineligible, refuse, refused, refuses, reject, rejected, rejects, turned down, excluded, not eligible, could not run, infeasible, no offer, not bid, not offer, made no offer, ruled out, lose, lost out, reject, could not have run, passed on, declined to bid, turn down, did not bid, fail to bid, unsuitable, stopped from running, excluded from
differ: difference, differ, differed, differs, biggest term, largest term, main term, decisive, deciding term, compare, differs most, differ most, main difference, biggest difference, largest difference, different, cost difference, apart
if: what if, if, suppose, had won, would have, instead on, could have, how would, what would happen, had gone, were to, assuming, imagine, would, wouldn't
instead: instead, instead of, rather than, over
elsewhere: elsewhere, anywhere else, other sites, another site, at other sites, somewhere else, at the other sites, other site
immediately: immediately, at once, right away, straight away, without waiting, on arrival, start now, started now, run now, right now at once, without delay
save: save, saved, saves, saving, savings, gain, gained, worth it, worth waiting
carbonprice: carbon price, a carbon price of, carbon price of, price of carbon, carbon tax, with carbon at, break-even carbon price, breakeven carbon price
breakeven: break-even, breakeven, at what, break even
change: change, changed, changes, flip
tonne: euros, euro, eur, dollars, dollar, usd, t, tonne, tonnes, ton, €/t, $/t, a tonne
slack: deadline, slack, hours of slack, more hours of slack, more time, later deadline, longer deadline, could wait, could have waited, more time, deadline later, later, with more time, longer to finish
without: without, ignoring, down, were down, was down, had been down, been down, drop, removed, ignored, excluding, minus, disregarding, lost, away, had been away, were away, were offline, had been offline, shut down, were not there, had not been there
residency: residency, residency rule, data residency
compare: compared, versus, vs, better, than
policy: policy, policies
policyname: auction, greedy, first-come-first-served, fcfs, fifo, baseline, random
carbon: carbon, co2, co2e, emissions, emission, gco2, carbon dioxide, carbon footprint, footprint, greenhouse gas, ghg, kgco2, kg, kilograms of co2, kilograms of carbon, kg of co2, co2 emissions, carbon emissions, carbon dioxide emissions
emit: most emitting, emit, emitted, emits, emitting, produced, caused, cause, causes, responsible for, polluting, polluted, pollute
energy: energy, electricity, kwh, electricity used, consumption, consumed, power used, used energy, electricity consumption, energy consumption, energy use, energy used, kilowatt hours, kilowatt-hours
cost: cost, costs, money, spend, spent, spending, expense, power cost, euros spent, expensive, most expensive, costliest, dearest, electricity bill, power bill, energy bill, electricity cost, energy cost, spend on power, spent on power, expenses
used: used, use, uses
most: most, highest, dirtiest, biggest emitter, worst, largest share, top, most emitting, dearest, most expensive, costliest, maximum, max, longest, highest, largest, most of all, with the most, the most
least: least, lowest, minimum, min, smallest, shortest
greenest: cleanest choice, greenest, cleanest, lowest carbon, least carbon, green, clean, low-carbon, lowest-carbon, lowest co2, greener, cleaner
cheapest: cheapest, cheap, lowest price, cheaper, lowest cost, least cost, least expensive
dirtiest: dirtiest site, dirtiest, biggest emitter, dirtiest
bysite: by site, per site, by sites, each site, every site, for each site, site by site, across sites, split by site, by location, split by site, by cluster, per cluster, per location, each cluster, for each cluster, every cluster, of each site, at each site, by agent
bytenant: by tenant, per tenant, by team, per team, each tenant, each team, for each tenant, which tenant, which team, tenant by tenant, per tenant, split by tenant, of each tenant
byhour: by hour, per hour, hourly, each hour, hour by hour, over time, over the day
byjob: by job, each job, every job
jobs: job, jobs, workload, workloads, gang, gangs
sites: site, sites, agent, agents, cluster, clusters, location, region, regions
tenants: tenant, tenants, team, teams
intensity: carbon intensity, ci, intensity, gco2 per kwh, g/kwh, gco2/kwh, how green, how clean, carbon intensities, co2 per kwh, grid intensity, grams of co2 per kwh, grams per kwh, grams of carbon per kwh, g per kwh, kg per mwh, carbon content, how dirty
ourenergy: overall, our energy, of our energy, energy we used
price: electricity price, power price, price of electricity, price of power, energy price, price, grid price
average: average, mean, avg, on average, typical
p95: p95, 95th percentile, 95th-percentile, 95 percentile
median: median, p50, 50th percentile
now: now, right now, at the moment, at present, latest, today's state, current, right this moment, at this moment
free: free, idle, available, unused, room, is there room, vacant, spare
gpus: gpu, gpus, gpu's, card, cards, accelerator, accelerators
largest: largest, biggest, largest block, biggest block, block, how large, how big, how big a
fit: fit, fits, take now, could take, can take, hold, accommodate
frag: fragmented, fragmentation, fragments
power: power draw, power, kw, draw, drawing, watts, drawn, kilowatts, drawing power, kilowatt, current draw
report: report, reported, last report, last reported, stale, heard from, last seen, last heard, last heard from, fresh, heard, how old, age of, hear from, reporting, last hear
forecast: forecast, forecasts, predicted, prediction, expected, outlook, foreseen, projected
error: error, wrong, off, accuracy, accurate, how wrong, how good, how far off, far off, mean error, inaccuracy
next: next, coming, ahead
best: best, best hour, best time, best start, should, best moment, best hour for carbon, cleanest time, greenest hour, cleanest hour, best time to start
submit: submit, submitting, schedule
canwait: can wait, can be delayed, flexible
rules: rule, rules, policy rules, weights, rules are active, active, show rules, in force, configured, which weights, weight, prices in force, in force, apply, active rules, active policy, show the policy, current policy, current rules
quota: quota, quotas, borrow, borrows, borrowed, borrowing, cohort, limit, limits, left quota, quota left, remaining quota, over quota, remaining
fairshare: fair share, fair, fairness, fair-share, share, shares
priority: priority, priorities, class, classes, factor
preempt: preempt, preempted, preempts, preemption, evict, evicted, evictions, kicked out, killed
replica: replica, replicas, pods, pod, k of n
arbitrated: arbitrated, arbitration, model decide, the model decide, model decided, llm, tie-break, tie-breaks, tiebreak, tie break, judge, ai, did the model, the model choose, model chose, asked the model, model asked, language model
extra: extra, extra cost
daybefore: day before, the day before, yesterday, against yesterday, than yesterday, previous day
changedby: last policy change, who changed, policy last, changed the policy, changed last, changed the policy last, policy changed last, policy changed, made the last policy change, last changed the policy, last changed
underbid: underbids, underbid, underbidding, overbid, overbids, differ from what it then used, honest, lie, lied, lies, bid error, then used, accurate bids, bid what they then use, bid error by site, honest are the bids, promise, promised, keep their bids
silent: silent, missed bidding rounds, missed rounds, unreachable, did not answer, not answer, miss rounds, missed, not respond, offline, miss a bidding round, missed a bidding round, missed a round, miss a round, went silent, no answer, did not respond, gave no answer, failed to answer
stuck: stuck, hang, hanging, never started, never ran, not finished, unfinished, unplaced, not placed, never finished, for ever, stuck for ever, forever, not moving
history: move, history, timeline, what happened to, happened to, life of, story of, re-dispatched, redispatched, dispatched, rescheduled, moved, migrated, path of, happened with
happened: what happened, happened, going on, what went on, did happen, happen
decide: decide, decided, decisions, coordinator, awards, award decisions
advice: should i change, should change, what to change, what should i change, how can i, advice, improve, fix, sooner
ahead: ahead of, in front of, before me, blocks, blocking, in the way of, competing with, holding
home: home, home site, its home, overflow, preferred site, own site, at home
asked: submit, submits, submitted, arrive, arrived, came, come, request, requested, ask
only: only, back
everything: bill, everything, consumption and cost, resource use
paidto: paid, pay, pays, charged, payment, paid to, receive, received, earn, earned, earnings, income, revenue
help: help, what can i ask, what can you do, what can be asked, questions
summary: summary, summarise, summarize, overview, totals, results, result, how did it go
unrecorded: water, trees, tree, temperature, humidity, cars, car, flights, weather, latency, uptime, noise, land
opinion: like, love, good, bad, run well, well, think, opinion, trust, deserve, nice, happy, smart
beyond: next year, next month, in 12 months, next week, months, month, year, years, future
act: move, migrate, stop, cancel, delete, restart, suspend, resume, resubmit, scale, reschedule, pause, terminate, abort, drain, cordon, kill
legislate: drop, limit, prefer, cap, forbid, allow, ban, never move, must stay, must, disallow, use hydro first, favour, favor, keep, remove, lift, require, exclude, avoid, stop using, restrict, set
rulewords: till, until, weekend, hydro, eu, out, outside, data, stay, anywhere, always
hinder: what keeps, what kept, what stops, what stopped, what prevents, what prevented, what holds, what delayed, what delays, what blocks, what blocked, what is holding, what holds up
mine: my jobs, my team, my tenant, my workloads, my carbon, my emissions, my footprint, my energy, my costs, my cost, my bill, my wait, my waits, i emit, i emitted, i spend, i spent, i use, i used, did i
never: never, do not
ruleid: rule id
`

// phrases are the lexicon by phrase; longest is how many words one has at most.
var phrases, longest = func() (map[string][]string, int) {
	all, most := make(map[string][]string), 1
	for line := range strings.Lines(lexicon) {
		concept, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		if concept == "_" {
			rest = strings.ReplaceAll(rest, " ", ", ")
		}
		for phrase := range strings.SplitSeq(rest, ",") {
			if phrase = strings.TrimSpace(phrase); phrase == "" {
				continue
			}
			all[phrase] = append(all[phrase], concept)
			most = max(most, len(strings.Fields(phrase)))
		}
	}
	return all, most
}()
