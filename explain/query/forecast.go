package query

import (
	"fmt"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// toCome returns the hours that a question about hours ahead is about: a window, or
// so many from a time on, none before the record. They may be past its end, where
// what was said last counts.
func (l *Log) toCome(q ask.Query, a *Answer) (from, to protocol.Time) {
	if q.To != 0 {
		return max(q.From, l.first()), q.To
	}
	from = l.moment(q, a)
	return from, from.Add(q.Within)
}

// bestHour finds the hour with the least carbon, or the lowest price, in what
// sites said then of the hours ahead.
func (l *Log) bestHour(q ask.Query, a *Answer) {
	at, until := l.toCome(q, a)
	which := "the hours ahead"
	if q.Within != 0 {
		which += ", " + format.FormatDuration(q.Within) + " of them"
	}
	a.assume("by what each site said then of " + which)
	what, unit := "carbon-intensity", "milligrams-per-kwh"
	if q.Ask == "best-price" {
		what, unit = "price", "microdollars-per-kwh"
	}
	a.Chart = l.outlooks(q.Site, q.Ask == "best-price", at, until)
	a.Table = &Table{Head: []string{"site", "best hour", what}}
	best, bestAt, bestSite := int64(0), protocol.Time(0), ""
	reach := protocol.Time(0)
	for _, s := range l.book.SiteNames() {
		if q.Site != "" && q.Site != s {
			continue
		}
		o, ok := seen(l.book.Site(s), at)
		if !ok {
			a.row(name(s), "not known", "")
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
			a.row(name(s), "not known", "")
			continue
		}
		a.row(name(s), format.FormatInstant(when), shown(q.Ask == "best-price", least))
		a.figure("site/"+s, "best-hour", int64(when), "instant")
		a.figure("site/"+s, what, least, unit)
		if bestSite == "" || least < best {
			best, bestAt, bestSite = least, when, s
		}
	}
	if bestSite == "" {
		a.say("No site had said anything of these hours.")
		return
	}
	a.say("%s at %s, with %s.", format.FormatInstant(bestAt), name(bestSite), shown(q.Ask == "best-price", best))
	a.upTo(reach, until)
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
func (a *Answer) upTo(reach, until protocol.Time) {
	if reach.Add(time.Hour) < until { // a part of an hour is no gap
		a.say("What the sites said goes up to %s; of later hours nothing is known.", format.FormatInstant(reach))
		a.figure("run", "known-until", int64(reach), "instant")
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

func shown(price bool, v int64) string {
	if price {
		return perMWh(protocol.Microdollars(v))
	}
	return grams(protocol.Milligrams(v))
}

// forecast tells what a site said of the hours ahead; of an hour that was
// named, what was said first and what was said last.
func (l *Log) forecast(q ask.Query, a *Answer) {
	at, until := l.toCome(q, a)
	s := l.book.Site(q.Site)
	first, ok := firstOf(s, at)
	if !ok {
		a.say("%s said nothing of that hour.", name(q.Site))
		return
	}
	last, _ := seen(s, at)
	v, _ := value(first, first.Carbon, at)
	a.say("Of the hour from %s, %s first said %s%s (at %s).", format.FormatInstant(at.Floor(time.Hour)), name(q.Site), grams(v), a.priced(q.Site, "first-price", first, at), format.FormatInstant(first.At))
	a.figure("site/"+q.Site, "first-forecast", int64(v), "milligrams-per-kwh")
	a.figure("site/"+q.Site, "first-said", int64(first.At), "instant")
	a.figure("site/"+q.Site, "hour", int64(at.Floor(time.Hour)), "instant")
	if w, ok := value(last, last.Carbon, at); ok {
		a.say("It last said %s%s (at %s).", grams(w), a.priced(q.Site, "last-price", last, at), format.FormatInstant(last.At))
		a.figure("site/"+q.Site, "last-said", int64(w), "milligrams-per-kwh")
		a.figure("site/"+q.Site, "said", int64(last.At), "instant")
	}
	a.Chart = l.outlooks(q.Site, false, at, until)
	a.Table = &Table{Head: []string{"hour", "carbon", "price"}}
	for h := at.Floor(time.Hour); h < until; h = h.Add(time.Hour) {
		c, okC := value(last, last.Carbon, h)
		p, okP := value(last, last.Price, h)
		if !okC || !okP {
			break
		}
		a.row(format.FormatInstant(h), grams(c), perMWh(p))
		a.figure("site/"+q.Site, "hour", int64(h), "instant")
		a.figure("site/"+q.Site, "carbon-intensity", int64(c), "milligrams-per-kwh")
		a.figure("site/"+q.Site, "price", int64(p), "microdollars-per-kwh")
	}
}

// priced returns what an outlook says of an hour's price, to follow its carbon.
func (a *Answer) priced(site, figure string, o outlook, at protocol.Time) string {
	p, ok := value(o, o.Price, at)
	if !ok {
		return ""
	}
	a.figure("site/"+site, figure, int64(p), "microdollars-per-kwh")
	return " and " + perMWh(p)
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
func (l *Log) forecastError(q ask.Query, a *Answer) {
	l.whole(q, a, "hours in that time; UTC")
	a.assume("carbon: what a site first said of an hour against what it said in it")
	a.Table = &Table{Head: []string{"site", "hours", "mean error", "mean intensity"}}
	for _, name := range l.book.SiteNames() {
		s := l.book.Site(name)
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
			a.row(format.CleanText(name), "0", "not known", "")
			a.figure("site/"+name, "hours", 0, "count")
			continue
		}
		a.row(format.CleanText(name), fmt.Sprint(n), grams(protocol.Milligrams(sum/int64(n))), grams(protocol.Milligrams(level/int64(n))))
		a.figure("site/"+name, "mean-absolute-error", sum/int64(n), "milligrams-per-kwh")
		a.figure("site/"+name, "mean-intensity", level/int64(n), "milligrams-per-kwh")
		a.figure("site/"+name, "hours", int64(n), "count")
		if q.Site != "" {
			a.say("%s was off by %s on average, over %s.", format.CleanText(name), grams(protocol.Milligrams(sum/int64(n))), format.CountWithNoun(n, "hour", "hours"))
		}
	}
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
func (l *Log) bestStart(q ask.Query, a *Answer) {
	at := l.moment(q, a)
	a.assume(fmt.Sprintf("a run of %s, started at once or on the hour and ended within %s, by mean carbon intensity as sites said then; room is not looked at", format.FormatDuration(q.Long), format.FormatDuration(q.Within)))
	a.Chart = l.outlooks("", false, at, at.Add(q.Within))
	a.Table = &Table{Head: []string{"site", "best start", "mean intensity", "at once"}}
	best, bestAt, bestSite := int64(0), protocol.Time(0), ""
	reach := protocol.Time(0)
	for _, s := range l.book.SiteNames() {
		o, ok := seen(l.book.Site(s), at)
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
		now := "not known"
		if v, ok := o.mean(at, q.Long); ok {
			now = grams(protocol.Milligrams(v))
			a.figure("site/"+s, "at-once", v, "milligrams-per-kwh")
		}
		a.row(name(s), format.FormatInstant(when), grams(protocol.Milligrams(least)), now)
		a.figure("site/"+s, "best-start", int64(when), "instant")
		a.figure("site/"+s, "mean-intensity", least, "milligrams-per-kwh")
		if bestSite == "" || least < best {
			best, bestAt, bestSite = least, when, s
		}
	}
	if bestSite == "" {
		a.say("No site's forecast reaches so far.")
		return
	}
	a.say("%s at %s, with %s on average.", format.FormatInstant(bestAt), name(bestSite), grams(protocol.Milligrams(best)))
	a.upTo(reach, at.Add(q.Within))
}
