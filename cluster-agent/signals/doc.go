// Package signals reads what the world says of a site's grid: the price of power,
// the carbon in it, and what the building adds (PUE).
//
// Each service is a small file with a pure decoder, behind one interface. Around
// it stand one [Reader] for each configured source, which asks when it is due,
// backs off with jitter, heeds Retry-After, keeps what it read over a restart and
// knows how old that is; and one [Feed], the party that tells the site's agent.
//
// What it promises:
//   - a source that fails, lies or is silent ends nothing: what was read before
//     stays, grows old, and is known to be old;
//   - no value is told whose unit, currency or magnitude is not the expected one;
//   - all hours are those of UTC: days of 23 and of 25 hours are as long as they
//     are;
//   - what a service forecasts is told as a forecast, never as a fact;
//   - no key is ever part of an error, a log or a file.
//
// What a site makes of it is package grid's.
package signals
