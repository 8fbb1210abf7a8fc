package mcp

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
)

// chartWidth is the width of charts in layout pixels; a PNG has twice as many.
const chartWidth = 720

// A drawing is the arguments of the tool chart.
type drawing struct {
	Chart    string `json:"chart" jsonschema:"which chart; the tool's description lists them"`
	Decision string `json:"decision,omitempty" jsonschema:"of offers: D-14"`
	Job      string `json:"job,omitempty" jsonschema:"of job, or of offers for its last decision"`
	Site     string `json:"site,omitempty" jsonschema:"of gantt: the nodes of this site"`
	Question string `json:"question,omitempty" jsonschema:"of answer"`
	At       string `json:"at,omitempty" jsonschema:"of charts of an instant: RFC 3339; the end of the record without"`
}

// A place is the arguments of the tool sites.
type place struct {
	Site string `json:"site,omitempty"`
	At   string `json:"at,omitempty" jsonschema:"an instant, RFC 3339; the end of the record without"`
}

// A siteNow is a site as it stood at an instant. Carbon and Price are nil while no forecast of
// the site covers the hour.
type siteNow struct {
	Site        string   `json:"site"`
	Carbon      *float64 `json:"g_co2e_per_kwh,omitempty"`
	Price       *float64 `json:"dollars_per_mwh,omitempty"`
	GPUs        float64  `json:"gpus"`
	Held        float64  `json:"gpus_held"`
	Running     int      `json:"jobs_running"`
	Planned     int      `json:"jobs_planned"`
	LastMessage string   `json:"last_heard,omitempty"` // heartbeats are not recorded
	State       string   `json:"state,omitempty"`
	Since       string   `json:"since,omitempty"` // of the state
	Reason      string   `json:"reason,omitempty"`
}

// addChartTools adds the tools for charts and sites.
func (d toolServer) addChartTools(s *sdk.Server) {
	var names []string
	for _, c := range timeline.ChartNames() {
		names = append(names, c[0]+" ("+c[1]+")")
	}
	addTool(s, "chart", "A chart as a picture, with its figures as text and as data. Charts: "+strings.Join(names, "; ")+".", nil, d.drawChart)
	addTool(s, "sites", "Every site at an instant: carbon intensity, price, GPUs held, jobs.", nil, d.listSites)
}

// drawChart returns a chart with its figures.
func (d toolServer) drawChart(ctx context.Context, in drawing) (result, error) {
	at, err := parseInstant("at", in.At)
	if err != nil {
		return result{}, err
	}
	return tail.View(ctx, d.run, func(y *timeline.Timeline) (result, error) {
		c, err := y.DrawChart(timeline.Drawing{Chart: in.Chart, Decision: in.Decision, Job: protocol.JobID(in.Job), Site: in.Site, At: at, Question: in.Question})
		if err != nil {
			return result{}, err
		}
		return result{data: c.FigureTable(), charts: []chart.Chart{c}}, nil
	})
}

// listSites returns all sites, or one, as they stood at an instant: as a table and as data.
func (d toolServer) listSites(ctx context.Context, in place) (result, error) {
	at, err := parseInstant("at", in.At)
	if err != nil {
		return result{}, err
	}
	now, err := tail.View(ctx, d.run, func(y *timeline.Timeline) (timeline.Instant, error) {
		first, last := y.TimeSpan()
		if at == 0 || at > last { // nothing is known of later
			at = last
		}
		if at < first {
			return timeline.Instant{}, fmt.Errorf("mcp: at: %s is not in the record, which goes from %s to %s", at, first, last)
		}
		return y.InstantAt(at), nil
	})
	if err != nil {
		return result{}, err
	}
	t := chart.FigureTable{Head: []string{"site", "state", "g CO2e/kWh", "$/MWh", "GPUs held", "of", "running", "planned"}}
	all := []siteNow{}
	for _, s := range now.Sites {
		if in.Site != "" && in.Site != s.Name {
			continue
		}
		x := siteNow{Site: s.Name, GPUs: float64(s.GPUs) / 1000, Held: float64(s.Held) / 1000, Running: s.Running, Planned: s.Planned}
		// Milligrams and microdollars per kWh, as grams per kWh and dollars per MWh.
		carbon, price := "–", "–"
		if s.Known {
			c, p := float64(s.Carbon)/1000, float64(s.Price)/1000
			x.Carbon, x.Price, carbon, price = &c, &p, chart.FormatNumber(c, 0), chart.FormatNumber(p, 1)
		}
		if s.LastMessage != 0 {
			x.LastMessage = s.LastMessage.String()
		}
		if c := s.Condition; c.State != "" {
			x.State, x.Since, x.Reason = string(c.State), c.Since.String(), narrate.ConditionReason(c)
		}
		all = append(all, x)
		t.Rows = append(t.Rows, []string{format.CleanText(s.Name), cmp.Or(x.State, "–"), carbon, price, format.FormatThousandths(s.Held), format.FormatThousandths(s.GPUs), fmt.Sprint(s.Running), fmt.Sprint(s.Planned)})
	}
	if len(all) == 0 && in.Site != "" {
		return result{}, fmt.Errorf("mcp: no site %q is in this run", format.CleanText(in.Site))
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "at %s\n", now.At)
	t.WriteText(&text)
	return result{text: text.String(), data: map[string]any{"at": now.At.String(), "sites": all}}, nil
}

// addResources adds decisions by address, and a prompt that explains one.
func (d toolServer) addResources(s *sdk.Server) {
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: "ledger://decisions/{id}", Name: "decision", MIMEType: "application/json", Description: "One decision as a document.",
	}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimPrefix(r.Params.URI, "ledger://decisions/")
		rec, err := d.getDecision(ctx, one{Decision: id})
		if err != nil && ctx.Err() == nil {
			err = sdk.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: rec.text}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{
		Name: "explain-decision", Description: "Explain one decision to an operator.",
		Arguments: []*sdk.PromptArgument{{Name: "decision", Description: "its id: D-14", Required: true}},
	}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		id := format.CleanText(r.Params.Arguments["decision"])
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{
			Text: fmt.Sprintf("Explain decision %s to an operator: ask for it with the tool query (why), then say in at most five sentences who won, by what, and why the others did not. Quote figures as they are given, and cite %s.", id, id),
		}}}}, nil
	})
}
