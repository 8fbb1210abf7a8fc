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

// serving starts `gridbid page` and returns what it says until its address, and
// the address.
func serving(t *testing.T, listen string) (said []string, address string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	stderr, say := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := servePage(ctx, recordSource{path: filepath.Join(ledgerOf(t, "auction"), "auction.ledger")}, listen, nil, nil, say)
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
	t.Setenv("GRIDBID_PAGE_TOKEN", "")
	said, at := serving(t, "127.0.0.1:0")
	if len(said) != 1 {
		t.Errorf("page says %q; want its address alone", said)
	}
	if code, text := fetch(t, at+"/", ""); code != 200 || !strings.Contains(text, "train-1") {
		t.Errorf("the page: %d\n%.400s", code, text)
	}
}

func TestPageBeyondThisMachineAsksForAToken(t *testing.T) {
	t.Setenv("GRIDBID_PAGE_TOKEN", "")
	said, at := serving(t, "0.0.0.0:0")
	token, ok := strings.CutPrefix(said[0], "token: ")
	if !ok || len(token) < 16 {
		t.Fatalf("page says %q; want a token", said)
	}
	at = strings.Replace(strings.Replace(at, "0.0.0.0", "127.0.0.1", 1), "[::]", "127.0.0.1", 1)
	for tried, want := range map[string]int{"": 401, token + "x": 401, token: 200} {
		if code, _ := fetch(t, at+"/at", tried); code != want {
			t.Errorf("with token %q: %d; want %d", tried, code, want)
		}
	}
}

// A proxy on this machine brings everybody to a loopback address.
func TestPageAsksForTheTokenThatItWasGiven(t *testing.T) {
	const token = "0123456789abcdef"
	t.Setenv("GRIDBID_PAGE_TOKEN", token)
	said, at := serving(t, "127.0.0.1:0")
	if strings.Contains(strings.Join(said, " "), token) {
		t.Errorf("page says %q; want the token kept", said)
	}
	for tried, want := range map[string]int{"": 401, token: 200} {
		if code, _ := fetch(t, at+"/at", tried); code != want {
			t.Errorf("with token %q: %d; want %d", tried, code, want)
		}
	}
}

func TestPageRefusesAWeakToken(t *testing.T) {
	t.Setenv("GRIDBID_PAGE_TOKEN", "short")
	err := servePage(context.Background(), recordSource{path: filepath.Join(ledgerOf(t, "auction"), "auction.ledger")}, "0.0.0.0:0", nil, nil, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "at least 16") || !errors.As(err, new(usageError)) {
		t.Errorf("a weak token: %v", err)
	}
}
