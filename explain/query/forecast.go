package query

import (
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// aboutHoursAhead are the questions about what sites said of hours to come.
var aboutHoursAhead = map[string]evaluator{
	"best-hour": (*Log).bestHour, "best-price": (*Log).bestHour, "forecast": (*Log).forecast, "forecast-error": (*Log).forecastError, "best-start": (*Log).bestStart,
}

// lasting returns a length of time that the question says, as a figure.
func lasting(what string, d time.Duration) Figure {
	return Figure{"question", what, d.Milliseconds(), "ms", nil}
}

// toCome returns the hours that a question about hours ahead is about: a window, or
// so many from a time on, none before the record. They may be past its end, where
// what was said last counts.
func (l *Log) toCome(q ask.Query, r *Result) (from, to protocol.Time) {
	if q.To != 0 {
		return max(q.From, l.first()), q.To
	}
	from = r.moment(l, q)
	return from, from.Add(q.Within)
}

// bestHour finds the hour with the least carbon, or the lowest price, in what
// sites said then of the hours ahead.
func (l *Log) bestHour(q ask.Query) (r Result) {
	at, until := l.toCome(q, &r)
	if q.Within != 0 {
		r.assume("by what each site said then of the hours ahead, %s of them", lasting("within", q.Within))
	} else {
		r.assume("by what each site said then of the hours ahead")
	}
	what, unit := "carbon-intensity", "milligrams-per-kwh"
	if q.Ask == "best-price" {
		what, unit = "price", "microdollars-per-kwh"
	}
	r.Chart = l.outlooks(q.Site, q.Ask == "best-price", at, until)
	r.Head = []string{"site", "best hour", what}
	var best, bestAt Figure
	bestSite := ""
	reach := protocol.Time(0)
	for _, s := range l.book.ReportingSiteNames() {
		if q.Site != "" && q.Site != s {
			continue
		}
		o, ok := seen(l.book.ReportingSite(s), at)
		if !ok {
			r.row(called(s), phrase("not known"), phrase(""))
			continue
		}
		reach = max(reach, o.reaches(q.Ask == "best-price"))
		least, when, found := int64(0), protocol.Time(0), false
		for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
			v, ok := o.metric(q.Ask == "best-price", h)
			if ok && (!found || v < least) {
				least, when, found = v, h, true
			}
		}
		if !found {
			r.row(called(s), phrase("not known"), phrase(""))
			continue
		}
		value, hour := siteFigure(s, what, least, unit), siteFigure(s, "best-hour", int64(when), "instant")
		r.row(called(s), hour, value)
		if bestSite == "" || least < best.Value {
			best, bestAt, bestSite = value, hour, s
		}
	}
	if bestSite == "" {
		r.say("No site had said anything of these hours.")
		return r
	}
	r.say("%s at %s, with %s.", bestAt, called(bestSite), best)
	r.upTo(reach, until)
	return r
}

// reaches returns up to when an outlook goes.
func (o outlook) reaches(price bool) protocol.Time {
	n := len(o.Carbon)
	if price {
		n = len(o.Price)
	}
	return o.From.Add(time.Duration(n) * time.Hour)
}

// upTo says that no site looked as far as was asked.
func (r *Result) upTo(reach, until protocol.Time) {
	if reach.Add(time.Hour) < until { // a part of an hour is no gap
		r.say("What the sites said goes up to %s; of later hours nothing is known.", ofRun("known-until", int64(reach), "instant"))
	}
}

// metric returns the price or the carbon intensity of an hour.
func (o outlook) metric(price bool, at protocol.Time) (int64, bool) {
	if price {
		v, ok := value(o, o.Price, at)
		return int64(v), ok
	}
	v, ok := value(o, o.Carbon, at)
	return int64(v), ok
}

// forecast tells what a site said of the hours ahead; of an hour that was
// named, what was said first and what was said last.
func (l *Log) forecast(q ask.Query) (r Result) {
	at, until := l.toCome(q, &r)
	s := l.book.ReportingSite(q.Site)
	first, ok := firstOf(s, at)
	if !ok {
		r.say("%s said nothing of that hour.", called(q.Site))
		return r
	}
	last, _ := seen(s, at)
	v, _ := value(first, first.Carbon, at)
	r.say("Of the hour from %s, %s first said %s%s (at %s).", siteFigure(q.Site, "hour", int64(at.Floor(time.Hour)), "instant"), called(q.Site),
		siteFigure(q.Site, "first-forecast", int64(v), "milligrams-per-kwh"), priced(q.Site, "first-price", first, at), siteFigure(q.Site, "first-said", int64(first.At), "instant"))
	if w, ok := value(last, last.Carbon, at); ok {
		r.say("It last said %s%s (at %s).", siteFigure(q.Site, "last-said", int64(w), "milligrams-per-kwh"), priced(q.Site, "last-price", last, at), siteFigure(q.Site, "said", int64(last.At), "instant"))
	}
	r.Chart = l.outlooks(q.Site, false, at, until)
	r.Head = []string{"hour", "carbon", "price"}
	for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
		c, okC := value(last, last.Carbon, h)
		p, okP := value(last, last.Price, h)
		if !okC || !okP {
			break
		}
		r.row(siteFigure(q.Site, "hour", int64(h), "instant"), siteFigure(q.Site, "carbon-intensity", int64(c), "milligrams-per-kwh"), siteFigure(q.Site, "price", int64(p), "microdollars-per-kwh"))
	}
	return r
}

// priced returns what an outlook says of an hour's price, to follow its carbon.
func priced(site, figure string, o outlook, at protocol.Time) Part {
	p, ok := value(o, o.Price, at)
	if !ok {
		return phrase("")
	}
	return shownAs{siteFigure(site, figure, int64(p), "microdollars-per-kwh"), func(v int64) string { return " and " + perMWh(protocol.Microdollars(v)) }}
}

// firstOf returns the first outlook that reaches an hour.
func firstOf(s *history.SiteRecord, at protocol.Time) (outlook, bool) {
	for _, f := range s.Forecasts {
		o := outlook(f)
		if _, ok := value(o, o.Carbon, at); ok {
			return o, true
		}
	}
	return outlook{}, false
}

// forecastError compares what was first said of each hour with what was said
// in it.
func (l *Log) forecastError(q ask.Query) (r Result) {
	r.whole(l, q, "hours in that time; UTC")
	r.assume("carbon: what a site first said of an hour against what it said in it")
	r.Head = []string{"site", "hours", "mean error", "mean intensity"}
	for _, name := range l.book.ReportingSiteNames() {
		s := l.book.ReportingSite(name)
		if q.Site != "" && q.Site != name {
			continue
		}
		var sum, level int64
		n := 0
		for i, o := range s.Forecasts {
			if len(o.Carbon) == 0 || !within(q, o.From) || i > 0 && s.Forecasts[i-1].From == o.From {
				continue
			}
			first, ok := firstOf(s, o.From)
			if !ok || first.From == o.From {
				continue
			}
			v, _ := value(first, first.Carbon, o.From)
			d := int64(v - o.Carbon[0])
			sum, level, n = sum+max(d, -d), level+int64(o.Carbon[0]), n+1
		}
		if n == 0 {
			r.row(called(name), siteFigure(name, "hours", 0, "count"), phrase("not known"), phrase(""))
			continue
		}
		off, hours := siteFigure(name, "mean-absolute-error", sum/int64(n), "milligrams-per-kwh"), siteFigure(name, "hours", int64(n), "count")
		r.row(called(name), hours, off, siteFigure(name, "mean-intensity", level/int64(n), "milligrams-per-kwh"))
		if q.Site != "" {
			r.say("%s was off by %s on average, over %s.", called(name), off, counted(hours, "hour", "hours"))
		}
	}
	return r
}

// mean returns the mean carbon intensity of a run: each hour counts by how much of
// it the run takes.
func (o outlook) mean(from protocol.Time, long time.Duration) (int64, bool) {
	sum, to := 0.0, from.Add(max(long, time.Minute))
	for h := from.Floor(time.Hour); h < to; h = h.Add(time.Hour) {
		v, ok := value(o, o.Carbon, h)
		if !ok {
			return 0, false
		}
		sum += float64(float64(v) * float64(min(h.Add(time.Hour), to)-max(h, from)))
	}
	return int64(sum / float64(to-from)), true
}

// bestStart finds the start with the least mean carbon over a run.
func (l *Log) bestStart(q ask.Query) (r Result) {
	at := r.moment(l, q)
	r.assume("a run of %s, started at once or on the hour and ended within %s, by mean carbon intensity as sites said then; room is not looked at", lasting("long", q.Long), lasting("within", q.Within))
	r.Chart = l.outlooks("", false, at, at.Add(q.Within))
	r.Head = []string{"site", "best start", "mean intensity", "at once"}
	var best, bestAt Figure
	bestSite := ""
	reach := protocol.Time(0)
	for _, s := range l.book.ReportingSiteNames() {
		o, ok := seen(l.book.ReportingSite(s), at)
		if !ok {
			continue
		}
		reach = max(reach, o.reaches(false))
		least, when, found := int64(0), protocol.Time(0), false
		for h := at; h.Add(q.Long) <= at.Add(q.Within); h = h.Floor(time.Hour).Add(time.Hour) {
			if v, ok := o.mean(h, q.Long); ok && (!found || v < least) {
				least, when, found = v, h, true
			}
		}
		if !found {
			continue
		}
		now := Part(phrase("not known"))
		if v, ok := o.mean(at, q.Long); ok {
			now = siteFigure(s, "at-once", v, "milligrams-per-kwh")
		}
		mean, start := siteFigure(s, "mean-intensity", least, "milligrams-per-kwh"), siteFigure(s, "best-start", int64(when), "instant")
		r.row(called(s), start, mean, now)
		if bestSite == "" || least < best.Value {
			best, bestAt, bestSite = mean, start, s
		}
	}
	if bestSite == "" {
		r.say("No site's forecast reaches so far.")
		return r
	}
	r.say("%s at %s, with %s on average.", bestAt, called(bestSite), best)
	r.upTo(reach, at.Add(q.Within))
	return r
}
