package signals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of one HTTP exchange.
const (
	maxResponseBytes = 8 << 20          // of a body
	requestTimeout   = 20 * time.Second // default timeout
	maxRetryAfter    = 24 * time.Hour   // longest Retry-After that is obeyed
)

// An httpRefusal is an HTTP answer with another status than 200.
type httpRefusal struct {
	status   int           // HTTP status
	after    time.Duration // Retry-After; 0: none
	endpoint string        // host and path, without the query: it may hold a key
	excerpt  string        // the first words of the body, without secrets
}

// Error says what was answered and what happens or should be done next.
func (r httpRefusal) Error() string {
	next := "it will be retried"
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		next = "check the key and the permissions of its plan"
	case http.StatusNotFound:
		next = "check zone and url"
	case http.StatusTooManyRequests:
		next = "it will be retried when the service allows; a longer `every` polls less often"
	}
	s := fmt.Sprintf("%s answered %d %s", r.endpoint, r.status, http.StatusText(r.status))
	if r.excerpt != "" {
		s += fmt.Sprintf(" (%s)", r.excerpt)
	}
	return s + ": " + next
}

// unreachableError is an error of the network: no answer arrived.
type unreachableError struct{ endpoint, reason string }

// Error implements error.
func (u unreachableError) Error() string { return u.endpoint + ": " + u.reason }

// A serviceClient is the HTTP client of one source.
type serviceClient struct {
	client     *http.Client
	timeout    time.Duration // timeout of a request
	secrets    []string      // removed from all errors
	credential string        // credential of the last request's Authorization header; a secret, too
	now        func() time.Time
}

// newServiceClient returns a client with its own connections; patient 0 means the default
// timeout.
func newServiceClient(patient time.Duration, now func() time.Time) *serviceClient {
	if patient == 0 {
		patient = requestTimeout
	}
	return &serviceClient{
		timeout: patient, now: now,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second,
				DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, IdleConnTimeout: 30 * time.Second,
			},
			// Keys are in headers and URLs, so redirects to another host are refused.
			CheckRedirect: func(to *http.Request, via []*http.Request) error {
				if from := via[0].URL; len(via) > 3 || to.URL.Host != from.Host || to.URL.Scheme != from.Scheme {
					return fmt.Errorf("refused a redirect to %s: set url if the service has moved", to.URL.Host)
				}
				return nil
			},
		},
	}
}

// getQuery requests base with a query. Headers are pairs of name and value.
func (d *serviceClient) getQuery(ctx context.Context, base string, query url.Values, headers ...string) ([]byte, error) {
	if len(query) > 0 {
		base += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	if err != nil {
		return nil, fmt.Errorf("address: %s", d.redactSecrets(err.Error()))
	}
	return d.doRequest(req, headers...)
}

// postForm sends a form.
func (d *serviceClient) postForm(ctx context.Context, base string, form url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("address: %s", d.redactSecrets(err.Error()))
	}
	return d.doRequest(req, "Content-Type", "application/x-www-form-urlencoded")
}

// postJSON sends a JSON document.
func (d *serviceClient) postJSON(ctx context.Context, base, document string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base, strings.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("address: %s", d.redactSecrets(err.Error()))
	}
	return d.doRequest(req, "Content-Type", "application/json")
}

// doRequest sends a request and returns the body of a 200 answer. Every error is free of
// secrets.
func (d *serviceClient) doRequest(req *http.Request, headers ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(req.Context(), d.timeout)
	defer cancel()
	req = req.WithContext(ctx)
	req.Header.Set("User-Agent", "gridbid-agent")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	// Errors may quote the header, so its credential must be removed from them, too.
	_, d.credential, _ = strings.Cut(req.Header.Get("Authorization"), " ")
	where := req.URL.Host + req.URL.Path
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, d.wrapNetworkError(where, err)
	}
	defer resp.Body.Close()
	// One byte more than the limit shows that the body is too large.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	// An error status explains more than an error of the body, so it comes first.
	if resp.StatusCode != http.StatusOK {
		return nil, httpRefusal{resp.StatusCode, parseRetryAfter(resp.Header.Get("Retry-After"), d.now()), where, plainExcerpt([]byte(d.redactSecrets(string(body))))}
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, d.wrapNetworkError(where, err)
		}
		return nil, fmt.Errorf("%s: the answer is incomplete: %s", where, d.redactSecrets(err.Error()))
	}
	if len(body) > maxResponseBytes {
		return nil, fmt.Errorf("%s: the answer is larger than %d MiB", where, maxResponseBytes>>20)
	}
	return body, nil
}

// wrapNetworkError describes a network error without the URL, which may contain a key.
func (d *serviceClient) wrapNetworkError(where string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %s: %w", where, d.timeout, context.DeadlineExceeded)
	}
	return unreachableError{where, d.redactSecrets(err.Error())}
}

// redactedError is an error whose text had a secret removed; errors.Is and As still see the
// original.
type redactedError struct {
	error
	text string
}

// Error returns the text without secrets.
func (h redactedError) Error() string { return h.text }

// Unwrap returns the original error.
func (h redactedError) Unwrap() error { return h.error }

// redactError removes secrets from an error's text.
func (d *serviceClient) redactError(err error) error {
	if text := d.redactSecrets(err.Error()); text != err.Error() {
		return redactedError{err, text}
	}
	return err
}

// redactSecrets removes secrets from a text, in plain and in URL-encoded form.
func (d *serviceClient) redactSecrets(s string) string {
	for _, k := range append(slices.Clone(d.secrets), d.credential) {
		if k == "" {
			continue
		}
		s = strings.ReplaceAll(s, k, "***")
		s = strings.ReplaceAll(s, url.QueryEscape(k), "***")
	}
	return s
}

// plainExcerpt returns the beginning of a body as printable ASCII: it goes to logs and
// terminals.
func plainExcerpt(body []byte) string {
	body = body[:min(len(body), 160)]
	plain := bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, body)
	return strings.Join(strings.Fields(string(plain)), " ")
}

// parseRetryAfter parses the header: seconds or a date. The result is within 0..maxRetryAfter.
func parseRetryAfter(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	var d time.Duration
	// Values beyond 1<<30 seconds would overflow a Duration; they are ignored.
	if n, err := strconv.Atoi(s); err == nil && n < 1<<30 {
		d = time.Duration(n) * time.Second
	} else if t, err := http.ParseTime(s); err == nil {
		d = t.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
