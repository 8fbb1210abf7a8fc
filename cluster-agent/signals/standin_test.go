package signals

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A standin answers as a service's documentation describes. Its values are computed
// from the hour, so that a value in the wrong hour shows.
type standin struct {
	name   string
	cfg    Config
	where  string              // whose clocks its days follow
	ahead  bool                // it tells of the rest of the day
	page   func(ask) string    // "" is 404
	pack   func(string) string // of what is sent, at the end; nil: as it is
	truth  func(t time.Time) float64
	schema [2]string // a renamed field
	unit   [2]string // another unit; "" of services that name none: x1000
}

type ask struct {
	*http.Request
	now time.Time
	q   url.Values
}

const secret = "k3y/that+nobody sees"

func hoursOf(t time.Time) int64 { return t.Unix() / 3600 }

func grams(t time.Time) float64   { return 100 + float64(hoursOf(t)%37)*7 }
func dollars(t time.Time) float64 { return -20 + float64(hoursOf(t)%41)*3.5 }
func degrees(t time.Time) float64 { return float64(hoursOf(t)%25) - 5 }

// every calls do for each step of a time.
func every(from, to time.Time, step time.Duration, do func(time.Time)) {
	for t := from.Truncate(step); t.Before(to); t = t.Add(step) {
		do(t)
	}
}

func list(from, to time.Time, step time.Duration, one func(time.Time) string) string {
	var all []string
	every(from, to, step, func(t time.Time) { all = append(all, one(t)) })
	return "[" + strings.Join(all, ",") + "]"
}

func place(name string) *time.Location {
	l, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return l
}

// midnights are those of local days that touch a time.
func midnights(from, to time.Time, where *time.Location) (all []time.Time) {
	y, m, d := from.In(where).Date()
	for i := 0; ; i++ {
		t := time.Date(y, m, d+i, 0, 0, 0, 0, where)
		all = append(all, t)
		if !t.Before(to) {
			return all
		}
	}
}

var standins = []standin{
	{
		name: "electricity-maps", where: "Europe/Berlin", ahead: true, truth: grams,
		cfg:    Config{Tells: "carbon", From: "electricity-maps", Zone: "DE", KeyEnv: "FEED_KEY"},
		schema: [2]string{"carbonIntensity", "carbon_intensity"},
		page: func(a ask) string {
			if a.Header.Get("auth-token") != secret || a.q.Get("zone") != "DE" {
				return ""
			}
			row := func(t time.Time) string {
				return fmt.Sprintf(`{"zone":"DE","carbonIntensity":%g,"datetime":"%s","updatedAt":"%s","emissionFactorType":"lifecycle","isEstimated":false,"estimationMethod":null}`,
					grams(t), t.Format("2006-01-02T15:04:05.000Z"), t.Format(time.RFC3339))
			}
			hour := a.now.Truncate(time.Hour)
			switch a.URL.Path {
			case "/carbon-intensity/history":
				return `{"zone":"DE","history":` + list(hour.Add(-23*time.Hour), hour, time.Hour, row) + `,"temporalGranularity":"hourly"}`
			case "/carbon-intensity/latest":
				return row(hour)
			case "/carbon-intensity/forecast":
				ahead := 24 * time.Hour
				if a.q.Get("horizonHours") == "72" {
					ahead = 72 * time.Hour
				}
				return `{"zone":"DE","forecast":` + list(hour, hour.Add(ahead+time.Hour), time.Hour, row) + `,"temporalGranularity":"hourly"}`
			}
			return ""
		},
	},
	{
		name: "watttime", where: "America/Los_Angeles", ahead: true, truth: func(t time.Time) float64 { return grams(t) * gramsPerPound / 1000 },
		cfg:    Config{Tells: "carbon", From: "watttime", Zone: "CAISO_NORTH", User: "me", KeyEnv: "FEED_KEY"},
		schema: [2]string{"point_time", "time"}, unit: [2]string{"lbs_co2_per_mwh", "kg_co2_per_mwh"},
		page: func(a ask) string {
			if a.URL.Path == "/login" {
				if user, password, _ := a.BasicAuth(); user != "me" || password != secret {
					return ""
				}
				return `{"token":"eyJ.of.now"}`
			}
			if a.Header.Get("Authorization") != "Bearer eyJ.of.now" || a.q.Get("region") != "CAISO_NORTH" || a.q.Get("signal_type") != "co2_moer" {
				return ""
			}
			from, to := a.now, a.now.Add(72*time.Hour)
			if a.URL.Path == "/v3/historical" {
				from, _ = time.Parse(time.RFC3339, a.q.Get("start"))
				to, _ = time.Parse(time.RFC3339, a.q.Get("end"))
			}
			return `{"data":` + list(from, to, 5*time.Minute, func(t time.Time) string {
				return fmt.Sprintf(`{"point_time":"%s","value":%g}`, t.Format("2006-01-02T15:04:05+00:00"), grams(t))
			}) + `,"meta":{"region":"CAISO_NORTH","signal_type":"co2_moer","units":"lbs_co2_per_mwh","data_point_period_seconds":300,"model":{"date":"2026-03-01"},"warnings":[]}}`
		},
	},
	{
		name: "uk-carbon", where: "Europe/London", ahead: true, truth: grams,
		cfg:    Config{Tells: "carbon", From: "uk-carbon"},
		schema: [2]string{"intensity", "carbon"},
		page: func(a ask) string {
			part := strings.Split(a.URL.Path, "/")
			from, _ := time.Parse("2006-01-02T15:04Z", part[len(part)-2])
			to, _ := time.Parse("2006-01-02T15:04Z", part[len(part)-1])
			if to.Sub(from) > 14*24*time.Hour {
				return ""
			}
			if last := a.now.Add(48 * time.Hour); to.After(last) {
				to = last
			}
			return `{"data":` + list(from, to, 30*time.Minute, func(t time.Time) string {
				actual := "null"
				if t.Before(a.now.Truncate(30 * time.Minute)) {
					actual = fmt.Sprint(grams(t))
				}
				return fmt.Sprintf(`{"from":"%s","to":"%s","intensity":{"forecast":%g,"actual":%s,"index":"high"}}`,
					t.Format("2006-01-02T15:04Z"), t.Add(30*time.Minute).Format("2006-01-02T15:04Z"), grams(t), actual)
			}) + `}`
		},
	},
	{
		name: "electricity-maps price", where: "Europe/Berlin", ahead: true, truth: func(t time.Time) float64 { return 1.25 * dollars(t) },
		cfg:    Config{Tells: "price", From: "electricity-maps", Zone: "DE", KeyEnv: "FEED_KEY", Rate: 1.25},
		schema: [2]string{"value", "price"}, unit: [2]string{"EUR/MWh", "GBP/MWh"},
		page: func(a ask) string {
			if a.Header.Get("auth-token") != secret || a.q.Get("zone") != "DE" || a.q.Get("disableCallerLookup") != "true" {
				return ""
			}
			hour := a.now.Truncate(time.Hour)
			from, to := hour.Add(-23*time.Hour), hour.Add(time.Hour)
			switch a.URL.Path {
			case "/price-day-ahead/history":
			case "/price-day-ahead/combined":
				from, to = hour, hour.Add(25*time.Hour)
			default:
				return ""
			}
			return `{"zone":"DE","data":` + list(from, to, time.Hour, func(t time.Time) string {
				return fmt.Sprintf(`{"datetime":"%s","createdAt":"2026-08-22T11:29:00.000Z","value":%g,"unit":"EUR/MWh","source":"nordpool.com"}`, t.Format("2006-01-02T15:04:05.000Z"), dollars(t))
			}) + `,"temporalGranularity":"hourly"}`
		},
	},
	{
		name: "uk-carbon of a region", where: "Europe/London", ahead: true, truth: grams,
		cfg:    Config{Tells: "carbon", From: "uk-carbon", Zone: "7"},
		schema: [2]string{"regionid", "region"},
		page: func(a ask) string {
			part := strings.Split(a.URL.Path, "/")
			if len(part) != 7 || part[1] != "regional" || part[5] != "regionid" {
				return ""
			}
			from, _ := time.Parse("2006-01-02T15:04Z", part[3])
			to, _ := time.Parse("2006-01-02T15:04Z", part[4])
			return `{"data":{"regionid":` + part[6] + `,"dnoregion":"WPD South Wales","shortname":"South Wales","data":` + list(from, to, 30*time.Minute, func(t time.Time) string {
				return fmt.Sprintf(`{"from":"%s","to":"%s","intensity":{"forecast":%g,"index":"high"},"generationmix":[{"fuel":"gas","perc":61.2}]}`,
					t.Format("2006-01-02T15:04Z"), t.Add(30*time.Minute).Format("2006-01-02T15:04Z"), grams(t))
			}) + `}}`
		},
	},
	{
		name: "energy-charts", where: "Europe/Berlin", ahead: true, truth: func(t time.Time) float64 { return 1.25 * dollars(t) },
		cfg:    Config{Tells: "price", From: "energy-charts", Zone: "DE-LU", Rate: 1.25},
		schema: [2]string{"unix_seconds", "seconds"}, unit: [2]string{"EUR / MWh", "EUR / kWh"},
		page: func(a ask) string {
			var from, to int64
			fmt.Sscan(a.q.Get("start"), &from)
			fmt.Sscan(a.q.Get("end"), &to)
			if a.URL.Path != "/price" || a.q.Get("bzn") != "DE-LU" {
				return ""
			}
			begin, end := time.Unix(from, 0), time.Unix(to, 0)
			return `{"license_info":"CC BY 4.0","unix_seconds":` + list(begin, end, 15*time.Minute, func(t time.Time) string { return fmt.Sprint(t.Unix()) }) + `,"price":` +
				list(begin, end, 15*time.Minute, func(t time.Time) string { return fmt.Sprint(dollars(t)) }) + `,"unit":"EUR / MWh","deprecated":false}`
		},
	},
	{
		name: "elexon", where: "Europe/London", truth: func(t time.Time) float64 { return 1.5 * dollars(t) },
		cfg:    Config{Tells: "price", From: "elexon", Rate: 1.5},
		schema: [2]string{"dataProvider", "provider"}, unit: [2]string{"price\":", "price\":1e5"},
		page: func(a ask) string {
			from, err := time.Parse("2006-01-02T15:04Z", a.q.Get("from"))
			to, err2 := time.Parse("2006-01-02T15:04Z", a.q.Get("to"))
			if err != nil || err2 != nil || to.Sub(from) > 7*24*time.Hour || a.q.Get("dataProviders") != "APXMIDP" || a.URL.Path != "/balancing/pricing/market-index" {
				return ""
			}
			return `{"metadata":{"datasets":["MID"]},"data":` + list(from, to, 30*time.Minute, func(t time.Time) string {
				return fmt.Sprintf(`{"startTime":"%s","dataProvider":"APXMIDP","settlementDate":"2026-02-10","settlementPeriod":1,"price":%g,"volume":812.5}`, t.Format(time.RFC3339), dollars(t))
			}) + `}`
		},
	},
	{
		name: "aemo", where: "Europe/Berlin", ahead: true, truth: func(t time.Time) float64 { return 0.5 * dollars(t) },
		cfg:    Config{Tells: "price", From: "aemo", Zone: "NSW1", Rate: 0.5},
		schema: [2]string{"SETTLEMENTDATE", "DATE"}, unit: [2]string{`"RRP":`, `"RRP":1e5`},
		page: func(a ask) string {
			if a.Method != http.MethodPost || a.URL.Path != "/5MIN" {
				return ""
			}
			var rows []string
			row := func(t time.Time, step time.Duration, kind string) {
				for region, price := range map[string]float64{"NSW1": dollars(t), "VIC1": 9000} {
					rows = append(rows, fmt.Sprintf(`{"SETTLEMENTDATE":"%s","REGIONID":"%s","REGION":"%s","RRP":%g,"TOTALDEMAND":7700.1,"PERIODTYPE":"%s","APCFLAG":0}`,
						t.Add(step).In(aemoClock).Format("2006-01-02T15:04:05"), region, region, price, kind))
				}
			}
			now := a.now.Truncate(30 * time.Minute)
			every(now.Add(-24*time.Hour), now, 5*time.Minute, func(t time.Time) { row(t, 5*time.Minute, "ACTUAL") })
			every(now, now.Add(24*time.Hour), 30*time.Minute, func(t time.Time) { row(t, 30*time.Minute, "FORECAST") })
			return `{"5MIN":[` + strings.Join(rows, ",") + `]}`
		},
	},
	{
		name: "entsoe price", where: "Europe/Berlin", ahead: true, truth: func(t time.Time) float64 { return 1.25 * slow(t) },
		cfg:    Config{Tells: "price", From: "entsoe", Zone: "10Y1001A1001A82H", KeyEnv: "FEED_KEY", Rate: 1.25},
		schema: [2]string{"price.amount", "amount"}, unit: [2]string{">EUR<", ">GBP<"},
		page: func(a ask) string {
			if a.q.Get("securityToken") != secret || a.q.Get("documentType") != "A44" || a.q.Get("in_Domain") != a.q.Get("out_Domain") {
				return ""
			}
			// Another exchange comes first, at another price.
			return `<?xml version="1.0" encoding="UTF-8"?><Publication_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3"><type>A44</type>` +
				entsoeDays(a, "2", "PT60M", func(t time.Time) float64 { return 999 }) + entsoeDays(a, "1", "PT15M", quarterly) + `</Publication_MarketDocument>`
		},
	},
	{
		name: "entsoe carbon", where: "Europe/Berlin", truth: func(t time.Time) float64 { g := grams(t); return (g*factorGas + 300*factorSolar) / (g + 300) },
		cfg:    Config{Tells: "carbon", From: "entsoe", Zone: "10YFR-RTE------C", KeyEnv: "FEED_KEY"},
		schema: [2]string{"psrType", "kind"}, unit: [2]string{">MAW<", ">KWT<"},
		page: func(a ask) string {
			if a.q.Get("documentType") != "A75" || a.q.Get("processType") != "A16" {
				return ""
			}
			from, to := entsoeAsked(a)
			plant := func(domain, kind string, mw func(time.Time) float64) string {
				i := 0
				points := ""
				every(from, to, time.Hour, func(t time.Time) {
					i++
					points += fmt.Sprintf("<Point><position>%d</position><quantity>%g</quantity></Point>", i, mw(t))
				})
				return fmt.Sprintf(`<TimeSeries><%s codingScheme="A01">10YFR-RTE------C</%s><quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name><curveType>A01</curveType><MktPSRType><psrType>%s</psrType></MktPSRType><Period><timeInterval><start>%s</start><end>%s</end></timeInterval><resolution>PT60M</resolution>%s</Period></TimeSeries>`,
					domain, domain, kind, from.Format("2006-01-02T15:04Z"), to.Format("2006-01-02T15:04Z"), points)
			}
			return `<GL_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-6:generationloaddocument:3:0"><type>A75</type>` +
				plant("inBiddingZone_Domain.mRID", "B04", grams) + plant("inBiddingZone_Domain.mRID", "B16", func(time.Time) float64 { return 300 }) +
				plant("outBiddingZone_Domain.mRID", "B10", func(time.Time) float64 { return 5000 }) + `</GL_MarketDocument>`
		},
	},
	{
		name: "eia", where: "America/New_York", truth: func(t time.Time) float64 { g := grams(t); return (g*factorCoal + 500*factorNuclear) / (g + 500) },
		cfg:    Config{Tells: "carbon", From: "eia", Zone: "PJM", KeyEnv: "FEED_KEY"},
		schema: [2]string{"fueltype", "fuel"}, unit: [2]string{"megawatthours", "megawatts"},
		page: func(a ask) string {
			from, err := time.Parse("2006-01-02T15", a.q.Get("start"))
			if err != nil || a.q.Get("api_key") != secret || a.q.Get("facets[respondent][]") != "PJM" || a.q.Get("frequency") != "hourly" {
				return ""
			}
			row := func(t time.Time, fuel, value string) string { // named by the end of its hour
				return fmt.Sprintf(`{"period":"%s","respondent":"PJM","respondent-name":"PJM Interconnection, LLC","fueltype":"%s","type-name":"x","value":%s,"value-units":"megawatthours"}`,
					t.Add(time.Hour).Format("2006-01-02T15"), fuel, value)
			}
			var rows []string
			every(from, a.now.Truncate(time.Hour), time.Hour, func(t time.Time) {
				rows = append(rows, row(t, "COL", fmt.Sprintf(`"%g"`, grams(t))), row(t, "NUC", "500"), row(t, "OTH", "null"), row(t, "BAT", `"-3000"`))
			})
			return fmt.Sprintf(`{"response":{"total":"%d","dateFormat":"YYYY-MM-DD\"T\"HH24","frequency":"hourly","data":[%s]},"apiVersion":"2.1.8"}`, len(rows), strings.Join(rows, ","))
		},
	},
	{
		name: "caiso day-ahead", where: "America/Los_Angeles", ahead: true, truth: dollars, pack: zipped,
		cfg:    Config{Tells: "price", From: "caiso", Zone: "TH_NP15_GEN-APND"},
		schema: [2]string{"INTERVALSTARTTIME_GMT", "START"},
		page:   func(a ask) string { return oasis(a, "DAM", time.Hour) },
	},
	{
		name: "caiso real-time", where: "America/Los_Angeles", truth: dollars, pack: zipped,
		cfg:    Config{Tells: "price", From: "caiso", Zone: "TH_NP15_GEN-APND", Market: "real-time"},
		schema: [2]string{"LMP_TYPE", "KIND"},
		page:   func(a ask) string { return oasis(a, "RTM", 5*time.Minute) },
	},
	{
		name: "ercot day-ahead", where: "America/Chicago", ahead: true, truth: dollars,
		cfg:    Config{Tells: "price", From: "ercot", Zone: "HB_HUBAVG", User: "me", KeyEnv: "FEED_KEY", PasswordEnv: "FEED_PASSWORD"},
		schema: [2]string{"settlementPointPrice", "price"},
		page:   func(a ask) string { return texas(a, false) },
	},
	{
		name: "ercot real-time", where: "America/Chicago", truth: dollars,
		cfg:    Config{Tells: "price", From: "ercot", Zone: "HB_HUBAVG", Market: "real-time", User: "me", KeyEnv: "FEED_KEY", PasswordEnv: "FEED_PASSWORD"},
		schema: [2]string{"DSTFlag", "repeated"},
		page:   func(a ask) string { return texas(a, true) },
	},
	{
		name: "open-meteo", where: "Europe/Oslo", ahead: true, truth: func(t time.Time) float64 { return defaultCooling.pueAtWetBulb(degrees(t)) },
		cfg:    Config{Tells: "pue", From: "open-meteo", Latitude: new(59.91), Longitude: new(10.75)},
		schema: [2]string{"hourly_units", "units"}, unit: [2]string{"°C", "°F"},
		page: func(a ask) string {
			if a.q.Get("latitude") != "59.9100" || a.q.Get("timezone") != "GMT" || a.q.Get("hourly") != "wet_bulb_temperature_2m" {
				return ""
			}
			var days int
			fmt.Sscan(a.q.Get("past_days"), &days)
			day := a.now.Truncate(24 * time.Hour)
			from, to := day.Add(-time.Duration(days)*24*time.Hour), day.Add(5*24*time.Hour)
			return `{"latitude":59.9,"longitude":10.7,"utc_offset_seconds":0,"timezone":"GMT","hourly_units":{"time":"iso8601","wet_bulb_temperature_2m":"°C"},"hourly":{"time":` +
				list(from, to, time.Hour, func(t time.Time) string { return t.Format(`"2006-01-02T15:04"`) }) + `,"wet_bulb_temperature_2m":` +
				list(from, to, time.Hour, func(t time.Time) string { return fmt.Sprint(degrees(t)) }) + `}}`
		},
	},
	{
		name: "csv", where: "Europe/Paris", ahead: true, truth: func(t time.Time) float64 { return 2 * (dollars(t) + 30) },
		cfg:    Config{Tells: "price", From: "csv", Unit: "GBP/MWh", Rate: 2, Timezone: "Europe/Paris", Column: "price", TimeColumn: "when"},
		schema: [2]string{"when,", "start,"},
		page: func(a ask) string {
			text := "when,price,note\n"
			every(a.now.Add(-72*time.Hour), a.now.Add(72*time.Hour), time.Hour, func(t time.Time) {
				text += fmt.Sprintf("%s,%g,x\n", t.In(place("Europe/Paris")).Format("2006-01-02T15:04"), dollars(t)+30)
			})
			return text
		},
	},
	{
		name: "prometheus", where: "Europe/Berlin", truth: func(t time.Time) float64 { return grams(t) * gramsPerPound / 1000 },
		cfg:    Config{Tells: "carbon", From: "prometheus", URL: "-", Query: `avg(grid_carbon{zone="DE"})`, Unit: "lb/MWh", KeyEnv: "FEED_KEY"},
		schema: [2]string{"resultType", "type"},
		page: func(a ask) string {
			var from, to int64
			fmt.Sscan(a.q.Get("start"), &from)
			fmt.Sscan(a.q.Get("end"), &to)
			if a.URL.Path != "/api/v1/query_range" || a.q.Get("step") != "300" || a.Header.Get("Authorization") != "Bearer "+secret {
				return ""
			}
			return `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"zone":"DE"},"values":` +
				list(time.Unix(from, 0), time.Unix(to, 0), 5*time.Minute, func(t time.Time) string {
					return fmt.Sprintf(`[%d,"%g"]`, t.Unix(), grams(t))
				}) + `}]}}`
		},
	},
}

// slow changes each third hour, so that points are omitted; quarterly is around it.
func slow(t time.Time) float64 { return dollars(t.Truncate(3 * time.Hour)) }

func quarterly(t time.Time) float64 {
	if hoursOf(t)%5 == 0 {
		return slow(t) + float64(t.Minute()/15*2-3)
	}
	return slow(t)
}

func entsoeAsked(a ask) (from, to time.Time) {
	from, _ = time.Parse("200601021504", a.q.Get("periodStart"))
	to, _ = time.Parse("200601021504", a.q.Get("periodEnd"))
	return from, to
}

// entsoeDays are whole local days as a curve A03: what is as before is left out.
func entsoeDays(a ask, auction, grain string, price func(time.Time) float64) string {
	step := map[string]time.Duration{"PT60M": time.Hour, "PT15M": 15 * time.Minute}[grain]
	from, to := entsoeAsked(a)
	days := midnights(from, to, place("Europe/Berlin"))
	text := ""
	for d := range days[:len(days)-1] {
		points, last, i := "", 0.0, 0
		every(days[d], days[d+1], step, func(t time.Time) {
			i++
			if p := price(t); i == 1 || p != last {
				points += fmt.Sprintf("<Point><position>%d</position><price.amount>%g</price.amount></Point>", i, p)
				last = p
			}
		})
		text += fmt.Sprintf(`<TimeSeries><mRID>1</mRID><curveType>A03</curveType><classificationSequence_AttributeInstanceComponent.position>%s</classificationSequence_AttributeInstanceComponent.position><currency_Unit.name>EUR</currency_Unit.name><price_Measure_Unit.name>MWH</price_Measure_Unit.name><Period><timeInterval><start>%s</start><end>%s</end></timeInterval><resolution>%s</resolution>%s</Period></TimeSeries>`,
			auction, days[d].UTC().Format("2006-01-02T15:04Z"), days[d+1].UTC().Format("2006-01-02T15:04Z"), grain, points)
	}
	return text
}

func oasis(a ask, market string, step time.Duration) string {
	from, err := time.Parse("20060102T15:04-0000", a.q.Get("startdatetime"))
	to, err2 := time.Parse("20060102T15:04-0000", a.q.Get("enddatetime"))
	report := map[string]string{"DAM": "PRC_LMP 12", "RTM": "PRC_INTVL_LMP 3"}[market]
	if err != nil || err2 != nil || a.q.Get("market_run_id") != market || a.q.Get("resultformat") != "6" || a.q.Get("queryname")+" "+a.q.Get("version") != report {
		return ""
	}
	text := "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,OPR_INTERVAL,NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,XML_DATA_ITEM,PNODE_RESMRID,GRP_TYPE,POS,MW,GROUP\n"
	node := a.q.Get("node")
	for _, kind := range []string{"MCC", "LMP"} { // parts of the price come beside it
		every(from, to, step, func(t time.Time) {
			value := dollars(t)
			if kind != "LMP" {
				value = -777
			}
			text += fmt.Sprintf("%s,%s,x,1,0,%s,%s,%s,%s,%s,x,%s,ALL,0,%g,1\n",
				t.Format("2006-01-02T15:04:05-00:00"), t.Add(step).Format("2006-01-02T15:04:05-00:00"), node, node, node, market, kind, node, value)
		})
	}
	return text
}

func zipped(text string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	name := "20260101_20260102_PRC_LMP_v12.csv"
	if strings.HasPrefix(text, "<") {
		name = "INVALID_REQUEST.xml"
	}
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err)
	}
	return b.String()
}

// texas answers by local days, each hour by the clock on the wall at its end.
func texas(a ask, quarters bool) string {
	if a.URL.Path == "/token" {
		if a.ParseForm() != nil || a.PostForm.Get("password") != "p4ss" || a.PostForm.Get("username") != "me" {
			return ""
		}
		return `{"access_token":"a","id_token":"eyJ.of.now","token_type":"Bearer","expires_in":"3600"}`
	}
	if a.Header.Get("Ocp-Apim-Subscription-Key") != secret || a.Header.Get("Authorization") != "Bearer eyJ.of.now" {
		return ""
	}
	where := place("America/Chicago")
	from, _ := time.ParseInLocation("2006-01-02", a.q.Get("deliveryDateFrom"), where)
	to, _ := time.ParseInLocation("2006-01-02", a.q.Get("deliveryDateTo"), where)
	step, head, report := time.Hour, `{"name":"hourEnding"}`, "/np4-190-cd/dam_stlmnt_pnt_prices"
	if quarters {
		step, head, report = 15*time.Minute, `{"name":"deliveryHour"},{"name":"deliveryInterval"}`, "/np6-905-cd/spp_node_zone_hub"
	}
	if a.URL.Path != report {
		return ""
	}
	if end := a.now; quarters && to.After(end) {
		to = end
	}
	to = to.AddDate(0, 0, 1)
	rows := list(from, to, step, func(t time.Time) string {
		wall := t.In(where)
		_, offset := wall.Zone()
		_, before := t.Add(-time.Hour).In(where).Zone()
		repeated, _ := json.Marshal(before > offset)
		hour := fmt.Sprintf(`"%02d:00"`, wall.Hour()+1)
		if quarters {
			hour = fmt.Sprintf(`%d,%d`, wall.Hour()+1, wall.Minute()/15+1)
		}
		return fmt.Sprintf(`["%s",%s,"HB_HUBAVG",%g,%s]`, wall.Format("2006-01-02"), hour, dollars(t), repeated)
	})
	return `{"_meta":{"totalRecords":9,"totalPages":1,"currentPage":1},"report":{"reportTypeId":12331},"fields":[{"name":"deliveryDate"},` + head +
		`,{"name":"settlementPoint"},{"name":"settlementPointPrice"},{"name":"DSTFlag"}],"data":` + rows + `}`
}

// environment holds the keys of all standins.
func environment(t *testing.T) {
	t.Setenv("FEED_KEY", secret)
	t.Setenv("FEED_PASSWORD", "p4ss")
}
