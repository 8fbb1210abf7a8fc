package signals

import "time"

// checkForecast checks the keys of a source whose values are forecasts of the quantity that other
// sources report, such as day-ahead prices where real-time prices are paid.
func (c Config) checkForecast() error {
	for _, k := range []struct {
		key  string
		hour *int
	}{{"published", c.Published}, {"ends", c.Ends}} {
		if k.hour != nil && (*k.hour < 0 || *k.hour > 23) {
			return ConfigFault{k.key, "want an hour of the day, UTC: 0..23"}
		}
	}
	switch {
	case c.Published != nil && !c.Forecast:
		return ConfigFault{"published", "is for forecasts: add forecast: true, or remove it"}
	case c.Ends != nil && c.Published == nil:
		return ConfigFault{"ends", "is without published: add the hour at which the next delivery day is published, or remove ends"}
	}
	return nil
}

// publishedUntil returns the first hour of a day-ahead series that is not published at now: at
// Published of each day, UTC, all hours until the end of the next delivery day are. ok is false
// if the source publishes what it has at once.
func (c Config) publishedUntil(now time.Time) (until time.Time, ok bool) {
	if c.Published == nil {
		return time.Time{}, false
	}
	ends := 0
	if c.Ends != nil {
		ends = *c.Ends
	}
	last := lastAtHour(now.UTC(), *c.Published)
	return lastAtHour(last, ends).Add(48 * time.Hour), true
}

// lastAtHour returns the last instant at or before t, in UTC, at which it was an hour of the day.
func lastAtHour(t time.Time, hour int) time.Time {
	shift := time.Duration(hour) * time.Hour
	return t.Add(-shift).Truncate(24 * time.Hour).Add(shift)
}

// reportedHours returns the values of a source by hour, as the agent may know them at now.
func (r *Source) reportedHours(now time.Time) map[time.Time]hourValue {
	r.mu.Lock()
	hours := hourlyMeans(r.spans)
	r.mu.Unlock()
	if !r.cfg.Forecast {
		return hours
	}
	until, limited := r.cfg.publishedUntil(now)
	for at, h := range hours {
		if limited && !at.Before(until) {
			delete(hours, at)
			continue
		}
		hours[at] = hourValue{h.value, true}
	}
	return hours
}
