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

// A Config is one source as a site configures it; docs/signals-and-power.md
// explains each key.
type Config struct {
	Tells      string   `yaml:"tells"`  // price, carbon or pue
	From       string   `yaml:"from"`   // see Kinds
	Zone       string   `yaml:"zone"`   // as the service names places
	Market     string   `yaml:"market"` // day-ahead (default) or real-time
	NoForecast bool     `yaml:"no_forecast"`
	Latitude   *float64 `yaml:"latitude"`
	Longitude  *float64 `yaml:"longitude"`
	Cooling    *Cooling `yaml:"cooling"`

	URL        string `yaml:"url"` // of the service; default: its own
	File       string `yaml:"file"`
	Query      string `yaml:"query"`
	Column     string `yaml:"column"`      // of values; default value
	TimeColumn string `yaml:"time_column"` // default time
	Timezone   string `yaml:"timezone"`    // of times without an offset
	Unit       string `yaml:"unit"`        // of sources that tell none

	Currency string  `yaml:"currency"` // of entsoe; default EUR
	Rate     float64 `yaml:"rate"`     // dollars for one of another currency

	Every   string `yaml:"every"`
	Timeout string `yaml:"timeout"`

	KeyEnv       string `yaml:"key_env"`
	KeyFile      string `yaml:"key_file"`
	User         string `yaml:"user"`
	PasswordEnv  string `yaml:"password_env"`
	PasswordFile string `yaml:"password_file"`

	key, password string
}

// A source asks one service for what it tells of a time.
type source interface {
	read(ctx context.Context, d *door, from, to time.Time) ([]Span, error)
}

// A kind of source, and what it needs.
type kind struct {
	tells    []string
	needs    string // keys of the configuration, apart by blanks
	every    time.Duration
	make     func(Config) source
	password bool
}

var kinds = map[string]kind{
	"electricity-maps": {[]string{"carbon"}, "zone key", 15 * time.Minute, func(c Config) source { return electricityMaps{c} }, false},
	"watttime":         {[]string{"carbon"}, "zone user key", 10 * time.Minute, func(c Config) source { return wattTime{c, new(token)} }, false},
	"uk-carbon":        {[]string{"carbon"}, "", 15 * time.Minute, func(c Config) source { return ukIntensity{c} }, false},
	"entsoe":           {[]string{"price", "carbon"}, "zone key", 30 * time.Minute, func(c Config) source { return entsoe{c} }, false},
	"eia":              {[]string{"carbon"}, "zone key", 30 * time.Minute, func(c Config) source { return eia{c} }, false},
	"caiso":            {[]string{"price"}, "zone", 15 * time.Minute, func(c Config) source { return caiso{c} }, false},
	"ercot":            {[]string{"price"}, "zone user key password", 15 * time.Minute, func(c Config) source { return ercot{c, new(token)} }, true},
	"open-meteo":       {[]string{"pue"}, "latitude longitude", time.Hour, func(c Config) source { return openMeteo{c} }, false},
	"csv":              {[]string{"price", "carbon", "pue"}, "unit", 5 * time.Minute, func(c Config) source { return table{c} }, false},
	"prometheus":       {[]string{"price", "carbon", "pue"}, "url query unit", 5 * time.Minute, func(c Config) source { return promQuery{c} }, false},
}

// Kinds returns the names of the sources there are.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// quantities by their names in a configuration.
var quantities = map[string]protocol.Quantity{"price": protocol.GridPrice, "carbon": protocol.GridCarbon, "pue": protocol.GridPUE}

// units that a source may be said to have, and what one of them is in ours. Those
// of prices follow their currency.
var units = map[string]map[string]float64{
	"price":  {"/MWh": 1, "/kWh": 1000},
	"carbon": {"g/kWh": 1, "kg/MWh": 1, "kg/kWh": 1000, "t/MWh": 1000, "lb/MWh": gramsPerPound / 1000},
	"pue":    {"ratio": 1},
}

// dollar is the currency of the market.
const dollar = "USD"

// A Fault is what is wrong with a key of a Config.
type Fault struct{ Key, What string }

func (f Fault) Error() string { return f.Key + ": " + f.What }

// Open fills in what c leaves to us, reads its keys, and says what is wrong. Files
// are looked for in dir.
func (c Config) Open(dir string) (Config, error) {
	k, ok := kinds[c.From]
	if !ok {
		return c, Fault{"from", fmt.Sprintf("is %q; want one of %s", c.From, strings.Join(Kinds(), ", "))}
	}
	if !slices.Contains(k.tells, c.Tells) {
		return c, Fault{"tells", fmt.Sprintf("is %q; %s tells %s", c.Tells, c.From, strings.Join(k.tells, " and "))}
	}
	for _, file := range []*string{&c.File, &c.KeyFile, &c.PasswordFile} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(dir, *file)
		}
	}
	for _, check := range []func() error{
		c.secrets, func() error { return c.has(k) }, c.times, c.unit, c.places,
		func() error { return c.address() }, // with the key that was read
	} {
		if err := check(); err != nil {
			return c, err
		}
	}
	if c.Column == "" {
		c.Column = "value"
	}
	if c.TimeColumn == "" {
		c.TimeColumn = "time"
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	return c, nil
}

// has looks whether all is there that a kind needs.
func (c Config) has(k kind) error {
	given := map[string]bool{
		"zone": c.Zone != "", "user": c.User != "", "key": c.key != "", "password": c.password != "", "unit": c.Unit != "",
		"latitude": c.Latitude != nil, "longitude": c.Longitude != nil, "url": c.URL != "", "query": c.Query != "",
	}
	for _, need := range strings.Fields(k.needs) {
		if given[need] {
			continue
		}
		switch need {
		case "key", "password":
			return Fault{need + "_env", fmt.Sprintf("%s needs a %s: name the variable or, as %s_file, the file that holds it", c.From, need, need)}
		}
		return Fault{need, c.From + " needs it"}
	}
	if c.From == "csv" && (c.File == "") == (c.URL == "") {
		return Fault{"file", "want either file or url"}
	}
	if c.Market != "" && c.Market != "day-ahead" && c.Market != "real-time" {
		return Fault{"market", fmt.Sprintf("is %q; want day-ahead or real-time", c.Market)}
	}
	if c.Market == "real-time" && c.From == "entsoe" { // or its prices would be forecast as such
		return Fault{"market", "is real-time; entsoe tells prices a day ahead: leave it out"}
	}
	return nil
}

// secrets reads key and password.
func (c *Config) secrets() error {
	for _, s := range []struct {
		into      *string
		env, file string
		name      string
	}{{&c.key, c.KeyEnv, c.KeyFile, "key"}, {&c.password, c.PasswordEnv, c.PasswordFile, "password"}} {
		switch {
		case s.env != "" && s.file != "":
			return Fault{s.name + "_env", "stands beside " + s.name + "_file: keep one"}
		case s.env != "":
			if *s.into = os.Getenv(s.env); *s.into == "" {
				return Fault{s.name + "_env", fmt.Sprintf("the environment has no %s", s.env)}
			}
		case s.file != "":
			text, err := os.ReadFile(s.file)
			if err != nil {
				return Fault{s.name + "_file", err.Error()}
			}
			if *s.into = strings.TrimSpace(string(text)); *s.into == "" {
				return Fault{s.name + "_file", s.file + " is empty"}
			}
		}
		if strings.ContainsAny(*s.into, "\r\n\x00") {
			return Fault{s.name + "_file", "has more than one line"}
		}
	}
	return nil
}

func (c Config) times() error {
	for key, s := range map[string]string{"every": c.Every, "timeout": c.Timeout} {
		if d, err := time.ParseDuration(s); s != "" && (err != nil || d < time.Second || d > 24*time.Hour) {
			return Fault{key, fmt.Sprintf("is %q; want a time from 1s to 24h, as 15m", s)}
		}
	}
	if c.Timezone != "" {
		if _, err := time.LoadLocation(c.Timezone); err != nil {
			return Fault{"timezone", fmt.Sprintf("%q is not known; want a name as Europe/Berlin", c.Timezone)}
		}
	}
	return nil
}

// unit looks whether values can be converted.
func (c Config) unit() error {
	if c.Rate < 0 || c.Rate > 1e6 {
		return Fault{"rate", "want dollars for one unit of the currency, as 1.08"}
	}
	currency, per := c.split()
	if _, ok := units[c.Tells][per]; !ok && c.Unit != "" {
		return Fault{"unit", fmt.Sprintf("is %q; want for %s one of %s", c.Unit, c.Tells, strings.Join(c.choices(), ", "))}
	}
	if c.From == "entsoe" {
		currency = c.currency()
	}
	switch {
	case c.Tells != "price" || currency == "":
		return nil
	case currency == dollar && c.Rate != 0:
		return Fault{"rate", "prices come in " + dollar + " already: leave it out"}
	case currency != dollar && c.Rate == 0:
		return Fault{"rate", "prices come in " + currency + ": say how many dollars one is"}
	}
	return nil
}

// split takes a unit of price apart: USD and /MWh.
func (c Config) split() (currency, per string) {
	if c.Tells != "price" || len(c.Unit) < 4 {
		return "", c.Unit
	}
	return c.Unit[:3], c.Unit[3:]
}

func (c Config) choices() []string {
	out := slices.Sorted(maps.Keys(units[c.Tells]))
	if c.Tells == "price" {
		for i, per := range out {
			out[i] = dollar + per
		}
	}
	return out
}

func (c Config) places() error {
	for key, v := range map[string]*float64{"latitude": c.Latitude, "longitude": c.Longitude} {
		if most := map[string]float64{"latitude": 90, "longitude": 180}[key]; v != nil && (*v < -most || *v > most) {
			return Fault{key, fmt.Sprintf("want -%g..%g degrees", most, most)}
		}
	}
	if k := c.Cooling; k != nil && (k.Base < 1 || k.Base > 3 || k.PerDegree < 0 || k.PerDegree > 0.2) {
		return Fault{"cooling", "want base 1..3, and per_degree 0..0.2"}
	}
	return nil
}

// address refuses to send keys in the clear.
func (c Config) address() error {
	if c.URL == "" {
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return Fault{"url", "want an address as https://example.org/path, without user or query"}
	}
	if host := u.Hostname(); u.Scheme == "http" && c.key != "" && host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return Fault{"url", "a key is not sent over http: use https"}
	}
	return nil
}

func (c Config) base(usual string) string {
	if c.URL != "" {
		return c.URL
	}
	return usual
}

func (c Config) currency() string {
	if c.Currency != "" {
		return c.Currency
	}
	return "EUR"
}

func (c Config) cooling() Cooling {
	if c.Cooling != nil {
		return *c.Cooling
	}
	return usualCooling
}

// dollars converts prices of another currency.
func (c Config) dollars(spans []Span) []Span {
	if c.Rate != 0 {
		for i := range spans {
			spans[i].Value *= c.Rate
		}
	}
	return spans
}

// converted brings values of the unit that the configuration tells into ours.
func (c Config) converted(spans []Span) []Span {
	_, per := c.split()
	for i := range spans {
		spans[i].Value *= units[c.Tells][per]
	}
	if c.Tells != "price" {
		return spans
	}
	return c.dollars(spans)
}

// errNone says that nothing was read yet.
var errNone = errors.New("not read yet")
