package signals

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ercot reads api.ercot.com: prices of a settlement point in $/MWh, day-ahead by
// hours or real-time by quarter hours. Its days are local to Texas, with a flag on
// the hour that clocks repeat in autumn. Requests need two credentials: the
// subscription's key, and a token from a user's login that is valid for an hour.
type ercot struct {
	Config
	token *bearerToken
}

// The login endpoint and its public client id, as documented in the service's own guide.
const (
	ercotLogin  = "https://ercotb2c.b2clogin.com/ercotb2c.onmicrosoft.com/B2C_1_PUBAPI-ROPC-FLOW/oauth2/v2.0"
	ercotClient = "fec253ea-0d06-4272-a5e6-b478baeecd70"
)

// fetchSpans requests all pages of the period's local days.
func (s ercot) fetchSpans(ctx context.Context, d *serviceClient, from, to time.Time) ([]Span, error) {
	where, err := time.LoadLocation("America/Chicago")
	if err != nil {
		return nil, fmt.Errorf("load the time zone America/Chicago: %w", err)
	}
	report := "/np4-190-cd/dam_stlmnt_pnt_prices"
	if s.Market == "real-time" {
		// The real-time report has no future: ask until now.
		report, to = "/np6-905-cd/spp_node_zone_hub", d.now()
	}
	var all []Span
	// 50 pages of 1000 rows bound the requests of one read.
	for page, pages := 1, 1; page <= min(pages, 50); page++ {
		body, err := s.queryWithToken(ctx, d, s.baseURL("https://api.ercot.com/api/public-reports")+report, url.Values{
			"settlementPoint": {s.Zone}, "deliveryDateFrom": {from.In(where).Format("2006-01-02")}, "deliveryDateTo": {to.In(where).Format("2006-01-02")},
			"page": {strconv.Itoa(page)}, "size": {"1000"},
		})
		if err != nil {
			return nil, err
		}
		spans, n, err := decodeERCOT(s.Zone, where, body)
		if err != nil {
			return nil, err
		}
		all, pages = append(all, spans...), n
	}
	return all, nil
}

// queryWithToken sends a request with a valid token and logs in if necessary.
func (s ercot) queryWithToken(ctx context.Context, d *serviceClient, address string, query url.Values) ([]byte, error) {
	return s.token.queryWithLogin(func() ([]byte, error) {
		return d.postForm(ctx, s.baseURL(ercotLogin)+"/token", url.Values{
			"grant_type": {"password"}, "username": {s.User}, "password": {s.password}, "response_type": {"id_token"},
			"scope": {"openid " + ercotClient + " offline_access"}, "client_id": {ercotClient},
		})
	}, "id_token", func(bearer string) ([]byte, error) {
		return d.getQuery(ctx, address, query, "Ocp-Apim-Subscription-Key", s.key, "Authorization", bearer)
	}, http.StatusUnauthorized)
}

// decodeERCOT returns the rows of one page, and the number of pages. Rows are lists,
// in the order of the answer's fields.
func decodeERCOT(point string, where *time.Location, body []byte) ([]Span, int, error) {
	var p struct {
		Meta *struct {
			Pages int `json:"totalPages"`
		} `json:"_meta"`
		Fields []struct {
			Name string `json:"name"`
		} `json:"fields"`
		Data [][]json.RawMessage `json:"data"`
	}
	if err := parseJSON(body, &p); err != nil {
		return nil, 0, err
	}
	if p.Meta == nil {
		return nil, 0, missingFieldError("_meta")
	}
	// column returns the position of a field in each row, or -1.
	column := func(name string) int {
		for i, f := range p.Fields {
			if f.Name == name {
				return i
			}
		}
		return -1
	}
	names := []string{"deliveryDate", "settlementPoint", "settlementPointPrice", "DSTFlag"}
	// Real-time rows have a quarter of the hour, day-ahead rows the hour's end alone.
	quarters := column("deliveryInterval") >= 0
	if quarters {
		names = append(names, "deliveryHour", "deliveryInterval")
	} else {
		names = append(names, "hourEnding")
	}
	// Resolve the positions once; a missing column would make every row wrong.
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = column(name); at[i] < 0 {
			return nil, 0, missingFieldError(name)
		}
	}
	spans := make([]Span, 0, len(p.Data))
	for _, row := range p.Data {
		// A short row must not panic below.
		if len(row) <= slices.Max(at) {
			return nil, 0, fmt.Errorf("a row has %d columns; want %d", len(row), len(p.Fields))
		}
		s, err := decodeERCOTRow(row, at, quarters, point, where)
		if err != nil {
			return nil, 0, err
		}
		spans = append(spans, s)
	}
	return spans, p.Meta.Pages, nil
}

// decodeERCOTRow parses one row; at has the positions of the columns.
func decodeERCOTRow(row []json.RawMessage, at []int, quarters bool, point string, where *time.Location) (s Span, err error) {
	word := func(i int) string { return strings.Trim(string(row[at[i]]), `"`) }
	if word(1) != point {
		return s, unexpectedUnitError("settlementPoint", word(1), point)
	}
	var price flexibleNumber
	if err := price.UnmarshalJSON(row[at[2]]); err != nil {
		return s, fmt.Errorf("settlementPointPrice: %w", err)
	}
	// DSTFlag marks the second pass of the hour that clocks repeat.
	later := false
	switch word(3) {
	case "true", "Y":
		later = true
	case "false", "N":
	default:
		return s, unexpectedUnitError("DSTFlag", word(3), "true or false")
	}
	// An hour is named by its end: 01:00 is the first hour of the day, 24:00 the last.
	hour, err := strconv.Atoi(strings.TrimSuffix(word(4), ":00"))
	if err != nil || hour < 1 || hour > 24 {
		return s, fmt.Errorf("hour %.10q: want 1..24, by its end", word(4))
	}
	begin, width := time.Duration(hour-1)*time.Hour, time.Hour
	if quarters {
		quarter, err := strconv.Atoi(word(5))
		if err != nil || quarter < 1 || quarter > 4 {
			return s, fmt.Errorf("deliveryInterval %.10q: want 1..4", word(5))
		}
		begin, width = begin+time.Duration(quarter-1)*15*time.Minute, 15*time.Minute
	}
	s.From, err = parseLocalTime(word(0), begin, later, where)
	s.To, s.Value = s.From.Add(width), float64(price)
	return s, err
}
