package query

import (
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// aboutHoursAhead are the questions about the forecasts of sites.
var aboutHoursAhead = map[string]evaluator{
	"best-hour": (*Dataset).answerBestHour, "best-price": (*Dataset).answerBestHour, "forecast": (*Dataset).answerForecast, "forecast-error": (*Dataset).answerForecastError, "best-start": (*Dataset).answerBestStart,
}

// durationFigure returns a duration from the question as a figure.
func durationFigure(what string, d time.Duration) Figure {
	return Figure{"question", what, d.Milliseconds(), "ms", nil}
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

// answerBestHour finds the hour with the least carbon, or the lowest price, in the forecasts
// that sites had published then.
func (l *Dataset) answerBestHour(q ask.Query) (r Result) {
	at, until := l.hoursAhead(q, &r)
	if q.Within != 0 {
		r.addAssumption("by what each site said then of the hours ahead, %s of them", durationFigure("within", q.Within))
	} else {
		r.addAssumption("by what each site said then of the hours ahead")
	}
	what, unit := "carbon-intensity", "milligrams-per-kwh"
	if q.Ask == "best-price" {
		what, unit = "price", "microdollars-per-kwh"
	}
	r.Chart = l.forecastChart(q.Site, q.Ask == "best-price", at, until)
	r.Head = []string{"site", "best hour", what}
	var best, bestAt Figure
	bestSite := ""
	reach := protocol.Time(0)
	for _, s := range l.history.ReportingSiteNames() {
		if q.Site != "" && q.Site != s {
			continue
		}
		o, ok := forecastSeenAt(l.history.ReportingSite(s), at)
		if !ok {
			r.addRow(namePart(s), plainText("not known"), plainText(""))
			continue
		}
		reach = max(reach, o.knownUntil(q.Ask == "best-price"))
		least, when, found := int64(0), protocol.Time(0), false
		for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
			v, ok := o.valueAt(q.Ask == "best-price", h)
			if ok && (!found || v < least) {
				least, when, found = v, h, true
			}
		}
		if !found {
			r.addRow(namePart(s), plainText("not known"), plainText(""))
			continue
		}
		value, hour := siteFigure(s, what, least, unit), siteFigure(s, "best-hour", int64(when), "instant")
		r.addRow(namePart(s), hour, value)
		if bestSite == "" || least < best.Value {
			best, bestAt, bestSite = value, hour, s
		}
	}
	if bestSite == "" {
		r.addSentence("No site had said anything of these hours.")
		return r
	}
	r.addSentence("%s at %s, with %s.", bestAt, namePart(bestSite), best)
	r.upTo(reach, until)
	return r
}

// knownUntil returns the end of a forecast.
func (o siteForecast) knownUntil(price bool) protocol.Time {
	n := len(o.Carbon)
	if price {
		n = len(o.Price)
	}
	return o.From.Add(time.Duration(n) * time.Hour)
}

// upTo adds a sentence if no forecast reaches as far as the question.
func (r *Result) upTo(reach, until protocol.Time) {
	if reach.Add(time.Hour) < until { // a part of an hour is no gap
		r.addSentence("What the sites said goes up to %s; of later hours nothing is known.", runFigure("known-until", int64(reach), "instant"))
	}
}

// valueAt returns the price or the carbon intensity of an hour.
func (o siteForecast) valueAt(price bool, at protocol.Time) (int64, bool) {
	if price {
		v, ok := valueAt(o, o.Price, at)
		return int64(v), ok
	}
	v, ok := valueAt(o, o.Carbon, at)
	return int64(v), ok
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
	last, _ := forecastSeenAt(s, at)
	v, _ := valueAt(first, first.Carbon, at)
	r.addSentence("Of the hour from %s, %s first said %s%s (at %s).", siteFigure(q.Site, "hour", int64(at.Floor(time.Hour)), "instant"), namePart(q.Site),
		siteFigure(q.Site, "first-forecast", int64(v), "milligrams-per-kwh"), pricePart(q.Site, "first-price", first, at), siteFigure(q.Site, "first-said", int64(first.At), "instant"))
	if w, ok := valueAt(last, last.Carbon, at); ok {
		r.addSentence("It last said %s%s (at %s).", siteFigure(q.Site, "last-said", int64(w), "milligrams-per-kwh"), pricePart(q.Site, "last-price", last, at), siteFigure(q.Site, "said", int64(last.At), "instant"))
	}
	r.Chart = l.forecastChart(q.Site, false, at, until)
	r.Head = []string{"hour", "carbon", "price"}
	for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
		c, okC := valueAt(last, last.Carbon, h)
		p, okP := valueAt(last, last.Price, h)
		if !okC || !okP {
			break
		}
		r.addRow(siteFigure(q.Site, "hour", int64(h), "instant"), siteFigure(q.Site, "carbon-intensity", int64(c), "milligrams-per-kwh"), siteFigure(q.Site, "price", int64(p), "microdollars-per-kwh"))
	}
	return r
}

// pricePart returns the price that a forecast gives for an hour, to follow its carbon.
func pricePart(site, figure string, o siteForecast, at protocol.Time) Part {
	p, ok := valueAt(o, o.Price, at)
	if !ok {
		return plainText("")
	}
	return formattedFigure{siteFigure(site, figure, int64(p), "microdollars-per-kwh"), func(v int64) string { return " and " + perMWh(protocol.Microdollars(v)) }}
}

// firstForecastOf returns the first forecast that reaches an hour.
func firstForecastOf(s *history.SiteRecord, at protocol.Time) (siteForecast, bool) {
	for _, f := range s.Forecasts {
		o := siteForecast(f)
		if _, ok := valueAt(o, o.Carbon, at); ok {
			return o, true
		}
	}
	return siteForecast{}, false
}

// answerForecastError compares the first forecast of each hour with the value reported in it.
func (l *Dataset) answerForecastError(q ask.Query) (r Result) {
	r.assumeWindow(l, q, "hours in that time; UTC")
	r.addAssumption("carbon: what a site first said of an hour against what it said in it")
	r.Head = []string{"site", "hours", "mean error", "mean intensity"}
	for _, name := range l.history.ReportingSiteNames() {
		s := l.history.ReportingSite(name)
		if q.Site != "" && q.Site != name {
			continue
		}
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
			v, _ := valueAt(first, first.Carbon, o.From)
			d := int64(v - o.Carbon[0])
			sum, level, n = sum+max(d, -d), level+int64(o.Carbon[0]), n+1
		}
		if n == 0 {
			r.addRow(namePart(name), siteFigure(name, "hours", 0, "count"), plainText("not known"), plainText(""))
			continue
		}
		off, hours := siteFigure(name, "mean-absolute-error", sum/int64(n), "milligrams-per-kwh"), siteFigure(name, "hours", int64(n), "count")
		r.addRow(namePart(name), hours, off, siteFigure(name, "mean-intensity", level/int64(n), "milligrams-per-kwh"))
		if q.Site != "" {
			r.addSentence("%s was off by %s on average, over %s.", namePart(name), off, countedPart(hours, "hour", "hours"))
		}
	}
	return r
}

// meanIntensity returns the mean carbon intensity of a run: each hour counts by how much of
// it the run takes.
func (o siteForecast) meanIntensity(from protocol.Time, long time.Duration) (int64, bool) {
	sum, to := 0.0, from.Add(max(long, time.Minute))
	for h := from.Floor(time.Hour); h < to; h = h.Add(time.Hour) {
		v, ok := valueAt(o, o.Carbon, h)
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
	r.Chart = l.forecastChart("", false, at, at.Add(q.Within))
	r.Head = []string{"site", "best start", "mean intensity", "at once"}
	var best, bestAt Figure
	bestSite := ""
	reach := protocol.Time(0)
	for _, s := range l.history.ReportingSiteNames() {
		o, ok := forecastSeenAt(l.history.ReportingSite(s), at)
		if !ok {
			continue
		}
		reach = max(reach, o.knownUntil(false))
		least, when, found := int64(0), protocol.Time(0), false
		for h := at; h.Add(q.Long) <= at.Add(q.Within); h = h.Floor(time.Hour).Add(time.Hour) {
			if v, ok := o.meanIntensity(h, q.Long); ok && (!found || v < least) {
				least, when, found = v, h, true
			}
		}
		if !found {
			continue
		}
		now := Part(plainText("not known"))
		if v, ok := o.meanIntensity(at, q.Long); ok {
			now = siteFigure(s, "at-once", v, "milligrams-per-kwh")
		}
		mean, start := siteFigure(s, "mean-intensity", least, "milligrams-per-kwh"), siteFigure(s, "best-start", int64(when), "instant")
		r.addRow(namePart(s), start, mean, now)
		if bestSite == "" || least < best.Value {
			best, bestAt, bestSite = mean, start, s
		}
	}
	if bestSite == "" {
		r.addSentence("No site's forecast reaches so far.")
		return r
	}
	r.addSentence("%s at %s, with %s on average.", bestAt, namePart(bestSite), best)
	r.upTo(reach, at.Add(q.Within))
	return r
}
