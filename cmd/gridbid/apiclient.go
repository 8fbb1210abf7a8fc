package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/loopback"
)

// apiURL returns the URL of an address of a coordinator's API: HOST:PORT, which is asked without
// TLS, or https://HOST:PORT.
func apiURL(api string) (*url.URL, error) {
	at, isTLS := strings.CutPrefix(api, "https://")
	host, port, err := net.SplitHostPort(at)
	if err != nil || host == "" || port == "" || strings.ContainsAny(at, "/?#@") {
		return nil, usageError{fmt.Errorf("--api %q: want HOST:PORT, such as %s, or https://HOST:PORT", api, defaultAPIAddress)}
	}
	u := &url.URL{Scheme: "http", Host: at}
	if isTLS {
		u.Scheme = "https"
	}
	return u, nil
}

// noCredential is the key of a context whose requests are sent without a credential.
type noCredential struct{}

func withoutCredential(ctx context.Context) context.Context {
	return context.WithValue(ctx, noCredential{}, true)
}

// apiCredential returns the token with which an API is asked: that of $GRIDBID_TOKEN, or of the
// session of this API; "" for none. Invariant: it is sent over TLS, or to this machine.
func apiCredential(ctx context.Context, u *url.URL) (token string, err error) {
	if ctx.Value(noCredential{}) != nil {
		return "", nil
	}
	from := "$GRIDBID_TOKEN"
	if token = strings.TrimSpace(os.Getenv("GRIDBID_TOKEN")); token == "" {
		from = "the session"
		if token, err = sessionToken(ctx, u); err != nil {
			return "", err
		}
	}
	if _, own := loopback.ParseHost(u.Host); token != "" && u.Scheme != "https" && !own {
		return "", usageError{fmt.Errorf("--api %s: the credential in %s would be sent unencrypted: give the address as https://%s", u.Host, from, u.Host)}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usageError{fmt.Errorf("%s has no token: want one line of printable characters", from)}
	}
	return token, nil
}

// apiTransport returns how an API is reached: over TLS it must have a certificate of the
// authority in $GRIDBID_CA, or in the context of its address, or else of one that this machine
// trusts.
func apiTransport(u *url.URL) (http.RoundTripper, error) {
	// One request is one connection: commands send few, and close none.
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ResponseHeaderTimeout: time.Minute, TLSHandshakeTimeout: requestTimeout}
	if u.Scheme != "https" {
		return t, nil
	}
	secured := &tls.Config{MinVersion: tls.VersionTLS13}
	file := os.Getenv("GRIDBID_CA")
	if file == "" {
		c, err := readConfig()
		if err != nil {
			return nil, err
		}
		for _, name := range c.names() {
			if x := c.Contexts[name]; x.API == u.String() {
				file = cmp.Or(file, x.CA)
			}
		}
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usageError{fmt.Errorf("the certificate authority of %s: %w", u.Host, err)}
		}
		if secured.RootCAs = x509.NewCertPool(); !secured.RootCAs.AppendCertsFromPEM(text) {
			return nil, usageError{fmt.Errorf("%s has no certificate in PEM", file)}
		}
	}
	t.TLSClientConfig = secured
	return t, nil
}

// askAPI sends a request to a coordinator's API, with the credential of this user. The caller
// must close the body of the answer.
func askAPI(ctx context.Context, method, api, path, kind string, body io.Reader) (*http.Response, error) {
	u, err := apiURL(api)
	if err != nil {
		return nil, err
	}
	token, err := apiCredential(ctx, u)
	if err != nil {
		return nil, err
	}
	transport, err := apiTransport(u)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String()+path, body)
	if err != nil {
		return nil, usageError{fmt.Errorf("--api %q: %w", api, err)}
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	// The API redirects nowhere; whoever else answers must not get the credential.
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("no coordinator answers at %s: start one with `gridbid up`, or give the address of one with --api: %w", u.Host, err)
	}
	return answer, nil
}
