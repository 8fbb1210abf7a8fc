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

// Bounds of one answer.
const (
	mostBytes = 8 << 20
	patience  = 20 * time.Second
	mostAfter = 24 * time.Hour // that a Retry-After is heeded
)

// A refusal is an answer that is none.
type refusal struct {
	status int
	after  time.Duration // asked for by the service; 0: it did not say
	where  string        // host and path, and no key
	said   string        // the first words of the answer
}

func (r refusal) Error() string {
	next := "it is asked again later"
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		next = "check the key, and what its plan allows"
	case http.StatusNotFound:
		next = "check the place, and the address"
	case http.StatusTooManyRequests:
		next = "it is asked again when it allows; a longer every asks it less often"
	}
	s := fmt.Sprintf("%s answers %d %s", r.where, r.status, http.StatusText(r.status))
	if r.said != "" {
		s += fmt.Sprintf(" (%s)", r.said)
	}
	return s + ": " + next
}

// unreached says that no answer came, and why.
type unreached struct{ where, why string }

func (u unreached) Error() string { return u.where + ": " + u.why }

// A door is how a source asks its service.
type door struct {
	client  *http.Client
	patient time.Duration
	secrets []string // never to be shown
	proof   string   // by which the last question was allowed: a token, or a password as its header has it
	now     func() time.Time
}

func newDoor(patient time.Duration, now func() time.Time) *door {
	if patient == 0 {
		patient = patience
	}
	return &door{
		patient: patient, now: now,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second,
				DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, IdleConnTimeout: 30 * time.Second,
			},
			// Keys travel in headers and addresses, so nobody is followed elsewhere.
			CheckRedirect: func(to *http.Request, via []*http.Request) error {
				if from := via[0].URL; len(via) > 3 || to.URL.Host != from.Host || to.URL.Scheme != from.Scheme {
					return fmt.Errorf("it sends us to %s: set url if the service has moved", to.URL.Host)
				}
				return nil
			},
		},
	}
}

// get asks for base with a query. Headers come in pairs: name, value.
func (d *door) get(ctx context.Context, base string, query url.Values, headers ...string) ([]byte, error) {
	if len(query) > 0 {
		base += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	if err != nil {
		return nil, fmt.Errorf("address: %s", d.clean(err.Error()))
	}
	return d.do(req, headers...)
}

// post sends a form.
func (d *door) post(ctx context.Context, base string, form url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("address: %s", d.clean(err.Error()))
	}
	return d.do(req, "Content-Type", "application/x-www-form-urlencoded")
}

func (d *door) do(req *http.Request, headers ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(req.Context(), d.patient)
	defer cancel()
	req = req.WithContext(ctx)
	req.Header.Set("User-Agent", "gridbid-agent")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	_, d.proof, _ = strings.Cut(req.Header.Get("Authorization"), " ")
	where := req.URL.Host + req.URL.Path
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, d.failed(where, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if resp.StatusCode != http.StatusOK {
		return nil, refusal{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), d.now()), where, words([]byte(d.clean(string(body))))}
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, d.failed(where, err)
		}
		return nil, fmt.Errorf("%s: the answer breaks off: %s", where, d.clean(err.Error()))
	}
	if len(body) > mostBytes {
		return nil, fmt.Errorf("%s: the answer is over %d MiB", where, mostBytes>>20)
	}
	return body, nil
}

// failed words an error of the network without the address, which may hold a key.
func (d *door) failed(where string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %s: %w", where, d.patient, context.DeadlineExceeded)
	}
	return unreached{where, d.clean(err.Error())}
}

// hidden is an error that quotes somebody who quotes a key.
type hidden struct {
	error
	text string
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// hide takes keys out of an error.
func (d *door) hide(err error) error {
	if text := d.clean(err.Error()); text != err.Error() {
		return hidden{err, text}
	}
	return err
}

// clean takes keys out of what somebody else wrote.
func (d *door) clean(s string) string {
	for _, k := range append(slices.Clone(d.secrets), d.proof) {
		if k == "" {
			continue
		}
		s = strings.ReplaceAll(s, k, "***")
		s = strings.ReplaceAll(s, url.QueryEscape(k), "***")
	}
	return s
}

// words returns the beginning of an answer in plain letters.
func words(body []byte) string {
	body = body[:min(len(body), 160)]
	plain := bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, body)
	return strings.Join(strings.Fields(string(plain)), " ")
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.Atoi(s); err == nil && n < 1<<30 {
		d = time.Duration(n) * time.Second
	} else if t, err := http.ParseTime(s); err == nil {
		d = t.Sub(now)
	}
	return min(max(d, 0), mostAfter)
}
