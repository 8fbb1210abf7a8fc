package signals

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A Config configures one signal source of a site; docs/signals-and-power.md explains
// each key.
type Config struct {
	Tells      string `yaml:"tells"`  // quantity: price, carbon or pue
	From       string `yaml:"from"`   // service: see SourceKinds
	Zone       string `yaml:"zone"`   // region, by the service's own name
	Market     string `yaml:"market"` // day-ahead (default) or real-time
	NoForecast bool   `yaml:"no_forecast"`
	// Forecast: the values are forecasts of what other sources report, and nothing is paid by
	// them; Published and Ends, hours of the day in UTC, say when a day-ahead series is known.
	Forecast  bool `yaml:"forecast"`
	Published *int `yaml:"published"`
	Ends      *int `yaml:"ends"`

	Latitude  *float64 `yaml:"latitude"`
	Longitude *float64 `yaml:"longitude"`
	Cooling   *Cooling `yaml:"cooling"`

	URL        string `yaml:"url"` // of the service; default: its public address
	File       string `yaml:"file"`
	Query      string `yaml:"query"`
	Column     string `yaml:"column"`      // column with values; default value
	TimeColumn string `yaml:"time_column"` // default time
	Timezone   string `yaml:"timezone"`    // of times without an offset
	Unit       string `yaml:"unit"`        // of values, for sources that do not state it

	Currency string  `yaml:"currency"`  // of the prices of entsoe and electricity-maps; default EUR
	Rate     float64 `yaml:"rate"`      // dollars for one unit of another currency
	RateFrom string  `yaml:"rate_from"` // ecb: rates of the European Central Bank, in place of Rate

	Every   string `yaml:"every"`
	Timeout string `yaml:"timeout"`

	KeyEnv       string `yaml:"key_env"`
	KeyFile      string `yaml:"key_file"`
	User         string `yaml:"user"`
	PasswordEnv  string `yaml:"password_env"`
	PasswordFile string `yaml:"password_file"`

	// key and password are secrets: never log them.
	key, password string
}

// A sourceClient reads the values of a period from one service.
type sourceClient interface {
	fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error)
}

// A sourceKind describes a service and the configuration that it needs.
type sourceKind struct {
	quantities      []string
	requiredKeys    string        // required keys of the configuration, separated by blanks
	defaultInterval time.Duration // default polling interval
	newClient       func(Config) sourceClient
	currency        string // of prices, where it is not that of unit: the service's own
	market          string // the only market of the service's prices; "": see Config.Market
}

// sourceKinds are the supported services, by the name in a configuration.
var sourceKinds = map[string]sourceKind{
	"electricity-maps": {[]string{"carbon", "price"}, "zone key", 15 * time.Minute, func(c Config) sourceClient { return electricityMaps{c} }, "EUR", "day-ahead"},
	"watttime":         {[]string{"carbon"}, "zone user key", 10 * time.Minute, func(c Config) sourceClient { return wattTime{c, new(bearerToken)} }, "", ""},
	"uk-carbon":        {[]string{"carbon"}, "", 15 * time.Minute, func(c Config) sourceClient { return ukIntensity{c} }, "", ""},
	"entsoe":           {[]string{"price", "carbon"}, "zone key", 30 * time.Minute, func(c Config) sourceClient { return entsoe{c} }, "EUR", "day-ahead"},
	"energy-charts":    {[]string{"price"}, "zone", 30 * time.Minute, func(c Config) sourceClient { return energyCharts{c} }, "EUR", "day-ahead"},
	"elexon":           {[]string{"price"}, "", 15 * time.Minute, func(c Config) sourceClient { return elexon{c} }, "GBP", "real-time"},
	"aemo":             {[]string{"price"}, "zone", 5 * time.Minute, func(c Config) sourceClient { return aemo{c} }, "AUD", "real-time"},
	"eia":              {[]string{"carbon"}, "zone key", 30 * time.Minute, func(c Config) sourceClient { return eia{c} }, "", ""},
	"caiso":            {[]string{"price"}, "zone", 15 * time.Minute, func(c Config) sourceClient { return caiso{c} }, "", ""},
	"ercot":            {[]string{"price"}, "zone user key password", 15 * time.Minute, func(c Config) sourceClient { return ercot{c, new(bearerToken)} }, "", ""},
	"gridstatus":       {[]string{"price"}, "zone query key", 15 * time.Minute, func(c Config) sourceClient { return gridStatus{c} }, "", ""},
	"open-meteo":       {[]string{"pue"}, "latitude longitude", time.Hour, func(c Config) sourceClient { return openMeteo{c} }, "", ""},
	"csv":              {[]string{"price", "carbon", "pue"}, "unit", 5 * time.Minute, func(c Config) sourceClient { return csvTable{c} }, "", ""},
	"prometheus":       {[]string{"price", "carbon", "pue"}, "url query unit", 5 * time.Minute, func(c Config) sourceClient { return prometheusQuery{c} }, "", ""},
}

// SourceKinds returns the names of the supported services, sorted.
func SourceKinds() []string { return slices.Sorted(maps.Keys(sourceKinds)) }

// quantitiesByName maps names in a configuration to quantities.
var quantitiesByName = map[string]protocol.Quantity{"price": protocol.GridPrice, "carbon": protocol.GridCarbon, "pue": protocol.GridPUE}

// unitScales maps the units that a source can be configured with to their factors,
// relative to the unit of a Span. Units of price are prefixed by their currency.
var unitScales = map[string]map[string]float64{
	"price":  {"/MWh": 1, "/kWh": 1000},
	"carbon": {"g/kWh": 1, "kg/MWh": 1, "kg/kWh": 1000, "t/MWh": 1000, "lb/MWh": gramsPerPound / 1000},
	"pue":    {"ratio": 1},
}

// marketCurrency is the currency in which the market counts.
const marketCurrency = "USD"

// A ConfigFault is an error in one key of a Config.
type ConfigFault struct{ Key, Problem string }

// Error implements error.
func (f ConfigFault) Error() string { return f.Key + ": " + f.Problem }

// ResolveAndValidate returns c with defaults filled in and secrets read, or the first ConfigFault.
// Relative file names are resolved against dir.
func (c Config) ResolveAndValidate(dir string) (Config, error) {
	k, ok := sourceKinds[c.From]
	if !ok {
		return c, ConfigFault{"from", fmt.Sprintf("is %q; want one of %s", c.From, strings.Join(SourceKinds(), ", "))}
	}
	if !slices.Contains(k.quantities, c.Tells) {
		return c, ConfigFault{"tells", fmt.Sprintf("is %q; %s provides %s", c.Tells, c.From, strings.Join(k.quantities, " and "))}
	}
	for _, file := range []*string{&c.File, &c.KeyFile, &c.PasswordFile} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(dir, *file)
		}
	}
	// In this order: later checks depend on what earlier ones read.
	for _, check := range []func() error{
		c.readSecrets, func() error { return c.checkRequiredKeys(k) }, c.parseDurations, c.checkUnit, c.checkCoordinates, c.checkForecast,
		func() error { return c.checkURL() }, // after secrets: it depends on whether a key was read
	} {
		if err := check(); err != nil {
			return c, err
		}
	}
	c.Market = firstNonEmpty(c.Market, k.market)
	if c.Column == "" {
		c.Column = "value"
	}
	if c.TimeColumn == "" {
		c.TimeColumn = "time"
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	return c, nil
}

// checkRequiredKeys checks that the keys that a kind needs are set.
func (c Config) checkRequiredKeys(k sourceKind) error {
	given := map[string]bool{
		"zone": c.Zone != "", "user": c.User != "", "key": c.key != "", "password": c.password != "", "unit": c.Unit != "",
		"latitude": c.Latitude != nil, "longitude": c.Longitude != nil, "url": c.URL != "", "query": c.Query != "",
	}
	for _, need := range strings.Fields(k.requiredKeys) {
		if given[need] {
			continue
		}
		switch need {
		case "key", "password":
			return ConfigFault{need + "_env", fmt.Sprintf("%s needs a %s: name its environment variable here, or its file as %s_file", c.From, need, need)}
		}
		return ConfigFault{need, c.From + " requires it: set it"}
	}
	if c.From == "csv" && (c.File == "") == (c.URL == "") {
		return ConfigFault{"file", "want either file or url"}
	}
	if c.Market != "" && c.Market != "day-ahead" && c.Market != "real-time" {
		return ConfigFault{"market", fmt.Sprintf("is %q; want day-ahead or real-time", c.Market)}
	}
	if k.market != "" && c.Market != "" && c.Market != k.market { // its prices would be forecast as those of another market
		return ConfigFault{"market", fmt.Sprintf("is %s; %s has %s prices only: remove the key", c.Market, c.From, k.market)}
	}
	if c.From == "uk-carbon" {
		return checkUKRegion(c.Zone)
	}
	return nil
}

// readSecrets reads key and password from the environment or from files.
func (c *Config) readSecrets() error {
	for _, s := range []struct {
		into      *string
		env, file string
		name      string
	}{{&c.key, c.KeyEnv, c.KeyFile, "key"}, {&c.password, c.PasswordEnv, c.PasswordFile, "password"}} {
		switch {
		case s.env != "" && s.file != "":
			return ConfigFault{s.name + "_env", "is set together with " + s.name + "_file: remove one"}
		case s.env != "":
			if *s.into = os.Getenv(s.env); *s.into == "" {
				return ConfigFault{s.name + "_env", fmt.Sprintf("the environment variable %s is not set", s.env)}
			}
		case s.file != "":
			text, err := os.ReadFile(s.file)
			if err != nil {
				return ConfigFault{s.name + "_file", err.Error()}
			}
			if *s.into = strings.TrimSpace(string(text)); *s.into == "" {
				return ConfigFault{s.name + "_file", s.file + " is empty: write the secret to it"}
			}
		}
		// A line break would end the HTTP header in which the secret is sent.
		if strings.ContainsAny(*s.into, "\r\n\x00") {
			return ConfigFault{s.name + "_file", "has more than one line: want the secret alone"}
		}
	}
	return nil
}

// parseDurations checks durations and the time zone.
func (c Config) parseDurations() error {
	for key, s := range map[string]string{"every": c.Every, "timeout": c.Timeout} {
		if d, err := time.ParseDuration(s); s != "" && (err != nil || d < time.Second || d > 24*time.Hour) {
			return ConfigFault{key, fmt.Sprintf("is %q; want a duration from 1s to 24h, such as 15m", s)}
		}
	}
	if c.Timezone != "" {
		if _, err := time.LoadLocation(c.Timezone); err != nil {
			return ConfigFault{"timezone", fmt.Sprintf("unknown time zone %q; want a name such as Europe/Berlin", c.Timezone)}
		}
	}
	return nil
}

// checkUnit checks that values can be converted to the unit of a Span.
func (c Config) checkUnit() error {
	if c.Rate < 0 || c.Rate > 1e6 {
		return ConfigFault{"rate", "want dollars for one unit of the currency, such as 1.08"}
	}
	_, per := c.splitPriceUnit()
	if _, ok := unitScales[c.Tells][per]; !ok && c.Unit != "" {
		return ConfigFault{"unit", fmt.Sprintf("is %q; want for %s one of %s", c.Unit, c.Tells, strings.Join(c.unitChoices(), ", "))}
	}
	if c.RateFrom != "" && c.RateFrom != "ecb" {
		return ConfigFault{"rate_from", fmt.Sprintf("is %q; want ecb, or rate with the dollars for one unit of the currency", c.RateFrom)}
	}
	currency := c.usedCurrency()
	if c.Tells != "price" || currency == "" {
		return nil
	}
	key := "rate"
	if c.RateFrom != "" {
		key = "rate_from"
	}
	switch given := c.Rate != 0 || c.RateFrom != ""; {
	case currency == marketCurrency && given:
		return ConfigFault{key, "prices are in " + marketCurrency + " already: remove the key"}
	case currency != marketCurrency && !given:
		return ConfigFault{"rate", "prices are in " + currency + ": set the dollars for one " + currency + ", or rate_from: ecb"}
	case c.Rate != 0 && c.RateFrom != "":
		return ConfigFault{"rate_from", "is set together with rate: remove one"}
	}
	return nil
}

// splitPriceUnit splits a unit of price into currency and energy: USD and /MWh.
func (c Config) splitPriceUnit() (currency, per string) {
	if c.Tells != "price" || len(c.Unit) < 4 {
		return "", c.Unit
	}
	return c.Unit[:3], c.Unit[3:]
}

// unitChoices returns the allowed units, for errors.
func (c Config) unitChoices() []string {
	out := slices.Sorted(maps.Keys(unitScales[c.Tells]))
	if c.Tells == "price" {
		for i, per := range out {
			out[i] = marketCurrency + per
		}
	}
	return out
}

// checkCoordinates checks coordinates and the cooling model.
func (c Config) checkCoordinates() error {
	for key, v := range map[string]*float64{"latitude": c.Latitude, "longitude": c.Longitude} {
		if most := map[string]float64{"latitude": 90, "longitude": 180}[key]; v != nil && (*v < -most || *v > most) {
			return ConfigFault{key, fmt.Sprintf("want -%g..%g degrees", most, most)}
		}
	}
	if k := c.Cooling; k != nil && (k.Base < 1 || k.Base > 3 || k.PerDegree < 0 || k.PerDegree > 0.2) {
		return ConfigFault{"cooling", "want base 1..3, and per_degree 0..0.2"}
	}
	return nil
}

// checkURL checks url. Secrets must not be sent in clear text, so http is allowed with
// a key only to this host.
func (c Config) checkURL() error {
	if c.URL == "" {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return ConfigFault{"url", "want an address such as https://example.org/path, without user and query"}
	}
	if host := u.Hostname(); u.Scheme == "http" && c.key != "" && host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return ConfigFault{"url", "refusing to send a key over http: use https"}
	}
	return nil
}

// baseURL returns the service's address: the configured one, or its public one.
func (c Config) baseURL(usual string) string {
	if c.URL != "" {
		return c.URL
	}
	return usual
}

// usedCurrency returns the currency of a source's prices, or "" if only the market's is possible.
func (c Config) usedCurrency() string {
	if own := sourceKinds[c.From].currency; own != "" {
		return firstNonEmpty(c.Currency, own)
	}
	currency, _ := c.splitPriceUnit()
	return currency
}

// coolingOrDefault returns the configured cooling model or the default one.
func (c Config) coolingOrDefault() Cooling {
	if c.Cooling != nil {
		return *c.Cooling
	}
	return defaultCooling
}

// convertToDollars converts prices from another currency.
func (c Config) convertToDollars(spans []Span) []Span {
	if c.Rate != 0 {
		for i := range spans {
			spans[i].Value *= c.Rate
		}
	}
	return spans
}

// convertUnits converts values from the configured unit to the unit of a Span.
func (c Config) convertUnits(spans []Span) []Span {
	_, per := c.splitPriceUnit()
	for i := range spans {
		spans[i].Value *= unitScales[c.Tells][per]
	}
	if c.Tells != "price" {
		return spans
	}
	return c.convertToDollars(spans)
}

// errNothingReadYet is the error of a source that was not read yet.
var errNothingReadYet = errors.New("not read yet")
