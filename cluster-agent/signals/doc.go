// Package signals reads the grid signals of a site: electricity price, carbon
// intensity, and the facility's overhead (PUE).
//
// Each service is a small file with a pure decoder behind one interface. A [Source]
// polls one configured source: it reads when due, backs off with jitter, obeys
// Retry-After, caches values over restarts and knows their age. The [Poller] is the
// party that publishes the values to the site's agent.
//
// Guarantees:
//   - a source that fails, returns wrong data or does not answer stops nothing:
//     earlier values stay, age, and are reported as old;
//   - no value is published whose unit, currency or magnitude is not the expected
//     one;
//   - all hours are UTC hours: local days of 23 and 25 hours are handled;
//   - a service's forecast is published as a forecast, never as a fact, and so is a
//     series that is configured as one, not before its hour of publication;
//   - no secret is part of an error, a log or a file.
//
// Package agents/forecast turns the signals into the forecasts that bids use.
package signals
