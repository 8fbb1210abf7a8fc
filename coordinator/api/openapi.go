package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
)

// An operation describes an endpoint in the OpenAPI document.
type operation struct {
	summary string
	query   []string       // parameters, each as "name: what it is"
	body    string         // name of the schema of the request; "" for none
	answers map[int]any    // by status: a value of the type of the JSON
	other   map[int]string // by status: the media type of an answer that is no JSON
}

// A readiness is how a coordinator stands.
type readiness struct {
	State string `json:"state"` // leading, or standing by
}

// A fault is the answer to a request that was not done.
type fault struct {
	Error string `json:"error"`
}

var (
	byOperator = []string{"by: name of the operator; that of the credential counts if there is one", "why: the reason, for the event log"}
	oneJob     = map[int]any{http.StatusOK: jobstatus.Job{}}
	oneService = map[int]any{http.StatusOK: jobstatus.Service{}}
	oneSite    = map[int]any{http.StatusOK: siteReply{}}
	onePolicy  = map[int]any{http.StatusOK: protocol.Policy{}}
)

// operations returns what the endpoints of the rights' table do.
func operations() map[string]operation {
	submitted := "id: replaces the id of the file"
	return map[string]operation{
		"GET /v1/jobs":                             {summary: "list jobs", query: []string{"state: of the jobs to list", "tenant: of the jobs to list", "limit: on their number, 1000 by default"}, answers: map[int]any{http.StatusOK: []jobstatus.Job{}}},
		"POST /v1/jobs":                            {summary: "submit a job; the same job once more under its id changes nothing", query: []string{submitted}, body: "JobFile", answers: oneJob},
		"POST /v1/quotes":                          {summary: "say what a job would cost now; nothing is submitted", query: []string{submitted}, body: "JobFile", answers: map[int]any{http.StatusOK: Quote{}}},
		"GET /v1/jobs/{id}":                        {summary: "a job, with its events", answers: oneJob},
		"POST /v1/jobs/{id}/cancel":                {summary: "cancel a job; one that has ended stays as it is", answers: oneJob},
		"GET /v1/jobs/{id}/logs":                   {summary: "what a pod of a job wrote, oldest line first; 409 with the reason if its site shows no logs, or has none", query: []string{"pod: whose lines, by name; the first by default", "after: only lines written after this instant, RFC 3339 with nanoseconds", "tail: only so many lines at the end, 10000 at most"}, answers: map[int]any{http.StatusOK: JobLog{}}},
		"GET /v1/services":                         {summary: "list services", answers: map[int]any{http.StatusOK: []jobstatus.Service{}}},
		"POST /v1/services":                        {summary: "submit a service; the same id once more replaces what was asked for, and moves nothing", body: "ServiceFile", answers: oneService},
		"GET /v1/services/{id}":                    {summary: "a service: how many replicas run, and where", answers: oneService},
		"POST /v1/services/{id}/scale":             {summary: "set how many replicas are wanted", query: []string{"replicas: how many", byOperator[0]}, answers: oneService},
		"POST /v1/services/{id}/rebalance":         {summary: "divide all replicas anew", query: byOperator[:1], answers: oneService},
		"POST /v1/services/{id}/rebalance/preview": {summary: "what a rebalance would move and save; nothing moves", answers: map[int]any{http.StatusOK: jobstatus.ServicePreview{}}},
		"DELETE /v1/services/{id}":                 {summary: "remove a service from all sites", query: byOperator[:1], answers: oneService},
		"GET /v1/sites":                            {summary: "list sites", answers: map[int]any{http.StatusOK: []jobstatus.Site{}}},
		"POST /v1/sites/{site}/drain":              {summary: "give a site no more jobs, or end that", query: append([]string{"over: true ends the drain", "until: a duration, a time of day in UTC or a time at which it ends by itself"}, byOperator...), answers: oneSite},
		"POST /v1/sites/{site}/gone":               {summary: "declare that a site will not come back", query: append([]string{"end: true ends its jobs instead of calling them again"}, byOperator...), answers: oneSite},
		"POST /v1/sites/{site}/revoked":            {summary: "record that the keys of a site were revoked", query: byOperator, answers: oneSite},
		"GET /v1/events":                           {summary: "list what operators did, and what changed at sites", query: []string{"since: a duration before now, or a time", "site: of the events to list"}, answers: map[int]any{http.StatusOK: []jobstatus.SiteEvent{}}},
		"GET /v1/auctions":                         {summary: "list the latest rounds", answers: map[int]any{http.StatusOK: []jobstatus.Round{}}},
		"GET /v1/policy":                           {summary: "the policy in force; version 0 means none", answers: onePolicy},
		"POST /v1/policy":                          {summary: "change the policy; 202 if a second person must confirm", body: "PolicyRequest", answers: map[int]any{http.StatusOK: protocol.Policy{}, http.StatusAccepted: PendingChange{}}},
		"GET /v1/policy/waiting":                   {summary: "list changes that wait for a second person", answers: map[int]any{http.StatusOK: []PendingChange{}}},
		"POST /v1/policy/waiting/{id}":             {summary: "confirm a change as the second person", answers: onePolicy},
		"GET /v1/quotas":                           {summary: "list quotas in force", answers: map[int]any{http.StatusOK: []QuotaReply{}}},
		"POST /v1/quotas/{name}":                   {summary: "change amounts of a quota below that of the credential's tenant", query: []string{"min: GPUs that are guaranteed", "max: most GPUs; 0 for no cap", "weight: of what others leave", "lend: most of min that others get", "why: the reason, for the event log"}, answers: map[int]any{http.StatusOK: []QuotaReply{}}},
		"GET /v1/whoami":                           {summary: "whom the credential stands for", answers: map[int]any{http.StatusOK: rights.Principal{}}},
		"GET /v1/login":                            {summary: "how a client signs in at the OIDC provider", answers: map[int]any{http.StatusOK: rights.Login{}}},
		"GET /v1/openapi.json":                     {summary: "this document", answers: map[int]any{http.StatusOK: map[string]any{}}},
		"GET /v1/record":                           {summary: "the record of all messages, as a ledger", other: map[int]string{http.StatusOK: "application/octet-stream"}},
		"GET /metrics":                             {summary: "metrics in Prometheus' format", other: map[int]string{http.StatusOK: "text/plain"}},
		"GET /healthz":                             {summary: "the process answers", other: map[int]string{http.StatusOK: "text/plain"}},
		"GET /readyz":                              {summary: "the coordinator leads or stands by; 503 if it can do neither", answers: map[int]any{http.StatusOK: readiness{}}},
		"GET /v1/proof":                            {summary: "what a site or a tenant may see of the coordinator's log, with proofs, as a ledger (docs/proof.md)", query: []string{"site: who asks, a site", "tenant: who asks, a tenant", "party: as which the jobs of the tenant are submitted over NATS; none: through the API"}, other: map[int]string{http.StatusOK: "application/octet-stream"}},
	}
}

// valueSchemas are the schemas of types whose JSON is not that of their fields.
func valueSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[protocol.Time]():  {Type: "string", Description: "RFC 3339, or never"},
		reflect.TypeFor[policy.Op]():      {Type: "object", Description: "docs/policy.md, JSON"},
		reflect.TypeFor[map[string]any](): {Type: "object"},
		reflect.TypeFor[protocol.JobID](): {Type: "string"},
		reflect.TypeFor[rights.Role]():    {Type: "string", Enum: []any{"tenant", "tenant-admin", "site-operator", "auditor", "federation-admin"}},
		reflect.TypeFor[rights.Source]():  {Type: "string", Enum: []any{"loopback", "token", "oidc"}},
	}
}

// A schemaTable collects the schemas of the document by name.
type schemaTable struct {
	known map[reflect.Type]*jsonschema.Schema
	named map[string]any
}

var schemaName = regexp.MustCompile(`^[a-z]+\.`)

// reference returns a reference to the schema of a type, which it adds.
func (t schemaTable) reference(v any) any {
	typ := reflect.TypeOf(v)
	if typ.Kind() == reflect.Slice {
		return map[string]any{"type": "array", "items": t.reference(reflect.Zero(typ.Elem()).Interface())}
	}
	name := schemaName.ReplaceAllString(typ.String(), "")
	if typ.Name() == "" {
		return map[string]any{"type": "object"}
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if _, ok := t.named[name]; !ok {
		s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: t.known})
		if err != nil {
			panic(fmt.Sprintf("api: openapi: schema of %v: %v", typ, err)) // types of this program; a test makes them all
		}
		t.named[name] = s
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// OpenAPI returns the OpenAPI 3.1 document of the API. docs/openapi.json is a copy.
func OpenAPI() ([]byte, error) {
	t := schemaTable{valueSchemas(), map[string]any{"JobFile": json.RawMessage(jobfile.Schema), "ServiceFile": json.RawMessage(servicefile.Schema)}}
	t.reference(PolicyRequest{})
	failed := map[string]any{"description": "not done, and why", "content": jsonContent(t.reference(fault{}))}
	paths := make(map[string]map[string]any)
	described := operations()
	for _, e := range rights.Endpoints() {
		method, path, _ := strings.Cut(e.Pattern, " ")
		if paths[path] == nil {
			paths[path] = make(map[string]any)
		}
		paths[path][strings.ToLower(method)] = t.describe(e, path, described[e.Pattern], failed)
	}
	return json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Gridbid coordinator", "version": "1",
			"description": "Submit, watch and cancel jobs and services; see sites and rounds; set the policy. docs/identity.md says who may do what.",
		},
		"paths": paths,
		"components": map[string]any{
			"schemas":         t.named,
			"securitySchemes": map[string]any{"credential": map[string]any{"type": "http", "scheme": "bearer", "description": "a token of the credentials file, or of the OIDC provider"}},
		},
	}, "", " ")
}

// jsonContent returns the content of a message in JSON.
func jsonContent(schema any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// describe returns the document's part about one endpoint.
func (t schemaTable) describe(e rights.Endpoint, path string, o operation, failed any) map[string]any {
	answers := map[string]any{"default": failed}
	for code, v := range o.answers {
		answers[strconv.Itoa(code)] = map[string]any{"description": "done", "content": jsonContent(t.reference(v))}
	}
	for code, kind := range o.other {
		answers[strconv.Itoa(code)] = map[string]any{"description": "done", "content": map[string]any{kind: map[string]any{}}}
	}
	out := map[string]any{"summary": o.summary, "responses": answers, "security": []any{map[string]any{"credential": []string{}}}, "x-roles": e.Roles}
	if len(e.Roles) == 0 {
		out["security"], out["x-roles"] = []any{}, []string{}
	}
	if len(e.Own) > 0 {
		out["x-own-only"] = e.Own // what is not their own is not there for these roles
	}
	var parameters []any
	for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, map[string]any{"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	for _, q := range o.query {
		name, what, _ := strings.Cut(q, ": ")
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "description": what, "schema": map[string]any{"type": "string"}})
	}
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if o.body != "" {
		schema := map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + o.body}}
		content := map[string]any{"application/json": schema}
		if o.body == "JobFile" || o.body == "ServiceFile" {
			content["application/yaml"] = schema
		}
		out["requestBody"] = map[string]any{"required": true, "content": content}
	}
	return out
}

// handleOpenAPI answers with the document.
func handleOpenAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := OpenAPI()
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // fails if the client has gone
}
