package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOnlyThisMachineIsServedUnderItsOwnName(t *testing.T) {
	h := New().HTTPHandler()
	for _, c := range []struct {
		host, from string
		want       int
	}{
		{"127.0.0.1:7480", "127.0.0.1:5000", http.StatusOK}, {"localhost:7480", "[::1]:5000", http.StatusOK},
		{"evil.example", "127.0.0.1:5000", http.StatusForbidden}, {"127.0.0.1:7480", "10.0.0.7:5000", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host, r.RemoteAddr = c.host, c.from
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%s asks %s: %d, want %d", c.from, c.host, w.Code, c.want)
		}
	}
	// A page elsewhere cannot have a browser submit.
	r := httptest.NewRequest(http.MethodPost, "/v1/jobs", strings.NewReader("x"))
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:5000"
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("another origin: %d", w.Code)
	}
}

func TestAFileOfPeopleNamesEachOnce(t *testing.T) {
	_, ada, err := NewPerson("ada")
	if err != nil {
		t.Fatal(err)
	}
	text := func(name, hash string) string {
		return `[{"name": "ada", "token_sha256": "` + ada.SHA256 + `"}, {"name": "` + name + `", "token_sha256": "` + hash + `"}]`
	}
	other := strings.Repeat("0a", 32)
	if all, err := ReadPeople("p.json", []byte(text("ben", other))); err != nil || len(all) != 2 || all[0] != ada {
		t.Errorf("read %+v, %v", all, err)
	}
	for _, bad := range []string{"", "{}", text("ada", other), text("ben", ada.SHA256), text("ben", strings.ToUpper(ada.SHA256)), text("ben", "0a"), text("", other), text("b\u001b", other), `[{"nmae": "x"}]`} {
		if _, err := ReadPeople("p.json", []byte(bad)); err == nil || !strings.Contains(err.Error(), "p.json") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, _, err := NewPerson("a\nb"); err == nil {
		t.Error("a name of two lines is a name")
	}
}
