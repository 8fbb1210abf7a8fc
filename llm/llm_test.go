package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = llm.Key("sk-very-secret-17")

var apis = []llm.API{llm.OpenAI, llm.Anthropic}

// serve starts a server and opens a model of it.
func serve(t *testing.T, api llm.API, b faultyserver.Behaviour, change ...func(*llm.Config)) (*llm.Model, *faultyserver.Server) {
	t.Helper()
	s, err := faultyserver.StartServer(b)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() { s.Close(); transport.CloseIdleConnections() })
	cfg := llm.Config{API: api, URL: s.BaseURL(), Model: "small-1", Key: secret, Transport: transport}
	for _, c := range change {
		c(&cfg)
	}
	m, err := llm.OpenModel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

var prompt = llm.Prompt{System: "be brief", User: "which?", Name: "verdict", Schema: json.RawMessage(`{"type":"object"}`), Tokens: 77}

func TestEveryFaultIsAnErrorOfItsKind(t *testing.T) {
	for _, api := range apis {
		bads := faultyserver.CommonFaults()
		if api == llm.OpenAI {
			bads = append(bads, faultyserver.OpenAIFaults()...)
		} else {
			bads = append(bads, faultyserver.AnthropicFaults()...)
		}
		for _, bad := range bads {
			t.Run(fmt.Sprint(api, "/", bad.Name), func(t *testing.T) {
				t.Parallel()
				m, _ := serve(t, api, bad.Do)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if bad.Fault == "late" {
					ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				}
				defer cancel()
				r, err := m.Ask(ctx, prompt)
				var e *llm.Error
				if !errors.As(err, &e) || string(e.Fault) != bad.Fault || r != (llm.Reply{}) {
					t.Fatalf("Ask = %+v, %v; want fault %s", r, err, bad.Fault)
				}
				if late := bad.Fault == "late"; errors.Is(err, context.DeadlineExceeded) != late {
					t.Errorf("errors.Is(%v, DeadlineExceeded) is %v", err, !late)
				}
				if strings.HasPrefix(bad.Name, "answers 429") && (e.Status != 429 || e.Retry != 7*time.Second) {
					t.Errorf("%+v: want status 429, and 7 s", e)
				}
				if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), string(secret)) {
					t.Errorf("the error tells the key: %v", e)
				}
			})
		}
	}
}

// Half a reply must never be taken for a whole one, however the race between
// deadline and reader goes.
func TestADeadlineInTheMiddleIsAlwaysAnError(t *testing.T) {
	for _, bad := range faultyserver.CommonFaults()[:3] {
		m, _ := serve(t, llm.OpenAI, bad.Do)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+i)*time.Millisecond)
				defer cancel()
				if _, err := m.Ask(ctx, prompt); !errors.Is(err, &llm.Error{Fault: llm.Late}) {
					t.Errorf("%s: Ask = %v; want late", bad.Name, err)
				}
			})
		}
		wg.Wait()
	}
}

func TestWhatIsAskedArrives(t *testing.T) {
	for _, api := range apis {
		m, s := serve(t, api, faultyserver.FixedText(`{"choice":"k2"}`))
		p := prompt
		p.Images = [][]byte{{0x89, 'P', 'N', 'G', 13, 10}}
		r, err := m.Ask(t.Context(), p)
		if err != nil || r.Text != `{"choice":"k2"}` || r.In != 21 || r.Out != 7 {
			t.Fatalf("%s: Ask = %+v, %v", api, r, err)
		}
		sent := string(s.RequestBodies()[0])
		for _, want := range []string{`"small-1"`, "be brief", "which?", `"max_tokens":77`, "iVBORw", "image"} {
			if !strings.Contains(sent, want) {
				t.Errorf("%s: %s lacks %s", api, sent, want)
			}
		}
		if api == llm.OpenAI && !strings.Contains(sent, `"response_format":{"json_schema":{"name":"verdict","schema":{"type":"object"},"strict":true},"type":"json_schema"}`) {
			t.Errorf("%s has no schema", sent)
		}
	}
}

func TestEachCallHasItsOwnSchema(t *testing.T) {
	m, _ := serve(t, llm.OpenAI, faultyserver.AnswerWith(func(body []byte) string {
		var r struct {
			Format struct {
				Schema struct {
					Name string `json:"name"`
				} `json:"json_schema"`
			} `json:"response_format"`
			Messages []struct{ Content string } `json:"messages"`
		}
		_ = json.Unmarshal(body, &r)
		return fmt.Sprintf(`"%s %s"`, r.Format.Schema.Name, r.Messages[len(r.Messages)-1].Content)
	}))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			p := prompt
			p.Name, p.User = fmt.Sprint("s", i), fmt.Sprint("u", i)
			if r, err := m.Ask(t.Context(), p); err != nil || r.Text != fmt.Sprintf(`"s%d u%d"`, i, i) {
				t.Errorf("call %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
}

func TestTheKeyIsNeverTold(t *testing.T) {
	for _, api := range apis {
		m, _ := serve(t, api, faultyserver.FixedText(`{"key":"`+string(secret)+`"}`))
		if r, err := m.Ask(t.Context(), prompt); err != nil || strings.Contains(r.Text, string(secret)) {
			t.Errorf("%s: Ask = %+v, %v", api, r, err)
		}
		m, _ = serve(t, api, func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Error(w, "bad key "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+"\x1b[2J", http.StatusUnauthorized)
		})
		_, err := m.Ask(t.Context(), prompt)
		if err == nil || strings.Contains(err.Error(), string(secret)) || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "bad key") {
			t.Errorf("%s: %v", api, err)
		}
	}
	if s := fmt.Sprintf("%v %+v %#v %q", secret, llm.Config{Key: secret}, llm.Config{Key: secret}, secret); strings.Contains(s, string(secret)) {
		t.Errorf("a key prints as %s", s)
	}
}

func TestNoKeyIsSentWhereNoneIsConfigured(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_ORGANIZATION", "org-from-the-environment")
	t.Setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
	for _, api := range apis {
		headers := make(chan http.Header, 1)
		m, _ := serve(t, api, func(w http.ResponseWriter, r *http.Request, b []byte) {
			headers <- r.Header
			faultyserver.FixedText("{}")(w, r, b)
		}, func(c *llm.Config) { c.Key = "" })
		if _, err := m.Ask(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
		if h := fmt.Sprint(<-headers); strings.Contains(h, "environment") || strings.Contains(h, "no-key") {
			t.Errorf("%s: sent %s", api, h)
		}
	}
}

func TestLimitsHoldUnderALoop(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m, s := serve(t, llm.OpenAI, faultyserver.FixedText("{}"), func(c *llm.Config) {
		c.Hourly, c.Tariff = llm.HourlyLimit{Calls: 5, Tokens: 100_000}, llm.Tariff{In: 1_000_000, Out: 2_000_000}
		c.Now = func() time.Time { return now }
	})
	refused := 0
	for range 50 {
		if _, err := m.Ask(t.Context(), prompt); errors.Is(err, &llm.Error{Fault: llm.OverBudget}) {
			refused++
		}
	}
	if refused != 45 || len(s.RequestBodies()) != 5 {
		t.Errorf("refused %d of 50, sent %d", refused, len(s.RequestBodies()))
	}
	if got, want := m.TotalSpending(), (llm.Spending{Calls: 5, In: 105, Out: 35, Microdollars: 175}); got != want {
		t.Errorf("Spent = %+v; want %+v", got, want)
	}
	now = now.Add(time.Hour)
	if _, err := m.Ask(t.Context(), prompt); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	m, _ = serve(t, llm.OpenAI, faultyserver.FixedText("{}"), func(c *llm.Config) { c.Hourly.Tokens = 100 })
	for i, want := range []bool{true, false} {
		if _, err := m.Ask(t.Context(), prompt); (err == nil) != want {
			t.Errorf("call %d at 100 tokens an hour: %v", i, err)
		}
	}
}

func TestOpenRefusesWhatIsUnsafe(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  llm.Config
		want string
	}{
		{"no url", llm.Config{Model: "m"}, "want http"},
		{"a file", llm.Config{URL: "file:///etc/passwd", Model: "m"}, "want http"},
		{"a key in the url", llm.Config{URL: "https://u:" + string(secret) + "@host/v1", Model: "m", Key: secret}, "user"},
		{"a key in a query", llm.Config{URL: "https://host/v1?key=" + string(secret), Model: "m", Key: secret}, "query"},
		{"a key in clear", llm.Config{URL: "http://192.0.2.1/v1", Model: "m", Key: secret}, "https"},
		{"a password before a scheme that is none", llm.Config{URL: "htps://u:" + string(secret) + "@host/v1", Model: "m"}, "want http"},
		{"a key of two lines", llm.Config{URL: "https://host/v1", Model: "m", Key: secret + "\n" + secret}, "one line"},
		{"no model", llm.Config{URL: "http://127.0.0.1/v1"}, "model is missing"},
		{"no such format", llm.Config{URL: "http://127.0.0.1/v1", Model: "m", API: "telex"}, "telex"},
	} {
		_, err := llm.OpenModel(tc.cfg)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), string(secret)) {
			t.Errorf("%s: Open = %v; want %q in it", tc.name, err, tc.want)
		}
	}
	for _, url := range []string{"http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://[::1]:1/v1", "https://host/v1"} {
		if _, err := llm.OpenModel(llm.Config{URL: url, Model: "m", Key: secret}); err != nil {
			t.Errorf("Open(%s) = %v", url, err)
		}
	}
}

// A caller that sets no deadline waits no longer than was configured.
func TestWithoutADeadlineTheConfiguredWaitHolds(t *testing.T) {
	for _, api := range apis {
		for _, bad := range faultyserver.CommonFaults()[:3] {
			m, _ := serve(t, api, bad.Do, func(c *llm.Config) { c.Wait = 50 * time.Millisecond })
			if _, err := m.Ask(context.Background(), prompt); !errors.Is(err, &llm.Error{Fault: llm.Late}) {
				t.Errorf("%s: %s: Ask = %v; want late", api, bad.Name, err)
			}
		}
	}
}

// A cap on bytes holds whatever the reply claims of its length.
func TestNoMoreThanTheCapIsRead(t *testing.T) {
	for _, api := range apis {
		for _, size := range []int{900, 5000} {
			m, _ := serve(t, api, faultyserver.FixedText(strings.Repeat("a", size)), func(c *llm.Config) { c.MaxReply = 2000 })
			p := prompt
			p.Schema = nil
			r, err := m.Ask(t.Context(), p)
			if big := size > 2000; errors.Is(err, &llm.Error{Fault: llm.TooBig}) != big || !big && len(r.Text) != size {
				t.Errorf("%s: %d bytes under a cap of 2000: %d, %v", api, size, len(r.Text), err)
			}
		}
	}
}

// A key at the place where a long error is cut leaves no part of itself.
func TestACutErrorHoldsNoPartOfTheKey(t *testing.T) {
	for _, api := range apis {
		for pad := 280; pad < 305; pad++ {
			m, _ := serve(t, api, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
				http.Error(w, strings.Repeat("x", pad)+string(secret)+strings.Repeat("y", 50), http.StatusBadRequest)
			})
			if _, err := m.Ask(t.Context(), prompt); err == nil || strings.Contains(err.Error(), string(secret[:4])) {
				t.Errorf("%s: after %d bytes: %v", api, pad, err)
			}
		}
	}
}

// panics is a transport that does what a library must not.
type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) {
	panic("nil pointer, with " + string(secret))
}

func TestAPanicIsAnError(t *testing.T) {
	for _, api := range apis {
		m, _ := serve(t, api, faultyserver.FixedText("{}"), func(c *llm.Config) { c.Transport = panics{} })
		_, err := m.Ask(t.Context(), prompt)
		if !errors.Is(err, &llm.Error{Fault: llm.Garbled}) || !strings.Contains(err.Error(), "panicked") || strings.Contains(err.Error(), string(secret)) {
			t.Errorf("%s: Ask = %v", api, err)
		}
	}
}

func TestAClosedPortIsUnreachable(t *testing.T) {
	m, err := llm.OpenModel(llm.Config{URL: "http://127.0.0.1:1/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Ask(t.Context(), prompt); !errors.Is(err, &llm.Error{Fault: llm.Unreachable}) {
		t.Errorf("Ask = %v; want unreachable", err)
	}
}

// A call that was begun in one hour and ends in the next gives nothing back to
// that.
func TestAnHourIsNotCreditedWithTheOneBefore(t *testing.T) {
	now, asked, release := time.Unix(1_773_187_200, 0), make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	m, _ := serve(t, llm.OpenAI, faultyserver.AnswerWith(func([]byte) string {
		if calls.Add(1) == 1 {
			close(asked)
			<-release
		}
		return "{}"
	}), func(c *llm.Config) {
		c.Hourly.Tokens = 400
		c.Now = func() time.Time { return now }
	})
	p := prompt
	p.Tokens = 300
	done := make(chan error)
	go func() { _, err := m.Ask(t.Context(), p); done <- err }()
	<-asked
	now = now.Add(time.Hour)
	if _, err := m.Ask(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.Tokens = 395 // with what the second took, over the limit of its hour
	if _, err := m.Ask(t.Context(), p); !errors.Is(err, &llm.Error{Fault: llm.OverBudget}) {
		t.Errorf("one more call: %v; want %s", err, llm.OverBudget)
	}
}
