package api

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gridbid/gridbid/coordinator/rights"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

// The document in docs is the one that is served, and has every endpoint of the table.
func TestTheOpenAPIDocumentIsTheOneInDocs(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := filepath.Join("..", "..", "docs", "openapi.json")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, text) {
		t.Errorf("docs/openapi.json is another document: %v: go test ./coordinator/api -run OpenAPI -update", err)
	}
	described := operations()
	for _, e := range rights.Endpoints() {
		if o := described[e.Pattern]; o.summary == "" || len(o.answers)+len(o.other) == 0 {
			t.Errorf("%s is not described", e.Pattern)
		}
		delete(described, e.Pattern)
	}
	if len(described) > 0 {
		t.Errorf("described, and in no table: %v", reflect.ValueOf(described).MapKeys())
	}
}

var openAPI = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	text, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource("https://gridbid.dev/openapi.json", doc)
})

var compiling sync.Mutex

// patterns tells the endpoint of a request.
var patterns = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, e := range rights.Endpoints() {
		mux.Handle(e.Pattern, http.NotFoundHandler())
	}
	return mux
})

// checkAgainstDocument fails unless an answer is one that the document describes.
func checkAgainstDocument(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	c, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}
	_, pattern := patterns().Handler(r)
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		return // no endpoint
	}
	code := strconv.Itoa(w.Code)
	o := operations()[pattern]
	if _, isJSON := o.answers[w.Code]; !isJSON {
		if code = "default"; w.Code < 400 {
			t.Errorf("%s answers %d, of which the document says nothing", pattern, w.Code)
			return
		}
	}
	at := "https://gridbid.dev/openapi.json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + strings.ToLower(method) + "/responses/" + code + "/content/application~1json/schema"
	compiling.Lock()
	s, err := c.Compile(at)
	compiling.Unlock()
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s answers what the document does not describe: %v\n%s", pattern, err, w.Body)
	}
}

// Every endpoint's answer is as the document says. The other tests of this package check theirs,
// too.
func TestAnswersAreAsTheDocumentSays(t *testing.T) {
	g := newGuarded(t)
	if code, text := g.as("a", http.MethodPost, "/v1/jobs", "id: of-a\ncpu: 1\nrun: 1h\n"); code != http.StatusOK {
		t.Fatal(text)
	}
	seen := make(map[string]bool)
	for _, e := range rights.Endpoints() {
		method, path, _ := strings.Cut(e.Pattern, " ")
		if path == "/v1/record" || path == "/v1/proof" || path == "/metrics" || path == "/healthz" {
			continue // no JSON
		}
		for _, who := range []string{"a", "oslo", "auditor", "admin", ""} {
			body := ""
			if path == "/v1/policy" {
				body = `{"change": {"base": 1, "ops": [{"op": "add", "rule": {"kind": "forbid", "where": {"sites": ["oslo"]}}}]}, "said": "never run at oslo"}`
			}
			if path == "/v1/jobs" {
				body = "id: another\ngpus: 1\nmodels: [H100]\nrun: 1h\n"
			}
			if path == "/v1/services" {
				body = "id: of-a\nreplicas: 2\ncpu: 1\n"
			}
			if path == "/v1/services/{id}/scale" {
				path += "?replicas=3"
			}
			if strings.HasSuffix(path, "/preview") {
				continue // waits for sites, of which there are none here
			}
			if path == "/v1/quotes" {
				continue // takes seconds; TestAQuote of the leader's tests
			}
			code, _ := g.as(who, method, strings.NewReplacer("{id}", "of-a", "{site}", "oslo").Replace(path), body)
			seen[e.Pattern] = seen[e.Pattern] || code < 300
		}
	}
	for _, pattern := range []string{"GET /v1/jobs", "GET /v1/jobs/{id}", "GET /v1/sites", "GET /v1/events", "GET /v1/policy", "POST /v1/policy", "GET /v1/whoami", "GET /readyz", "POST /v1/sites/{site}/drain", "GET /v1/services", "POST /v1/services", "GET /v1/services/{id}", "POST /v1/services/{id}/scale", "POST /v1/services/{id}/rebalance", "DELETE /v1/services/{id}"} {
		if !seen[pattern] {
			t.Errorf("no answer of %s was seen", pattern)
		}
	}
}
