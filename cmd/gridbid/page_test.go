package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// startPage starts `gridbid page` and returns what it says until its address, and
// the address.
func startPage(t *testing.T, serve pageServing) (said []string, address string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	stderr, say := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := servePage(ctx, recordSource{path: filepath.Join(ledgerOf(t, "auction"), "auction.ledger")}, serve, nil, say)
		say.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("page ends with %v; want it to be interrupted", err)
		}
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		said = append(said, lines.Text())
		if at, ok := strings.CutPrefix(lines.Text(), "page: "); ok {
			return said, at
		}
	}
	t.Fatalf("page ended, and said %q (%v)", said, lines.Err())
	return nil, ""
}

func fetch(t *testing.T, address, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	defer http.DefaultClient.CloseIdleConnections()
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func TestPageServesTheLedger(t *testing.T) {
	said, at := startPage(t, pageServing{listen: "127.0.0.1:0"})
	if len(said) != 1 {
		t.Errorf("page says %q; want its address alone", said)
	}
	if code, text := fetch(t, at+"/", ""); code != 200 || !strings.Contains(text, "train-1") {
		t.Errorf("the page: %d\n%.400s", code, text)
	}
}

// newCredential adds a credential to a file and returns its token.
func newCredential(t *testing.T, file string, args ...string) string {
	t.Helper()
	token, _, err := execute(newCredentialsCommand(), append([]string{"add", "--file", file}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(token)
}

// A page that other machines reach needs credentials and TLS; the error says what to give.
func TestPageBeyondThisMachineNeedsCredentialsAndTLS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	newCredential(t, file, "ada", "--role", "auditor")
	for _, serve := range []pageServing{{}, {credentials: file}} {
		serve.listen = "0.0.0.0:0"
		err := servePage(context.Background(), recordSource{path: filepath.Join(ledgerOf(t, "auction"), "auction.ledger")}, serve, nil, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "give --credentials") || !errors.As(err, new(usageError)) {
			t.Errorf("%+v: %v", serve, err)
		}
	}
}

// A proxy on this machine brings everybody to a loopback address.
func TestPageAsksForCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	auditor, tenant := newCredential(t, file, "ada", "--role", "auditor"), newCredential(t, file, "ben", "--role", "tenant", "--tenant", "team-a")
	_, at := startPage(t, pageServing{listen: "127.0.0.1:0", credentials: file})
	for tried, want := range map[string]int{"": 401, tenant: 401, auditor + "x": 401, auditor: 200} {
		if code, _ := fetch(t, at+"/at", tried); code != want {
			t.Errorf("with token %q: %d; want %d", tried, code, want)
		}
	}
}
