package llm

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

// A Cassette records the replies of a server, and replays them without it. It is a
// Transport of a [Config]. It does not store the key: a model sends it in a header
// only, and headers are not stored.
type Cassette struct {
	key  Key
	next http.RoundTripper // nil: replay

	mu        sync.Mutex
	file      *os.File
	exchanges map[string]recordedExchange
}

// A recordedExchange is one request with its reply: a line of the file.
type recordedExchange struct {
	Hash    string          `json:"hash"` // of method, path and request
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request"`
	Status  int             `json:"status"`
	Type    string          `json:"type,omitempty"`
	Reply   string          `json:"reply"`
}

// RecordTo returns a cassette that passes requests to next, and writes the replies to
// a new file. The caller closes it.
func RecordTo(path string, key Key, next http.RoundTripper) (*Cassette, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("llm: record: %w", err)
	}
	return &Cassette{key: key, next: next, file: f}, nil
}

// ReplayFrom returns a cassette that answers from a file and opens no connection.
func ReplayFrom(path string) (*Cassette, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("llm: replay: %w", err)
	}
	defer f.Close()
	c := &Cassette{exchanges: make(map[string]recordedExchange)}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var t recordedExchange
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("llm: %s:%d: %w", path, n, err)
		}
		c.exchanges[t.Hash] = t
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("llm: %s: %w", path, err)
	}
	return c, nil
}

// RoundTrip implements http.RoundTripper.
func (c *Cassette) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return nil, errors.New("llm: cassette: a request without a body")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s", r.Method, r.URL.Path, body))
	t := recordedExchange{Hash: hex.EncodeToString(sum[:]), Method: r.Method, Path: r.URL.Path, Request: body}
	if c.next == nil {
		known, ok := c.exchanges[t.Hash]
		if !ok {
			return nil, fmt.Errorf("llm: cassette: no reply to this request was recorded (%s)", t.Hash[:12])
		}
		return known.httpResponse(r), nil
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	t.Status, t.Type, t.Reply = resp.StatusCode, resp.Header.Get("Content-Type"), c.key.removeKey(string(reply))
	return t.httpResponse(r), c.appendExchange(t)
}

func (t recordedExchange) httpResponse(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: t.Status, Status: http.StatusText(t.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {t.Type}}, Body: io.NopCloser(bytes.NewReader([]byte(t.Reply))), Request: r,
	}
}

func (c *Cassette) appendExchange(t recordedExchange) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.file.Write(append(line, '\n'))
	return err
}

// Close closes the file of a recording.
func (c *Cassette) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
