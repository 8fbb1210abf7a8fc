package trace_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/scenarios/trace"
)

const (
	requestsText = "submit_s,prompt_tokens,output_tokens\n0.5,374,44\n4.5,396,0\n64.5,879,55\n"
	azureText    = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,374,44\n2023-11-16 18:17:04.0319569,396,109\n"
	burstText    = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,Conversation log\n"
	mooncakeText = `{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}` + "\n" + `{"timestamp": 3000, "input_length": 7322, "output_length": 490, "hash_ids": [0]}` + "\n"
)

// readRequests reads a trace and keeps all of it.
func readRequests(text string, columns trace.RequestColumns) (all []trace.Request, s trace.RequestStats, err error) {
	s, err = trace.EachRequest(strings.NewReader(text), "f", columns, func(r trace.Request) error {
		all = append(all, r)
		return nil
	})
	return all, s, err
}

func TestRequestsOfEachFormatAreRead(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		columns trace.RequestColumns
		want    []trace.Request
		failed  int
	}{
		"requests by the second": {requestsText, nil, []trace.Request{{0, 374, 44}, {64 * time.Second, 879, 55}}, 1},
		"Azure LLM":              {azureText, nil, []trace.Request{{0, 374, 44}, {51_996_900, 396, 109}}, 0},
		"BurstGPT":               {burstText, nil, []trace.Request{{0, 472, 18}}, 1},
		"Mooncake":               {mooncakeText, nil, []trace.Request{{0, 6758, 500}, {3 * time.Second, 7322, 490}}, 0},
		"columns as named": {"ms,in,out\n1000,5,6\n2500,7,8\n", trace.RequestColumns{"at": "ms/1000", "prompt": "in", "output": "out"},
			[]trace.Request{{0, 5, 6}, {1500 * time.Millisecond, 7, 8}}, 0},
	} {
		for _, text := range []string{tc.text, string(packed(tc.text))} {
			got, s, err := readRequests(text, tc.columns)
			if err != nil || !slices.Equal(got, tc.want) || s.Failed != tc.failed || s.Format != name {
				t.Errorf("%s: %v, %+v, %v; want %v", name, got, s, err, tc.want)
			}
		}
	}
}

func TestBadRequestsAreNamedWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"submit_s,prompt_tokens,output_tokens\n2,1,1\n1,1,1\n":                                "f:3: the time is before that of the row above",
		"submit_s,prompt_tokens,output_tokens\n2,,1\n":                                        "f:2: prompt_tokens is \"\": want a value",
		"submit_s,prompt_tokens,output_tokens\n2,-1,1\n":                                      "f:2: prompt_tokens",
		"submit_s,prompt_tokens,output_tokens\n-2,1,1\n":                                      "f:2: submit_s",
		"submit_s,prompt_tokens,output_tokens\n2,1\n":                                         "f:2: 2 fields",
		"submit_s,prompt_tokens,output_tokens\n":                                              "f: no requests",
		"a,b\n1,2\n":                                                                          "f:1: unknown trace of requests",
		"TIMESTAMP,ContextTokens,GeneratedTokens\nnever,1,1\n":                                "f:2: TIMESTAMP",
		`{"timestamp": 1, "input_length": 2, "output_length": 3}` + "\n" + `{"timestamp": 2}`: "f:2: lacks input_length",
		`{"timestamp": 1, "input_length": -2, "output_length": 3}`:                            "f:1: input_length is -2",
		`{"timestamp": 1, "input_length": 2, "output_length": 3}` + "\n{":                     "f:2: ",
		"submit_s,prompt_tokens,output_tokens\n0,1,1\n40000000,1,1\n":                         "f:3: the time is over",
	} {
		if _, _, err := readRequests(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want %q", text, err, want)
		}
	}
	if _, _, err := readRequests(requestsText, trace.RequestColumns{"at": "submit_s", "prompt": "prompts", "output": "output_tokens"}); err == nil {
		t.Error("a column that is not there is taken")
	}
	half := packed(requestsText)
	if _, _, err := readRequests(string(half[:len(half)-6]), nil); err == nil {
		t.Error("a truncated file is read to its end")
	}
}

func TestRatesAreReadByTheMinute(t *testing.T) {
	const text = "minute_s,qps\n0,\n60,2\n120,\n240,3\n"
	got, err := trace.ReadRates(strings.NewReader(text), "f", "qps")
	if want := []float64{2, 2, 2, 3}; err != nil || !slices.Equal(got.PerSecond, want) || got.Missing != 2 {
		t.Errorf("rates %+v, %v; want %v with 2 missing", got, err, want)
	}
	for text, want := range map[string]string{
		"minute_s,qps\n60,1\n60,1\n": "f:3: minute_s",
		"minute_s,qps\n30,1\n":       "f:2: minute_s",
		"minute_s,qps\n60,-1\n":      "f:2: qps",
		"minute_s,qps\n60,\n":        "no value in qps",
		"minute_s,x\n60,1\n":         "missing column",
	} {
		if _, err := trace.ReadRates(strings.NewReader(text), "f", "qps"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want %q", text, err, want)
		}
	}
}

// With one origin, no swing and the trace's own rate the day is the trace round and round.
func TestADayIsTheTraceWithoutStretching(t *testing.T) {
	minutes := []int{60, 120, 0, 180, 240}
	got, err := trace.Tile(minutes, trace.DayPlan{PerSecond: 2, Origins: []trace.Origin{{Name: "o", Share: 1}}, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	begin := slices.Index(minutes, got[0][0])
	for m, n := range got[0] {
		if n != minutes[(begin+m)%5] {
			t.Fatalf("minute %d has %d requests; the trace has %d", m, n, minutes[(begin+m)%5])
		}
	}
}

// The day has the mean rate that was asked for, origins have their shares, and each peaks by its own clock.
func TestADayHasItsRateAndItsOriginsTheirClock(t *testing.T) {
	minutes := make([]int, 58)
	for i := range minutes {
		minutes[i] = 300 + 7*(i%13)
	}
	p := trace.DayPlan{PerSecond: 41.3, Swing: 0.5, Peak: 15, Seed: 3, Origins: []trace.Origin{{Name: "eu", Share: 0.6, Hours: 1}, {Name: "us", Share: 0.4, Hours: -8}}}
	got, err := trace.Tile(minutes, p)
	if err != nil {
		t.Fatal(err)
	}
	for k, o := range p.Origins {
		sum, most, at := 0, 0, 0
		for h := range 24 {
			hour := 0
			for _, n := range got[k][60*h : 60*h+60] {
				hour += n
			}
			if sum += hour; hour > most {
				most, at = hour, h
			}
		}
		if want := p.PerSecond * o.Share; float64(sum)/86400 < 0.97*want || float64(sum)/86400 > 1.03*want {
			t.Errorf("%s has %.2f requests a second; want %.2f", o.Name, float64(sum)/86400, want)
		}
		if local := (at + int(o.Hours) + 24) % 24; local < 13 || local > 16 {
			t.Errorf("%s has its peak at %d o'clock of its own; want 15", o.Name, local)
		}
	}
	again, _ := trace.Tile(minutes, p)
	if !slices.EqualFunc(got, again, slices.Equal) {
		t.Error("the same plan gives another day")
	}
}

func TestADayThatCannotBeIsRefused(t *testing.T) {
	one := []trace.Origin{{Name: "o", Share: 1}}
	for want, p := range map[string]trace.DayPlan{
		"add up to": {PerSecond: 1, Origins: []trace.Origin{{Name: "o", Share: 0.4}}},
		"swing":     {PerSecond: 1, Origins: one, Swing: 2},
		"at most":   {PerSecond: 1e12, Origins: one},
		"ahead of":  {PerSecond: 1, Origins: []trace.Origin{{Name: "o", Share: 1, Hours: 20}}},
	} {
		if _, err := trace.Tile([]int{60}, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v; want %q", p, err, want)
		}
	}
	if _, err := trace.Tile([]int{0}, trace.DayPlan{PerSecond: 1, Origins: one}); err == nil {
		t.Error("a day is made of no request")
	}
}

// The recorded traces have the means that their publishers and SERVING.md state.
func TestRecordedRequestsAreRead(t *testing.T) {
	const dir = "../../../shared/data/workload/"
	for file, want := range map[string]struct{ requests, prompt, output int }{
		"azure_llm_2023_conv.csv.gz":   {19366, 1154, 211},
		"mooncake_conversation.csv.gz": {12031, 12035, 342},
	} {
		text, err := os.ReadFile(dir + file)
		if err != nil {
			t.Skip("no recorded data: ", err)
		}
		n, prompt, output := 0, 0, 0
		s, err := trace.EachRequest(bytes.NewReader(text), file, nil, func(r trace.Request) error {
			n, prompt, output = n+1, prompt+r.Prompt, output+r.Output
			return nil
		})
		if err != nil || s.Rows != want.requests || prompt/n != want.prompt || output/n != want.output {
			t.Errorf("%s: %+v, means %d and %d, %v; want %+v", file, s, prompt/max(n, 1), output/max(n, 1), err, want)
		}
	}
	text, err := os.ReadFile(dir + "alibaba_genai_qps_duty_v2026.csv.gz")
	if err != nil {
		t.Skip("no recorded data: ", err)
	}
	if got, err := trace.ReadRates(bytes.NewReader(text), "f", "generative_requests_qps"); err != nil || len(got.PerSecond) < 600 {
		t.Errorf("%d minutes, %v; want half a day", len(got.PerSecond), err)
	}
}

func FuzzRequests(f *testing.F) {
	for _, text := range []string{requestsText, azureText, burstText, mooncakeText} {
		f.Add([]byte(text), "")
	}
	f.Add(packed(requestsText), "")
	f.Add([]byte("ms,in,out\n1000,5,6\n"), "ms/1000")
	f.Fuzz(func(t *testing.T, data []byte, at string) {
		columns := trace.RequestColumns{}
		if at != "" {
			columns = trace.RequestColumns{"at": at, "prompt": "in", "output": "out"}
		}
		last := time.Duration(0)
		_, err := trace.EachRequest(bytes.NewReader(data), "f", columns, func(r trace.Request) error {
			if r.At < last || r.Prompt < 0 || r.Output < 1 {
				t.Errorf("request %+v after %v", r, last)
			}
			last = r.At
			return nil
		})
		if at == "" {
			named(t, err)
		}
	})
}

func FuzzRates(f *testing.F) {
	f.Add([]byte("minute_s,qps\n0,\n60,2\n120,\n240,3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := trace.ReadRates(bytes.NewReader(data), "f", "qps")
		named(t, err)
		if err == nil && len(got.PerSecond) == 0 {
			t.Error("no rates and no error")
		}
		for _, v := range got.PerSecond {
			if !(v >= 0) {
				t.Errorf("rate %g", v)
			}
		}
	})
}
