package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
)

// A script learns from the exit code whether its jobs are where it waits for them, never will
// be, are unknown, or not yet.
func TestWaitEndsWithACodeForScripts(t *testing.T) {
	asked := 0
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		id := path.Base(r.URL.Path)
		state := map[string]string{"good": "done", "bad": "failed", "refused": "refused", "queued": "planned", "slow": "planned", "runs": "running"}[id]
		switch asked++; {
		case state == "":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"unknown job"}`)
			return
		case id == "slow" && asked > 3:
			state = "running"
		}
		_, _ = fmt.Fprintf(w, `{"id":%q,"state":%q,"site":"oslo"}`, id, state)
	})
	for _, c := range []struct {
		args []string
		want string // how it ends
	}{
		{[]string{"good"}, ""},
		{[]string{"good", "runs", "slow", "--for", "running"}, ""},
		{[]string{"good", "bad"}, "1 job of 2 failed"},
		{[]string{"refused", "--for", "running"}, "failed, refused or cancelled: refused"},
		{[]string{"good", "ghost"}, "usage: unknown job"},
		{[]string{"good", "--for", "glory"}, "usage: --for"},
		{[]string{"good", "--timeout", "-1s"}, "usage: --timeout"},
		{[]string{}, "at least 1"},
		{[]string{"queued", "--timeout", "20ms"}, "exit status 124"},
		{[]string{"runs", "--timeout", "20ms"}, "exit status 124"},
	} {
		asked = 0
		_, _, err := execute(newWaitCommand(), append(c.args, "--api", at)...)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if errors.As(err, new(usageError)) {
			said = "usage: " + said
		}
		if (err == nil) != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("wait %v ends with %q; want %q", c.args, said, c.want)
		}
	}
}
