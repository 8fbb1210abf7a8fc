//go:build !unix

package natsbus

import "io/fs"

// isOwnedByProcess reports true: Go does not know the owner of a file on this system.
func isOwnedByProcess(fs.FileInfo) bool { return true }

// lockDirectory locks nothing on this system.
func lockDirectory(string) (release func(), err error) { return func() {}, nil }
