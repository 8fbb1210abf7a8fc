//go:build unix

package natsbus

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports whether a file belongs to who this process runs as.
func ours(info fs.FileInfo) bool {
	of, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(of.Uid) == os.Geteuid()
}
