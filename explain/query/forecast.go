package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// seriesAt returns the value of a forecast's series at an instant.
func seriesAt[T any](o history.Forecast, series []T, at protocol.Time) (v T, ok bool) {
	hour := at.Floor(time.Hour)
	if at < o.From || hour >= o.From.Add(time.Duration(len(series))*time.Hour) { // a site may say any time: no difference yet
		return v, false
	}
	return series[int(hour-o.From)/int(time.Hour.Milliseconds())], true
}

// gridAt returns the price or the carbon intensity that a forecast gives for an instant.
func gridAt(o history.Forecast, price bool, at protocol.Time) (int64, bool) {
	if price {
		v, ok := seriesAt(o, o.Price, at)
		return int64(v), ok
	}
	v, ok := seriesAt(o, o.Carbon, at)
	return int64(v), ok
}

// durationFigure returns a duration from the question as a figure.
func durationFigure(what string, d time.Duration) Figure {
	return valueOf("question", what, d)
}

// hoursAhead returns the hours that a question about hours ahead is about: a window, or
// so many from a time on, none before the record. They may be past its end, where the last
// forecast counts.
func (l *Dataset) hoursAhead(q ask.Query, r *Result) (from, to protocol.Time) {
	if q.To != 0 {
		return max(q.From, l.firstTime()), q.To
	}
	from = r.instantOf(l, q)
	return from, from.Add(q.Within)
}

// A bestSearch is a search for the start with the least of something, in the forecasts that sites
// had published at an instant.
type bestSearch struct {
	at, until   protocol.Time // the hours that count
	first, last protocol.Time // of the starts, which are a first one and then whole hours
	price       bool          // of electricity, and not its carbon
	published   bool          // what was published since counts first
	atOnce      bool          // list the value of a start at once, too
	start       string        // the figure of a start
	value       func(site string, o history.Forecast, start protocol.Time) (Figure, bool)
	found, none string // the sentences with the best of all and without any
}

// findBest lists the best start at each site, and says which is the best of all.
func (r *Result) findBest(l *Dataset, q ask.Query, s bestSearch) {
	r.Chart = l.forecastChart(q.Site, s.price, s.published, s.at, s.until)
	var best []Part // site, start and value
	reach := protocol.Time(0)
	for name, site := range l.sitesIn(q) {
		o, _ := site.ForecastAt(s.at)
		hours := len(o.Carbon)
		if s.price {
			hours = len(o.Price)
		}
		reach = max(reach, o.From.Add(time.Duration(hours)*time.Hour))
		var cells []Part
		for h := s.first; h <= s.last; h = h.Floor(time.Hour).Add(time.Hour) {
			if v, ok := s.value(name, o, h); ok && (cells == nil || v.Value < cells[2].(Figure).Value) {
				cells = []Part{namePart(name), valueOf("site/"+name, s.start, h), v}
			}
		}
		if cells == nil {
			r.addRow([]Part{namePart(name), plainText("not known"), plainText(""), plainText("")}[:len(r.Head)]...)
			continue
		}
		if best == nil || cells[2].(Figure).Value < best[2].(Figure).Value {
			best = cells
		}
		if s.atOnce {
			now := Part(plainText("not known"))
			if v, ok := s.value(name, o, s.at); ok {
				v.Name = "at-once"
				now = v
			}
			cells = append(cells, now)
		}
		r.addRow(cells...)
	}
	if best == nil {
		r.addSentence(s.none)
		return
	}
	r.addSentence(s.found, best[1], best[0], best[2])
	if reach.Add(time.Hour) < s.until { // a part of an hour is no gap
		r.addSentence("What the sites said goes up to %s; of later hours nothing is known.", valueOf("run", "known-until", reach))
	}
}

// answerBestHour finds the hour with the least carbon, or the lowest price, in the forecasts
// that sites had published then.
func (l *Dataset) answerBestHour(q ask.Query) (r Result) {
	at, until := l.hoursAhead(q, &r)
	if q.Within != 0 {
		r.addAssumption("by what each site said then of the hours ahead, %s of them", durationFigure("within", q.Within))
	} else {
		r.addAssumption("by what was published of each hour, or else by what each site said at the start of the time")
	}
	price := q.Ask == "best-price"
	r.Head = []string{"site", "best hour", gridName(price)}
	r.findBest(l, q, bestSearch{
		at: at, until: until, first: at.Floor(time.Hour), last: until - 1, price: price, published: q.To != 0, start: "best-hour",
		value: func(site string, o history.Forecast, h protocol.Time) (Figure, bool) {
			v, ok := gridAt(o, price, h)
			if q.To != 0 {
				v, _, ok = l.gridKnown(site, price, at, h)
			}
			return gridFigure(site, price, v), ok
		},
		found: "%s at %s, with %s.", none: "No site had said anything of these hours.",
	})
	return r
}

// answerForecast lists a site's forecast; for the hour that the question names, it compares
// the first forecast with the last.
func (l *Dataset) answerForecast(q ask.Query) (r Result) {
	at, until := l.hoursAhead(q, &r)
	s := l.history.ReportingSite(q.Site)
	first, ok := firstForecastOf(s, at)
	if !ok {
		r.addSentence("%s said nothing of that hour.", namePart(q.Site))
		return r
	}
	last, _ := s.ForecastAt(at)
	v, _ := gridAt(first, false, at)
	r.addSentence("Of the hour from %s, %s first said %s%s (at %s).", valueOf("site/"+q.Site, "hour", at.Floor(time.Hour)), namePart(q.Site),
		valueOf("site/"+q.Site, "first-forecast", milligramsPerKWh(v)), pricePart(q.Site, "first-price", first, at), valueOf("site/"+q.Site, "first-said", first.At))
	if w, ok := gridAt(last, false, at); ok {
		r.addSentence("It last said %s%s (at %s).", valueOf("site/"+q.Site, "last-said", milligramsPerKWh(w)), pricePart(q.Site, "last-price", last, at), valueOf("site/"+q.Site, "said", last.At))
	}
	r.Chart = l.forecastChart(q.Site, false, false, at, until)
	r.Head = []string{"hour", "carbon", "price"}
	for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
		c, okC := gridAt(last, false, h)
		p, okP := gridAt(last, true, h)
		if !okC || !okP {
			break
		}
		r.addRow(valueOf("site/"+q.Site, "hour", h), gridFigure(q.Site, false, c), gridFigure(q.Site, true, p))
	}
	return r
}

// pricePart returns the price that a forecast gives for an hour, to follow its carbon.
func pricePart(site, figure string, o history.Forecast, at protocol.Time) Part {
	p, ok := gridAt(o, true, at)
	if !ok {
		return plainText("")
	}
	return newSentence(" and %s", valueOf("site/"+site, figure, microdollarsPerKWh(p)))
}

// firstForecastOf returns the first forecast that reaches an hour.
func firstForecastOf(s *history.SiteRecord, at protocol.Time) (o history.Forecast, ok bool) {
	i := slices.IndexFunc(s.Forecasts, func(f history.Forecast) bool { _, ok := gridAt(f, false, at); return ok })
	if i < 0 {
		return o, false
	}
	return s.Forecasts[i], true
}

// answerForecastError compares the first forecast of each hour with the value reported in it.
func (l *Dataset) answerForecastError(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "hours in that time; UTC")
	r.addAssumption("carbon: what a site first said of an hour against what it said in it")
	r.Head = []string{"site", "hours", "mean error", "mean intensity"}
	for name, s := range l.sitesIn(q) {
		var sum, level int64
		n := 0
		for i, o := range s.Forecasts {
			if len(o.Carbon) == 0 || !inWindow(q, o.From) || i > 0 && s.Forecasts[i-1].From == o.From {
				continue
			}
			first, ok := firstForecastOf(s, o.From)
			if !ok || first.From == o.From {
				continue
			}
			v, _ := seriesAt(first, first.Carbon, o.From)
			d := int64(v - o.Carbon[0])
			sum, level, n = sum+max(d, -d), level+int64(o.Carbon[0]), n+1
		}
		if n == 0 {
			r.addRow(namePart(name), valueOf("site/"+name, "hours", 0), plainText("not known"), plainText(""))
			continue
		}
		off, hours := valueOf("site/"+name, "mean-absolute-error", milligramsPerKWh(sum/int64(n))), valueOf("site/"+name, "hours", n)
		r.addRow(namePart(name), hours, off, valueOf("site/"+name, "mean-intensity", milligramsPerKWh(level/int64(n))))
		if q.Site != "" {
			r.addSentence("%s was off by %s on average, over %s.", namePart(name), off, countedPart(hours, "hour", "hours"))
		}
	}
	return r
}

// meanIntensity returns the mean carbon intensity of a run: each hour counts by how much of
// it the run takes.
func meanIntensity(o history.Forecast, from protocol.Time, long time.Duration) (int64, bool) {
	sum, to := 0.0, from.Add(max(long, time.Minute))
	for h := from.Floor(time.Hour); h < to; h = h.Add(time.Hour) {
		v, ok := seriesAt(o, o.Carbon, h)
		if !ok {
			return 0, false
		}
		sum += float64(float64(v) * float64(min(h.Add(time.Hour), to)-max(h, from)))
	}
	return int64(sum / float64(to-from)), true
}

// answerBestStart finds the start with the least mean carbon over a run.
func (l *Dataset) answerBestStart(q ask.Query) (r Result) {
	at := r.instantOf(l, q)
	r.addAssumption("a run of %s, started at once or on the hour and ended within %s, by mean carbon intensity as sites said then; room is not looked at", durationFigure("long", q.Long), durationFigure("within", q.Within))
	r.Head = []string{"site", "best start", "mean intensity", "at once"}
	r.findBest(l, q, bestSearch{
		at: at, until: at.Add(q.Within), first: at, last: at.Add(q.Within - q.Long), atOnce: true, start: "best-start",
		value: func(site string, o history.Forecast, h protocol.Time) (Figure, bool) {
			v, ok := meanIntensity(o, h, q.Long)
			return valueOf("site/"+site, "mean-intensity", milligramsPerKWh(v)), ok
		},
		found: "%s at %s, with %s on average.", none: "No site's forecast reaches so far.",
	})
	return r
}

// A gridHour is a quantity of a grid in an hour.
type gridHour struct{ value, at Figure }

// answerGridHours says of every site what a quantity of its grid was in the hours of a window: its mean, its
// least and most with their hours, and the hours within a bound.
func (l *Dataset) answerGridHours(q ask.Query) (r Result) {
	price := gridQuestions[q.Ask].price
	if q.To == 0 {
		q.From, q.To = l.firstTime().Floor(time.Hour), l.lastTime()
	}
	r.addAssumption("the hours from %s to %s UTC, as published", valueOf("run", "from", q.From), valueOf("run", "to", q.To))
	r.Head = []string{"site", "hours", "mean", "least", "in the hour of", "most", "in the hour of"}
	compare := func(a, b gridHour) int { return cmp.Compare(a.value.Value, b.value.Value) }
	var leasts, mosts []gridHour
	for name := range l.sitesIn(q) {
		subject, sum := "site/"+name, int64(0)
		var hours []gridHour
		var within partList
		for at := max(q.From, l.firstTime()).Floor(time.Hour); at < min(q.To, l.lastTime()); at = at.Add(time.Hour) {
			v, _, ok := l.gridKnown(name, price, at, at)
			if !ok {
				continue
			}
			x := gridHour{gridFigure(name, price, v), valueOf(subject, "hour", at)}
			if hours, sum = append(hours, x), sum+v; meetsBound(q, v) {
				within = append(within, x.at)
			}
		}
		if len(hours) == 0 {
			continue
		}
		least, most, n := slices.MinFunc(hours, compare), slices.MaxFunc(hours, compare), int64(len(hours))
		leasts, mosts = append(leasts, least), append(mosts, most)
		count, mean := valueOf(subject, "hours", len(hours)), gridFigure(name, price, (2*sum+n)/(2*n))
		mean.Name = "mean-" + mean.Name
		r.addRow(namePart(name), count, mean, least.value, least.at, most.value, most.at)
		if q.Bound != "" {
			r.addSentence("%s: %s of %s with %s: %s.", namePart(name), valueOf(subject, "hours-within", len(within)), countedPart(count, "hour", "hours"), boundText(q), within)
		} else if q.Site != "" {
			r.addSentence("%s: the mean is %s, the least %s in the hour of %s, the most %s in that of %s.", namePart(name), mean, least.value, least.at, most.value, most.at)
			if len(hours) <= mostGroups {
				r.Head, r.Rows = []string{"hour", least.value.Name}, nil
				r.addFigures(count)
				for _, x := range hours {
					r.addRow(x.at, x.value)
				}
			}
		}
	}
	if len(r.Rows) == 0 {
		r.addSentence("No site had said it by then.")
	} else if len(leasts) > 1 && q.Bound == "" {
		least, most := slices.MinFunc(leasts, compare), slices.MaxFunc(mosts, compare)
		site := func(x gridHour) Part { return namePart(strings.TrimPrefix(x.at.Subject, "site/")) }
		r.addSentence("The least of all: %s at %s in the hour of %s; the most: %s at %s in that of %s.", least.value, site(least), least.at, most.value, site(most), most.at)
	}
	return r
}
