// Package forecast holds what a site knows of its power grid, hour by hour: the
// price of power, its carbon intensity, and the facility's overhead (PUE). It
// forecasts the hours that are not known yet.
//
// A site receives values from a signal source and never holds the series they
// come from. [GridState] stores the received values and forecasts the others;
// [Curve] prices a run by such a [protocol.GridForecast];
// [GridState.PriceEnergy] bills a run by the received values. On the source's side, a [SeriesPublisher] holds the [Series] and
// publishes each value when its [Market] makes it known, and not before.
//
// What it promises:
//   - a forecast depends only on values received before it was made;
//   - a published value is never replaced by a forecast;
//   - forecasts stay within the bounds of their quantity, whatever the history, and within half of what
//     they may be off of the usual rule's, whatever the weights of a [Learned] are;
//   - a price by Curve is the exact sum over its hours, rounded once;
//   - the bill of two runs is the sum of their bills.
//
// All arithmetic is in integers, except what [Regression] learns: floats, rounded
// at each step, so that every machine computes the same. Hours are in UTC. The
// caller reads the files or services behind a series.
package forecast
