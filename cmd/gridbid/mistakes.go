package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
)

// asUsageError marks a non-nil error as a wrong call of a command, and points to its help.
func asUsageError(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
}

// flagError words an error of a command's flags. A flag that follows a misspelt command is not
// the mistake: `gridbid repaly --policy x` names the command.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		name := unknown.GetSpecifiedName()
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				flags = append(flags, "--"+f.Name)
			}
		})
		err = fmt.Errorf("unknown flag --%s%s", name, nearest.DidYouMean("--"+name, flags))
	}
	return asUsageError(cmd, err)
}

// unknownCommand is the error for a word that is no command of a group.
func unknownCommand(cmd *cobra.Command, word string) error {
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return asUsageError(cmd, fmt.Errorf("unknown command %q%s", word, nearest.DidYouMean(word, known)))
}

// markArgumentErrors has wrong arguments of a command and of its subcommands end with
// exitUsage and a sentence that says what is wanted.
func markArgumentErrors(cmd *cobra.Command) {
	if validate := cmd.Args; validate != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := validate(cmd, args)
			switch {
			case err == nil:
				return nil
			case cmd.HasSubCommands() && len(args) > 0:
				return unknownCommand(cmd, args[0])
			}
			return asUsageError(cmd, argumentError(cmd, args))
		}
	}
	for _, sub := range cmd.Commands() {
		markArgumentErrors(sub)
	}
}

// argumentError says what arguments a command wants, and what it got.
func argumentError(cmd *cobra.Command, args []string) error {
	_, wanted, _ := strings.Cut(cmd.Use, " ")
	wanted, _, _ = strings.Cut(wanted, "--") // flags in the usage line are no arguments
	if wanted = strings.TrimSpace(wanted); strings.HasPrefix(wanted, "-") {
		wanted = ""
	}
	usage := strings.TrimSpace(cmd.Parent().CommandPath() + " " + cmd.Use)
	switch {
	case wanted == "":
		return fmt.Errorf("%s takes no argument, and got %q: the usage is `%s`", cmd.CommandPath(), strings.Join(args, " "), usage)
	case len(args) == 0:
		return fmt.Errorf("%s needs %s: the usage is `%s`", cmd.CommandPath(), wanted, usage)
	}
	return fmt.Errorf("%s takes %s, and got %s: the usage is `%s`", cmd.CommandPath(), wanted, format.CountWithNoun(len(args), "argument", "arguments"), usage)
}
