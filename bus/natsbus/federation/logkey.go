package federation

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
)

// The key of the coordinators' log, and its public part, which all members get.
const (
	logKeyFile = "log.key"
	logPubFile = "log.pub"
)

// WriteLogKey generates the key of a log, and writes it into file, and its public part beside it, to
// the same name with the extension .pub. Name is that of the log, without spaces and "+".
func WriteLogKey(file, name string) error {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return fmt.Errorf("federation: generate a key of the log: %w", err)
	}
	if _, err := note.NewSigner(secret); err != nil {
		return fmt.Errorf("federation: log %q: want a name without spaces and +", name)
	}
	if err := createFile(file, []byte(secret+"\n")); err != nil {
		return err
	}
	return createFile(PublicLogKeyFile(file), []byte(public+"\n"))
}

// PublicLogKeyFile returns the name of the file with the public part of a key.
func PublicLogKeyFile(file string) string {
	return file[:len(file)-len(filepath.Ext(file))] + ".pub"
}

// copyLogKey copies the key of the log to those who sign with it, and its public part to all. A
// federation that was made before there was a log has none.
func copyLogKey(from, stage string, signs bool) error {
	if signs {
		err := copyFile(filepath.Join(from, logKeyFile), filepath.Join(stage, logKeyFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	err := copyFile(filepath.Join(from, logPubFile), filepath.Join(stage, logPubFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// hasLogKey reports whether a member's folder has a key of the log, or its public part.
func hasLogKey(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}
