package page

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/internal/plainerror"
	"github.com/gridbid/gridbid/protocol"
)

// Acts are what a visitor who is signed in may do on the page, by the rights of its credential, which
// the context has. They are forms of a session, with a text that no other page knows.
type Acts struct {
	Cancel  func(ctx context.Context, id protocol.JobID) error                       // nil: the page is read-only
	Quote   func(ctx context.Context, file []byte) (lines []string, err error)       // what the job of a file would cost
	Log     func(ctx context.Context, id protocol.JobID) (lines []string, err error) // what a job wrote
	Refused func(r *http.Request, who string, why error)                             // logs what was refused
}

// Patterns of the endpoints whose roles may do the same by the API.
const (
	cancelPattern = "POST /v1/jobs/{id}/cancel"
	quotePattern  = "POST /v1/quotes"
	logPattern    = "GET /v1/jobs/{id}/logs"
)

var (
	errForgedForm = errors.New("page: the form is not of this session: load the page anew, and send it from there")
	errNoAct      = errors.New("page: no role of this credential may do that")
)

// actView is the data of the template of acts.
type actView struct {
	Tag, Form, Job, File, Problem string
	MayCancel, MayQuote           bool
	Lines                         []string
	Log                           []string // what Job wrote
}

// mayCancel and mayQuote report whether a visitor may, and is signed in so that a form can be its own.
func (s *pageServer) mayCancel(r *http.Request) bool {
	return s.opts.Acts.Cancel != nil && s.sessions.FormOf(r) != "" && rights.MayUse(cancelPattern, rights.Of(r.Context()))
}

func (s *pageServer) mayQuote(r *http.Request) bool {
	return s.opts.Acts.Quote != nil && s.sessions.FormOf(r) != "" && rights.MayUse(quotePattern, rights.Of(r.Context()))
}

// mayReadLogs reports whether a visitor may read what jobs write.
func (s *pageServer) mayReadLogs(r *http.Request) bool {
	return s.opts.Acts.Log != nil && rights.MayUse(logPattern, rights.Of(r.Context()))
}

// actViewOf returns what the page of acts shows to a visitor.
func (s *pageServer) actViewOf(r *http.Request) actView {
	return actView{Tag: s.tag, Form: s.sessions.FormOf(r), MayCancel: s.mayCancel(r), MayQuote: s.mayQuote(r)}
}

// serveActForm serves the forms: to cancel the job that is asked for, and to quote one.
func (s *pageServer) serveActForm(w http.ResponseWriter, r *http.Request) {
	v := s.actViewOf(r)
	if v.Job = r.URL.Query().Get("job"); !v.MayCancel && !v.MayQuote {
		s.refuseAct(w, r, errNoAct)
		return
	}
	s.renderTemplate(w, "act", v)
}

// serveLog shows what a job wrote.
func (s *pageServer) serveLog(w http.ResponseWriter, r *http.Request) {
	if !s.mayReadLogs(r) {
		s.refuseAct(w, r, errNoAct)
		return
	}
	v := actView{Tag: s.tag, Job: r.URL.Query().Get("job")}
	var err error
	if v.Log, err = s.opts.Acts.Log(r.Context(), protocol.JobID(v.Job)); err != nil {
		v.Problem = plainerror.Text(err)
	}
	s.renderTemplate(w, "act", v)
}

// refuseAct answers and logs an act that is not done.
func (s *pageServer) refuseAct(w http.ResponseWriter, r *http.Request, why error) {
	if s.opts.Acts.Refused != nil {
		s.opts.Acts.Refused(r, rights.Of(r.Context()).Name, why)
	}
	http.Error(w, why.Error(), http.StatusForbidden)
}

// readAct checks that a request is a form of its session and that its visitor may act; otherwise it
// has answered. A cookie of another site's request is not sent (SameSite), its origin is refused before
// this, and it cannot know the session's text.
func (s *pageServer) readAct(w http.ResponseWriter, r *http.Request, may bool) bool {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	form := s.sessions.FormOf(r)
	if form == "" || subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(form)) != 1 {
		s.refuseAct(w, r, errForgedForm)
		return false
	}
	if !may {
		s.refuseAct(w, r, errNoAct)
		return false
	}
	return true
}

// serveCancel cancels a job.
func (s *pageServer) serveCancel(w http.ResponseWriter, r *http.Request) {
	if !s.readAct(w, r, s.mayCancel(r)) {
		return
	}
	v := s.actViewOf(r)
	v.Job = r.PostFormValue("job")
	if err := s.opts.Acts.Cancel(r.Context(), protocol.JobID(v.Job)); err != nil {
		v.Problem = plainerror.Text(err)
		s.renderTemplate(w, "act", v)
		return
	}
	http.Redirect(w, r, "./", http.StatusSeeOther)
}

// serveQuote says what the job of a file would cost.
func (s *pageServer) serveQuote(w http.ResponseWriter, r *http.Request) {
	if !s.readAct(w, r, s.mayQuote(r)) {
		return
	}
	v := s.actViewOf(r)
	v.File = r.PostFormValue("file")
	var err error
	if v.Lines, err = s.opts.Acts.Quote(r.Context(), []byte(v.File)); err != nil {
		v.Problem = plainerror.Text(err)
	}
	s.renderTemplate(w, "act", v)
}
