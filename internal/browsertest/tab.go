//go:build browser

package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A BrowserTab is a page in a browser of its own, and what went wrong there.
type BrowserTab struct {
	Origin string

	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	errors  []string
	allowed []string
}

// findBrowser returns the path of Chromium, or of Chrome, which runners of public forges have.
func findBrowser() (path string, err error) {
	for _, name := range []string{"chromium", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// OpenBrowser opens a browser. Without one the test fails: a page that nobody has
// seen is not tested.
func OpenBrowser(t *testing.T, origin string) *BrowserTab {
	t.Helper()
	path, err := findBrowser()
	if err != nil {
		t.Fatalf("no chromium: %v; install it: apt-get install chromium", err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1360, 900), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	b := &BrowserTab{t: t, ctx: ctx, Origin: origin}
	if err := chromedp.Listen(ctx, b.watchEvents); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return b
}

// watchEvents notes what a page must not do.
func (b *BrowserTab) watchEvents(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			complaint += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		complaint = fmt.Sprintf("console.%s", e.Type)
	case *log.EventEntryAdded:
		complaint = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		complaint = "a dialog says " + e.Message
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.Origin+"/") {
			complaint = "a request to " + e.Request.URL
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			complaint = fmt.Sprintf("%d of %s", e.Response.Status, e.Response.URL)
		}
	}
	if complaint == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ok := range b.allowed {
		if strings.Contains(complaint, ok) {
			return
		}
	}
	b.errors = append(b.errors, complaint)
}

// RunSteps takes steps in the page.
func (b *BrowserTab) RunSteps(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v; the page: %v", what, err, b.collectedErrors())
	}
}

// AwaitExpression waits until an expression, or the promise that it is, holds. While it throws it
// does not hold: what it looks for may not be there yet. It is evaluated in one go, so the page does
// not change between its parts; it may act on the page at the moment at which it holds.
func (b *BrowserTab) AwaitExpression(what, expression string) {
	b.t.Helper()
	guarded := "(async () => { try { return !!(await (" + expression + ")) } catch { return false } })()"
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](guarded, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(2*time.Minute))); err != nil {
		b.t.Fatalf("%s: %v; the page: %v", what, err, b.collectedErrors())
	}
}

// AllowErrors says what an error may hold that is no fault of the page.
func (b *BrowserTab) AllowErrors(all ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = all
}

// SaveScreenshot keeps what is seen in a file.
func (b *BrowserTab) SaveScreenshot(path string) {
	b.t.Helper()
	raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, raw, 0o644)
	}
	if err != nil {
		b.t.Fatalf("picture %s: %v", path, err)
	}
}

func (b *BrowserTab) collectedErrors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errors
}

// FailOnErrors fails for all that the page did and must not.
func (b *BrowserTab) FailOnErrors() {
	b.t.Helper()
	for _, c := range b.collectedErrors() {
		b.t.Error(c)
	}
}

// EvaluateExpression returns what an expression is in the page.
func EvaluateExpression[T any](b *BrowserTab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// SetWindow sets the size of the window, and light or dark.
func (b *BrowserTab) SetWindow(width, height int64, scheme string) {
	b.t.Helper()
	b.RunSteps("set the window", chromedp.EmulateViewport(width, height), func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		return chromedp.Void{}, err
	})
}
