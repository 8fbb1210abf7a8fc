// Package forecast is what a site knows of its grid: the price of power, the
// carbon in it, and how much the building adds (PUE), hour by hour.
//
// A site is told values by a feed and never holds the series they come from.
// [Known] keeps what it was told and forecasts the rest; [Curve] prices a run
// by such an [protocol.Outlook]; [Known.Bill] settles one by what was told.
// On the other side a [Feed] has the [Series] and says each value when its
// [Market] makes it known, and not before.
//
// What it promises:
//   - no value that was not told changes an Outlook, whatever comes later;
//   - a published value is never overruled by a forecast;
//   - forecasts are within the bounds of their quantity, from any history;
//   - a price by Curve is the exact sum over its hours, rounded once;
//   - the bill of two runs is the sum of their bills.
//
// All arithmetic is in integers, but for what [Regression] learns: floats, rounded
// at each step. Hours are those of UTC. Who reads the files or the services behind
// a series is the caller's concern.
package forecast
