// Package browsertest drives a page in a real Chromium, for tests that are built with
// the tag "browser", and notes what a page must not do.
package browsertest
