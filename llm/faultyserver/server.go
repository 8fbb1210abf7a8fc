// Package faultyserver is a model server on loopback that uses the formats of
// package llm and misbehaves on request. It is not in test files because a
// benchmark runs attacks against it too.
package faultyserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Behaviour answers one request.
type Behaviour func(w http.ResponseWriter, r *http.Request, body []byte)

// A Server is a running server.
type Server struct {
	http   *http.Server
	listen net.Listener
	quit   chan struct{}
	once   sync.Once

	mu       sync.Mutex
	behave   Behaviour
	requests [][]byte
}

// StartServer starts a server on a free loopback port. The caller closes it.
func StartServer(b Behaviour) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultyserver: %w", err)
	}
	s := &Server{listen: l, quit: make(chan struct{}), behave: b}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }() // returns after Close
	return s, nil
}

// BaseURL returns the server's address in the form of llm.Config.URL.
func (s *Server) BaseURL() string { return "http://" + s.listen.Addr().String() + "/v1" }

// SetBehaviour changes what the server does.
func (s *Server) SetBehaviour(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behave = b
}

// RequestBodies returns the bodies of all requests so far.
func (s *Server) RequestBodies() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.requests...)
}

// Close stops the server and breaks off open requests. A second call does nothing.
func (s *Server) Close() {
	s.once.Do(func() { close(s.quit) })
	_ = s.http.Close()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20)) // read all: net/http detects that a client left only after that
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	b := s.behave
	s.mu.Unlock()
	done := make(chan struct{})
	defer close(done)
	go func() { // end a hanging behaviour when the server closes
		select {
		case <-s.quit:
			_ = s.http.Close()
		case <-done:
		}
	}()
	b(w, r, body)
}

// waitForClient waits until the client leaves.
func waitForClient(r *http.Request) { <-r.Context().Done() }

func writeResponse(w http.ResponseWriter, kind string, status int, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails if the client has left
}

// RawBody answers with a body of content type JSON, valid or not.
func RawBody(body string) Behaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		writeResponse(w, "application/json", http.StatusOK, body)
	}
}

// FixedText answers every request with a text, in the format of the request.
func FixedText(text string) Behaviour { return AnswerWith(func([]byte) string { return text }) }

// AnswerWith answers with the text that f returns for a request's body.
func AnswerWith(f func(body []byte) string) Behaviour {
	return func(w http.ResponseWriter, r *http.Request, body []byte) {
		writeResponse(w, "application/json", http.StatusOK, replyBody(r, f(body), "stop", "end_turn"))
	}
}

func replyBody(r *http.Request, text, stop, ends string) string {
	quoted, _ := json.Marshal(text) // never fails for a string
	if strings.HasSuffix(r.URL.Path, "/messages") {
		return fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":%s}],"stop_reason":%q,"usage":{"input_tokens":21,"output_tokens":7}}`, quoted, ends)
	}
	return fmt.Sprintf(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":%q}],"usage":{"prompt_tokens":21,"completion_tokens":7,"total_tokens":28}}`, quoted, stop)
}
