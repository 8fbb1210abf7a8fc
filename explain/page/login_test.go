package page

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A shared link still works after signing in, and a signed-in browser is not asked for
// the token.
func TestSigningInLeadsToWhatWasAskedFor(t *testing.T) {
	s := finished(t, 3, lockedWith(t, "0123456789abcdef"))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	jar := map[string]*http.Cookie{}
	do := func(method, path string, form url.Values) string {
		t.Helper()
		r, _ := http.NewRequest(method, s.URL+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range jar {
			r.AddCookie(c)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		for _, c := range a.Cookies() {
			jar[c.Name] = c
		}
		return fmt.Sprint(a.StatusCode, " ", a.Header.Get("Location"))
	}
	const asked = "?d=D-2&q=late+jobs&t=1773230000000"
	token := url.Values{"token": {"0123456789abcdef"}}
	for _, step := range []struct {
		method, path string
		form         url.Values
		want         string
	}{
		{"GET", "/" + asked, nil, "303 /login" + asked},
		{"GET", "/login" + asked, nil, "200 "},
		{"POST", "/login" + asked, url.Values{"token": {"wrong"}}, "401 "},
		{"POST", "/login" + asked, token, "303 /" + asked},
		{"GET", "/" + asked, nil, "200 "},
		{"GET", "/login" + asked, nil, "303 /" + asked},
		{"GET", "/login", nil, "303 /"},
		{"POST", "/login", token, "303 /"}, // in another tab
	} {
		if got := do(step.method, step.path, step.form); got != step.want {
			t.Errorf("%s %s: %s; want %s", step.method, step.path, got, step.want)
		}
	}
}

// A timed answer notes until when the rest of a request is waited for.
type timed struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (a *timed) SetReadDeadline(at time.Time) error { a.until = at; return nil }

// Unauthenticated clients that send requests slowly must not exhaust the connections.
func TestStrangersAreNotWaitedFor(t *testing.T) {
	const token = "0123456789abcdef"
	s := finished(t, 3, lockedWith(t, token))
	for _, path := range []string{"/login", "/at", "/mcp", "/"} {
		for _, knows := range []bool{false, true} {
			r, a := httptest.NewRequest(http.MethodPost, path, nil), &timed{ResponseRecorder: httptest.NewRecorder()}
			if knows {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			s.Config.Handler.ServeHTTP(a, r)
			if a.until.IsZero() != knows {
				t.Errorf("%s, who knows the token %v: waited for until %v", path, knows, a.until)
			}
		}
	}
}

// Two pages on one machine have the same cookies, as browsers do not tell ports
// apart; who signs in on one stays signed in on the other.
func TestPagesOfOtherTokensKeepTheirReaders(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	defer client.CloseIdleConnections()
	var pages []string
	for _, token := range []string{"0123456789abcdef", "fedcba9876543210"} {
		s := finished(t, 3, lockedWith(t, token))
		pages = append(pages, s.URL)
		a, err := client.PostForm(s.URL+"/login", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
	}
	for _, page := range pages {
		a, err := client.Get(page + "/at")
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != 200 {
			t.Errorf("signed in on both, %s: %d", page, a.StatusCode)
		}
	}
}

// A question is answered as it stands or refused, but not cut off and answered as
// another.
func TestAQuestionIsNotCutOff(t *testing.T) {
	s := finished(t, 3, Options{})
	for much, want := range map[int]string{1000: "read as: carbon used at site oslo", 3000: "at most 2000 bytes"} {
		q := url.QueryEscape("carbon used" + strings.Repeat(" ", much) + "at site oslo")
		for _, path := range []string{"/ask?q=", "/?q="} {
			if _, text := get(t, s.URL+path+q, nil); !strings.Contains(text, want) {
				t.Errorf("%s with %d blanks in it: want %q in\n%.600s", path, much, want, text)
			}
		}
	}
}
