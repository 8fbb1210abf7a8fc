package ask

// speechOfRules goes on with speech: hours ahead, rules, agents, what is refused.
const speechOfRules = `
report: hear from last, last heard of, still with us, with us, last news of, last news from, last message of
report: last message from, last sign, last signal, last signal from, signal from, last contact to, last contact with
report: last ping, ping, pinged, last status, last status from, sent us anything, send us anything, last sent
report: last word from, say anything, said anything, last said, speak up, last spoke, spoke last, last talked
report: talk to us, report last, reported last, report in, reported in, checks in, show up, showed up, shown up
report: call in, called in, last call, last data, last data from, most recent report, most recent message
report: latest report, latest message, newest report, last reading, last telegram, get in touch, got in touch
report: hear anything from, hear of, heard of, heard anything from, in contact, sound off, life sign, last life sign
report: how long ago, ago, long ago, silent since, quiet since, since when is, quiet for, silent for, is it alive
report: last time, the last time, time of the last report, last report time, time of last contact, last time that
report: last transmission, last heartbeat of, when last, last news from, newest data, newest data from, latest data
report: latest data from, latest news from, latest sign of life, most recent data, most recent contact
forecast: forecasting for, what does the forecast say, does the forecast say, forecast say, the forecast for
forecast: weather report for carbon, expects, expecting, expected carbon, expected carbon intensity
forecast: expected intensity, expected price, predicted carbon, predicted intensity, predicted carbon intensity
forecast: forecasted carbon, future carbon, future intensity, carbon ahead, intensity ahead, coming carbon
forecast: what is coming, next hours, in the next hours, in the coming hours, over the coming hours
forecast: over the next hours, the next hours, coming hours, hours ahead, the rest of the day, rest of the day
forecast: later today, later on, carbon outlook, outlook for
error: how good were, how good was, how good are, how good is, were good, prediction hold, predictions hold, hold
error: hold true, held true, how well, well was, do they hold, went wrong, how bad were, how bad was, how bad is
error: how bad are, missed by how much, miss the mark, missed the mark, off the mark, off by, out by, quality of
error: was right, were right, be right, believed, believable, to be believed, performance, perform, performed, skill
error: match reality, matched reality, match what happened, correctness, how exact, exactness, spot on, way off
error: on target
error: rely on, rely, relied on, be relied on, depend on, count on, counted on, to go by, dependable, trusted
error: trust in, faith in, believe in, be believed, off the mark, was the error, forecast miss, calibrated
error: well calibrated
best: when do i best, do i best, best to start, best to run, best to launch, best to submit, best to begin
best: best to send, best when, ideal start, ideal hour, ideal moment, optimal hour, optimal moment, best possible time
best: best window for, good window, good slot, good hour, greenest time, greenest slot, greenest window
best: cleanest window, cleanest moment, greenest moment, best moment for, best hour for, best time for, best slot for
best: right hour, preferable, advisable, recommended, recommendable, you recommend, would you recommend
best: would you advise, advise me, wise, most sensible, sensible time, cleverest, better to start, better to run
best: when is it smart, when is it wise, when is it sensible, when is it good, when would be good
best: when would it be good, when would it be best, cheapest time, cheapest hour, cheapest moment, cheapest slot
best: cheapest window
submit: to begin, begin it, start them, starting it, launch them, submit them, run them, send them, send it
submit: send it in, fire it off, fire it up, kick off, put in, get it going, plan, plan it, plan for, do a, run a
submit: do my, start my, start an, run my, run an, start a, launch a, launch an, launch my, schedule a, schedule my
submit: schedule an, submit a, submit an, submit my, train my, let it run, have it run, queue it, compute
canwait: and can wait, could be delayed, may wait, could wait until, can wait until, may be delayed, can be deferred
canwait: could be deferred, be patient, have patience, am patient, have time, not in a hurry, no hurry with it
canwait: not in a rush, am flexible, is flexible, time is not critical, not time critical, finish by, finished by
canwait: done by, ready by, complete by, has to be done by, must be done by, must be finished by, must finish by
canwait: has to finish by, due by, before tomorrow, until tomorrow, by tomorrow, within a day, within one day
canwait: any time in the next, some time in the next, sometime in the next, any time within, sometime within
canwait: some time within
rules: rules apply, current rules, rules now, rules right now, rules at present, present rules, the rules of the game
rules: rules of the game, carbon price in force, price of carbon in force, current carbon price, present carbon price
rules: rule set in force, in use, is in use, are in use, being applied, applied, applies, valid, in place, is in place
rules: are in place, market rules, rules of the market, active constraints, operating rules, rulebook, current weights
rules: weights in force, current settings, current parameters, policy is in force, policy applies, policy now
rules: policy right now, policy is active, governing, governs, we operate under, operate under, we run under
rules: under which rules, by which rules, by what rules, what rules, rules are set, set rules, set up
rules: prices does the scheduler use, prices do we use, prices are used, prices does the market use, prices in use
rules: running under, run under, under what rules, under what policy, under which policy, by which policy, what policy
rules: policy do we have, policy do we use, the policy, current rule set, rules of this run, rules of the run
rules: live rules, rules are there, rules exist, which rules exist, rules do we have, rules have we, valid rules
rules: rules valid, rules are valid
quota: contingent, contingents, quota of gpus, gpu allowance, gpu budget, gpu limit, gpu limits, entitlements, ration
quota: rations, quota usage, usage of quota, quota used, used quota, lending, lend, lent, over its quota, under quota
quota: over budget, within budget, under budget, over its budget, over their budget, within its budget, within their budget
quota: within quota, reserved share, guaranteed share, guaranteed gpus, borrow from, borrowed from, allotment
fairshare: gets its fair share, get its fair share, share fairly, shared fairly, fairly shared, shared, fair between
fairshare: fairly treated, equal, equally, equal treatment, treated equally, favoured tenant, disadvantaged
fairshare: short-changed, shortchanged, get their share, gets their share, get its share, gets its share
fairshare: get a fair share, gets a fair share, get a fair deal, fair deal, gpu share, gpu shares, share of gpus
fairshare: share of the gpus, share of capacity, share of the capacity, share of gpu hours, how fair, fairness index
fairshare: justly, just distribution, distributed fairly, distribution fair, balanced, balance between, evenly
fairshare: even split, hogged, hog, hogs, hogging gpus, monopolise, monopolize, dominated, dominate, dominates
fairshare: crowd out, crowded out
fairshare: getting too little, too little, too few gpus, getting too much, too much of the capacity, get too much
fairshare: gets too much, get too little, gets too little, enough of the capacity, starved of gpus, capacity shared
fairshare: shared between, gpus shared, split of capacity, split of gpus, gpus split, divided among tenants
fairshare: divided between tenants, capacity split, capacity divided, gpus divided, who gets how much
fairshare: how much of the capacity, how much of the gpus, dividing of capacity
priority: ranking of priorities, urgency, first class, more important
priority: privileged, privilege, privileges, preferential
preempt: push out, pushed out, push it out, threw out, throw out, thrown off, throw off, kick out, got evicted
preempt: get evicted, got preempted, got interrupted, interrupt, interrupts, interruption, interruptions, bump
preempt: displaced, displace, displaces, ejected, eject, chased off, taken over by, kicked off, kicked, forced out
preempt: forced off, paused by, paused for, had to make way, make way for, made way for, make room for, made room for
preempt: gave way to, give way to, victim, victims, usurped, superseded
replica: copies, copy, instance, instances, ranks of the gang, gang members, parts of the job, k out of n, workers
replica: shards
arbitrated: neural network, a neural network, neural net, machine learning, a tie, was there a tie, asking the judge
arbitrated: ask the judge, step in, ai step in, the ai, the llm, an llm, decided by ai, decided by an ai
arbitrated: decided by the ai, decided by a model, decided by the model, decided by a machine, by ai, by an ai
arbitrated: by the ai, by llm, by an llm, by the llm, by the judge, judged, judges, judging, umpire, referee, jury
arbitrated: coin toss, coin flip, deadlock, photo finish, close call, close calls, tie-breaking, tiebreaking
arbitrated: tiebreaks, tiebreakers, tiebreaker, model's say, have a say, had a say, copilot, assistant decide
arbitrated: assistant decided
daybefore: with yesterday, to yesterday, yesterday's, versus yesterday, vs yesterday, the previous day
daybefore: from the day before, than the day before, as yesterday, like yesterday, the preceding day
daybefore: compared to yesterday, compared with yesterday, day earlier, the day earlier, a day earlier
daybefore: one day earlier, than on the day before, since yesterday
changedby: who last changed, last person to change, last edit, last edit of the policy, last edited, last modified
changedby: modified the policy, modified the rules, changed the rules, change the rules, change the policy
changedby: rules changed, rules were changed, rule change, rule changes, last rule change, last change of the policy
changedby: last change to the policy, last change of policy, last change of the rules, last change to the rules
changedby: latest policy change, latest rule change, altered the policy, altered the rules, edited the rules
changedby: touched the rules, who set the rules, who made the rules, who made the policy, introduced the policy
changedby: introduced the rules, when was the policy changed, when were the rules changed, when did the policy change
changedby: when did the rules change, when was the policy last changed, policy revision, policy revisions
changedby: policy version, version of the policy, history of the rules, changes to the policy, changes to the rules
changedby: changes in the policy, changes in the rules
underbid: used more than they had bid, used more than they bid, use more than they bid, used more than bid
underbid: consume more than they bid, consumed more than they bid, consumed more than bid, needed more than bid
underbid: needed more than they bid, took more than they bid, drew more than they bid, more than they bid
underbid: more than they had bid, more than it bid, more than bid, more than they promised, more than promised
underbid: more than they said, more than they offered, more than offered, more than announced
underbid: more than they announced, used more than promised, used more than they promised, used more than announced
underbid: used more than they said, used more than they offered, exceeded their bids, exceeded its bid
underbid: exceed their bids, exceeds its bid, exceeded their bid, exceed its bid, over their bids, above their bids
underbid: above their bid, beyond their bids, tell the truth in their bids, tell the truth, tells the truth
underbid: truth in bidding, speak the truth, say the truth, keep its word, keeps its word, kept its word
underbid: can be trusted, bids be trusted, trust in the bids, bids trustworthy, how far off were the bids
underbid: how far off are the bids, how far off bids were, how wrong were the bids, how wrong are the bids
underbid: how wrong bids, bids off, bids wrong, bids right, bids correct, were the bids right, are the bids right
underbid: accuracy of bidding, bidding accuracy, bidding error, bidding errors, errors of the bids, errors in the bids
underbid: error of the bids, error in the bids, bid errors, bid deviation, bid deviations, deviation of bids
underbid: deviation of the bids, bids deviate, bids deviated, bidding honestly, bid honestly, bids honestly
underbid: honestly bid, honesty, honesty of bids, honesty of the bids, overstated, overstate, overstates, exaggerate
underbid: exaggerates, exaggerated, bluff, bluffs, bluffing, bluffed, cheated, cheater, cheaters, liar, liars, gamed
underbid: gaming, game the auction, gaming the auction, fudge, fudged, fudging, underestimate, underestimated
underbid: underestimates, overestimate, overestimated, overestimates, underquote, underquoted, undersell, misquote
underbid: misquoted
underbid: optimistically, too optimistically, more energy than they bid, more power than they bid
underbid: more electricity than they bid, more energy than bid, more power than bid, more energy than promised
underbid: more power than promised, more energy than they promised, more than they had promised
underbid: more than they had offered, more energy than they had bid, more energy than they offered
underbid: more energy than they said, less than they bid, less energy than they bid, less than they promised
underbid: than they bid, than they had bid, than they promised, than what they bid, than it bid, than bid
underbid: than promised, than announced, as they bid, as bid, what they bid, what they promised, what they had bid
silent: stayed silent, stay silent, stays silent, remained silent, remain silent, keep silent, kept silent
silent: being silent, fell silent, fall silent, went off, gone off, not say anything, did not say anything
silent: said nothing, say nothing, no reply, sent no reply, give no reply, gave no reply, gave no response
silent: no response, without response, without a response, without an answer, without answer, without reply
silent: not replying, not respond to calls, not answer calls, ignored the call, ignored calls, ignore calls
silent: ignored rounds, ignoring rounds, ignored the rounds, missing from rounds, absent, absent from rounds
silent: absent from the auction, absent from auctions, agents dead, dead agents, agents are dead, dead sites
silent: sites are dead, dead agent, dead site, are dead, is dead, lose contact, lose contact to, lose contact with
silent: lost contact to, lost contact with, lose connection, lose connection to, lose touch, lost touch
silent: out of contact, out of touch, fail to respond, failing to respond, fail to answer, failing to answer
silent: fail to reply, failing to reply, failed to bid, agents are answering, all agents answering
silent: all sites answering, agents answering, sites answering, all agents reachable, all sites reachable
silent: agents reachable, sites reachable, all sites up, all sites alive, all agents alive, sites alive, agents alive
silent: all sites online, all agents online, all sites responding, all agents responding, agents responding
silent: sites responding, agents respond, sites respond, agents are down, sites are down, sites down, agents down
silent: agent down, any site down, any sites down, any agents down, any agent down, any site offline
silent: any sites offline, any agents offline, any agent offline, agents offline, sites offline, offline agents
silent: offline sites, mute agents, mute sites, deaf, comatose, asleep, missing agents, missing sites, lost agents
silent: lost sites, gone agents, no-reply, ghosting, ghosted, not taking part, skip rounds, not heard, unheard
silent: skipped the auction, missed the auction, miss the auction, missed calls, missed the call, missed a call
silent: calls unanswered, unanswered calls, answer late, answered late, answered too late, too slow to answer
silent: late answers
silent: missing in the auctions, missing from the auctions, missing in auctions, missing from auctions
silent: missing in the rounds, missing rounds, dropped out of rounds, dropped out of auctions, fell out of rounds
silent: did not show up, not show up, no longer answer, no longer answers, no longer answering, no longer respond
silent: no longer responding, stopped responding, stop responding, stopped bidding, stop bidding, gone offline
silent: went offline, being offline, lost sites, unheard of
stuck: hang, hangs, that hang, something stuck, anything stuck, got nowhere, getting nowhere, never got a place
stuck: never got placed, never found a place, never found a site, never got a site, never got a gpu, never got gpus
stuck: never scheduled, never been started, never been placed, never been run, were never started, were never placed
stuck: were never run, was never started, not been placed, could not be placed, can not be placed, cannot be placed
stuck: not find a place, find no place, found no place, found no site, no place found, no place, got no place
stuck: without a place, without place, homeless, orphan, orphans, orphaned, abandoned, forgotten, forgot
stuck: lost track of, eternal, eternally, eternally waiting, endlessly, endless, wait forever, waits forever
stuck: waiting forever, wait for ever, waiting for ever, waiting eternally, keep waiting forever, deadlocked, frozen
stuck: freeze, freezes, clogged, blocked up, not progressing, no progress, making no progress, not getting anywhere
stuck: get nowhere, not going to run, not going to start, rotting, rot, dead jobs, jobs are dead, unschedulable
stuck: unplaceable, unfulfilled, never served, not served, not run at all, not started at all, never be placed
stuck: never be started, never going to start, never going to run, never get started, never get to run, never made it
history: everything about, tell me everything about, all about, whole history, whole history for, history for
history: history of, whole story, whole story of, full history, full history of, complete history, complete history of
history: complete story, chain of events, event list, list of events, all events, all events of, all the events of
history: career, career of, biography of, log for, audit trail, audit trail of, audit, trail, trail of, record of
history: the record of, track of, traced, tracking, diary, diary of, protocol of, what all happened
history: all that happened to, everything that happened to, what has happened to, what did happen to
history: what happened with, what happened to, what went on with, what was going on with, what is going on with
history: whats up with, what is up with, what is new with, how did it go with, how did it go for, how is it going with
history: how is it going for, how goes it with, how goes, state of, status of, the status of, the state of, fate
history: fate of, the fate of, steps of, stages of, stations of, went through, go through, gone through, live through
history: lived through, experienced, experience, undergo, underwent
happened: do anything, did anything happen, anything happening, anything happen, anything happened, anything going on
happened: things happened, things that happened, all that happened, everything that happened, what was up
happened: what was new, what is new, news, new events, newest events, incident, incidents, happenings, occurrence
happened: occurrences, what was done, was done, took place, was going on, was up, coordinator do, coordinator doing
happened: scheduler do, scheduler doing, market doing, up to, actions, proceedings, moves, logs, log
happened: event log for, protocol, minutes of
advice: could have been faster, have been faster, been faster, be faster, be quicker, been quicker, be cheaper
advice: be sooner, start earlier, starts earlier, start sooner, starts sooner, start faster, starts faster
advice: run earlier, runs earlier, run sooner, runs sooner, begin earlier, begin sooner, finish earlier, finish sooner
advice: finishes earlier, finishes sooner, what can i change so, what could i change so, what can i change
advice: what could i change, what should we change, what can we change, what could we change, any advice
advice: any advice for, any tips, any tips for, any hints, hints, hint, hints for, help me with, help with, helping
advice: what helps, what would be better, improve on, improvement for, improvements, improvements for, improvement
advice: improving, do about, done about, what to do about, what can i do about, what could be done about
advice: what can be done about, what to do with, adjust, adjusting, adjustments, tweak, tweaks, tweaking, tune, tuning
advice: modify, accelerate, accelerated, expedite, hurry up, hasten, get it faster, get it sooner, get it started
advice: make it faster, make it sooner, make it start, make it run, get run faster, get going faster, make cheaper
advice: make greener, be greener, be cheaper, run cheaper, run greener, get cheaper, get greener, made cheaper
advice: made greener, made faster, make faster, better next time, next time, do next time, different next time
advice: otherwise next time, should have done, could have done, should i have done, could i have done, done better
advice: done differently, have been done better, lesson, lessons, learn from
advice: should i do, what should i do, should i do to, would you change, you change, would you do, you do
advice: would you suggest, would you recommend for, would you advise for, can be changed, could be changed
advice: what might help, might help, would make a difference, to get started sooner, started sooner
advice: get started sooner, start it sooner, start it earlier, to start sooner, to start earlier, started earlier
advice: to be faster, to be sooner, to be cheaper, to be greener
ahead: go before, goes before, going before, went before, gone before, run before, runs before, ran before
ahead: start before, starts before, scheduled before, placed before, dispatched before, come ahead of, comes ahead of
ahead: came ahead of, in the way of, what is in the way of, is in the way of, stand in the way of
ahead: stands in the way of, block the way of, in its way, queue ahead of, queued ahead of, waiting ahead of
ahead: waits ahead of, wait ahead of, standing ahead of, higher in the queue, higher up, higher up in the queue
ahead: further ahead, further ahead of, earlier in the queue, earlier in line, first in line before, served ahead of
ahead: prior to, in front of me, got in before, gets in before, position in the queue, place in the queue
ahead: queue position, position in line, place in line, how far back, how far up the queue, where in the queue
ahead: in the queue in front of, next in line before, before mine, competes with, competing for, compete with, rivals
ahead: rival, rivals of, outranks, ranked above, ranks above
home: its home site, home site of, where it lives, where it belongs, submitting site, site of origin, origin site
home: local site, locally, local, stay at home, stayed at home, at its home, in its home, away from home
home: left its home, left home, left its home site, leave its home, leave home, leave its home site, leaves home
home: native site, own cluster, its own cluster, own location, where it was submitted, origin, mother site, go home
home: run home, run at home, remain at home, kept at home, keep at home
asked: submission, submissions, submission time, submitted on, submitted to, arrival, arrivals, arrival time, arriving
asked: arrives, entry, handed over, came to us, came in at, reached us, registered, filed, posted, new jobs
asked: get submitted, got submitted, were submitted, was submitted, been submitted, turn up, turned up
everything: all figures of, total consumption and cost, cost and energy, energy and cost, energy and carbon
everything: carbon and energy, carbon and cost, cost carbon and energy, energy cost and carbon, carbon energy and cost
everything: full account, the account, whole account, accounting, balance sheet, balance, tab, what was the bill
everything: the bill, full costs, all the costs, environmental and money cost
paidto: payments, pay out, paid out, payout, payouts, proceeds, receipts, remuneration, reward, rewards, gains
paidto: turnover, make money, made money, money made, get paid, got paid, gets paid, was paid, were paid, credited
paidto: credit, fees paid, reimbursement
summary: sum it up, sum it all up, summing up, summed up, short summary, brief summary, how are things
summary: how are things going, how is it going, how goes it, how is everything, how is the market
summary: how is the market doing, how is the fleet doing, how is the federation doing, how is the run, how is the day
summary: how do we stand, where do we stand, where are we, what is the state, what is the status
summary: what is the situation, state of affairs, state of play, state of the market, state of the federation
summary: status report, status update, status please, situation, situation report, sitrep, main numbers, main figures
summary: key facts, main facts, most important numbers, most important figures, important figures, important numbers
summary: briefing, brief me, brief us, update me, bring me up to speed, up to speed, catch me up, fill me in
summary: give me the gist, gist, the gist, the essentials, essentials, in brief, in a few words, in one sentence
summary: in two sentences, executive summary, management summary, bottom line, the bottom line, the short version
summary: short version, end-of-day report, day report, daily report, report of the day, how was it, how was today
summary: how did today go, how did it go today, how is today, how is today going, how did everything go
summary: how well did it go, how well did we do, how well are we doing, how have we done, how have we been doing
summary: what is the score, conclusion, conclusions, final figures, final numbers, final result, final results
summary: end result, the results, overall result, overall results, overall figures, overall numbers
summary: short overview, a short overview, quick overview, a quick overview, brief overview, a brief overview
summary: short recap, quick recap, brief recap, quick summary, a quick summary, a short summary, a brief summary
summary: little summary, state of things, the state of things, how things are, how things stand, how it went
summary: how it all went, how today went, how the day went, how we did, how did today go, short report, brief report
summary: quick report, full report
unrecorded: birds, electricians, vendor, vendors, manufacturer, brand, brands, password, passwords, salary, wage
unrecorded: wages, noise level, decibel, decibels, vibration, coal burnt, tonnes of coal, kilometres, kilometers
unrecorded: miles, driving, elephants, football fields, bitcoin, bitcoins, phone number, email, e-mail, ip address
unrecorded: ceo, cfo, boss, manager, admin, administrator, employees, workers hurt, accidents, lunch, coffee, pizza
opinion: run well, best operator, the best operator, best admin, best team, better team, better person, worst operator
opinion: beautiful, pretty, lovely, awful, terrible, horrible, great, awesome, amazing, cool, sucks, hate, dislike
opinion: worthy, lazy, clever enough, competent, incompetent, professional, well run, well-run, badly run
opinion: well managed, run properly, doing a good job, do a good job, does a good job, good job, bad job
opinion: should i be worried, be worried, worry, worried, proud, ashamed, nobody likes, everybody likes
opinion: who do you like, your favourite, your favorite, do you prefer, do you love, do you hate
beyond: in the future, far future, distant future, next summer, next winter, next spring, next autumn, next quarter
beyond: this year, the coming year, the coming years, coming year, coming years, coming month, the coming month
beyond: within a year, in a year, in two years, in ten years, in five years, 2031, 2032, 2033, 2034, 2036, 2045
beyond: long term, long-term, long run
act: put on hold for me, please hold, please kill, please stop, please move, please restart, please cancel
act: please delete, bump up, disconnect, unplug
legislate: may not, must not, is not to, are not to, not allowed to leave, has to stay, have to stay, should stay
legislate: ought to stay, may only, must only, should only, shall not, shall stay, should never, must never, may never
legislate: can only run, only run at, only ever, from now on, as of now only, never schedule, never run, never use
legislate: never place, never send, always run, always use, always prefer, always keep, rather use, use only
legislate: do not use, do not run, do not schedule, do not send, do not place, no jobs at, no more jobs at, nothing at
legislate: at no time, under no circumstances, make sure that, make sure, ensure, ensure that, guarantee that
legislate: prioritise, prioritize, deprioritise, deprioritize, blacklist, whitelist, permit, disallow, do not exceed
legislate: not exceed, no more than, at most use, block jobs, confine, restrict to, reserve, limited to, to be kept
legislate: be kept
rulewords: inside, within the eu, friday, monday, tuesday, wednesday, thursday, saturday, sunday, leave, leaves
rulewords: leaving, night, at night, nights, weekends, weekdays, wind, solar, coal, gas, nuclear, europe, european
rulewords: germany, france, norway, us, usa, kw, country, abroad
hinder: what is it waiting on, reason for the delay, reason for the wait, what stands in the way
hinder: what is the matter with, what is up with, what is stopping, what hinders, what is hindering, what detained
hinder: what detains, what blocked, what is the blocker, what is the problem, what is the obstacle
hinder: what went wrong with, what held, what held up, what held back, what is holding back, what held it up
hinder: what slowed, slowed down, slows down, slow down, holding it up, holding it back, keeping it, in its way
missed: break, broke, broken, breaks, breach, breaches, breaching, breached, violate, violates, violating, violation
missed: violations, fail, failed, fails, run past, ran past, went past, went over, gone over, past, over, overrun
missed: overran, overshoot, slipped, slip, crossed, not respected, not honoured, not honored, not kept to, tear, torn
missed: cracked, bust, busted
deadline: time limit, time limits, cutoff, cut-offs, finish date, target date, target time, agreed time, promised time
deadline: time frame
helped: help, helps, helping, be of help, benefited, any help, have changed anything, change something
helped: changed something, mattered
more: how much dearer, how much costlier, how much more expensive, more expensive, how much cheaper, extra money
more: extra carbon, additional cost, additional carbon, additional costs, extra costs, difference in carbon
more: higher cost, higher
stale: how stale, how out of date, how outdated, how up to date, how current, old is the information, old is the info
stale: how old is the information, how old is the info, how old is the report, how old is the last report
stale: how old are the data, old are the data, how old is the news, how long is the last report, delay of the data
stale: freshness of
pends: pending, outstanding, unstarted, not yet started, yet to start, yet to run, still waiting, still queued
pends: still pending
pends: anything waiting, anything queued, waiting list, on the waiting list, in the waiting list, not started yet
modal: must, must not, may not, may only, is not to, are not to, has to stay, have to stay, has to run, have to run
modal: should stay, ought to stay, must only, should only, shall not, shall stay, should never, must never, may never
modal: has to remain, have to remain, must remain, must stay, should not, can only run, is to stay, are to stay
which: whichever, what kind of, which of, which ones, which one, what sort of, who of, name, name the, names of, whos
which: identify, enumerate
list: enumerate, listing, listing of, overview of, catalogue, inventory, show all, give all, show every, give every
list: give me all, show me all, give me every, show me every, all of the
many: how many times, times, how frequently, how regularly, count up, counting, total number, total number of
many: the count, the count of, quantity of jobs, amount of jobs, number
hourword: cheapest hour, cheapest time, cheapest slot, cheapest window, cheapest moment, cheapest hours, greenest hour
hourword: greenest time, greenest slot, greenest window, greenest moment, greenest hours, cleanest hour, cleanest time
hourword: cleanest slot, cleanest window, cleanest moment, cleanest hours, the hour, the moment, the time
hourword: which time, what moment, what point in time
`
