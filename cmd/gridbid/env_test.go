package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/history"
)

// A learner of the shell: it takes the first option while there is room, and is judged by a replay as
// any other policy.
const shellLearner = `echo '{"open":1,"seat":"rule"}'; read -r line
echo '{"reset":{}}'; read -r line
while :; do
	case $line in *'"terminated":true'*) exit 0;; esac
	echo '{"act":0}'
	read -r line || exit 0
done
`

// writeLearner writes a shell program of a name, and returns the command that starts it.
func writeLearner(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "sh " + file
}

func TestEnvAnswersLines(t *testing.T) {
	cmd := newEnvCommand()
	cmd.SetContext(t.Context())
	cmd.SetIn(strings.NewReader("{\"open\":1,\"seat\":\"rule\"}\n{\"reset\":{\"jobs\":3}}\nwhat\n"))
	out, _, err := execute(cmd, "--seat", "rule", "--plain")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d answers, %v:\n%.500s", len(lines), err, out)
	}
	for i, want := range []string{`"spaces":{"action":{"n":65}`, `"obs":{"job":[`, `{"error":{"line":3,`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("answer %d is %.200s, want %s", i, lines[i], want)
		}
	}
	for _, args := range [][]string{{"--seat", "throne"}, {"--envs", "0"}, {"--envs", "100000"}} {
		if _, _, err := execute(newEnvCommand(), args...); !errors.As(err, new(usageError)) {
			t.Errorf("env %v: %v, want a usage error", args, err)
		}
	}
}

func TestAReplayJudgesAnOutsideProgram(t *testing.T) {
	dir := t.TempDir()
	base := []string{"--max-jobs", "20", "--bus", "mem", "--no-bound", "--run", dir}
	stdout, stderr, err := execute(newReplayCommand(), append(base, "--policy", "home-fifo,outside", "--outside", writeLearner(t, "first.sh", shellLearner), "--json", "-")...)
	var all []history.Totals
	if err = errors.Join(err, json.Unmarshal([]byte(stdout), &all)); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	if len(all) != 2 || all[1].Policy != "outside:first" || all[1].Placed != 20 || all[1].LateAnswers != 0 {
		t.Errorf("the rows are %+v", all)
	}
	if !strings.Contains(stderr, "outside:first: ") || !strings.Contains(stderr, "of which 0 were not answered in time") {
		t.Errorf("the replay does not say how the program answered:\n%s", stderr)
	}
	for _, policy := range []string{"outside:first", "outside-first"} {
		out, _, err := execute(newWhyCommand(), "job-0003", "--run", dir, "--policy", policy)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), "the program first") {
			t.Errorf("why --policy %s: %v\n%s", policy, err, out)
		}
	}
	// A program that dies in the middle of the day ends nothing, and the figures say so.
	stdout, stderr, err = execute(newReplayCommand(), append(base, "--policy", "outside:mine/perfect", "--outside", writeLearner(t, "x.sh", strings.Replace(shellLearner, "while :", "for i in 1 2 3", 1)), "--json", "-")...)
	if err = errors.Join(err, json.Unmarshal([]byte(stdout), &all)); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	if len(all) != 1 || all[0].Policy != "outside:mine/perfect" || all[0].Placed != 20 || all[0].LateAnswers == 0 || !strings.Contains(stderr, "was asked no more, as it ended") {
		t.Errorf("the rows are %+v:\n%s", all, stderr)
	}
	// Each run replaces the ledgers of the one before, whatever its program was called.
	if got, err := ledgerPolicies(dir); err != nil || strings.Join(got, " ") != "outside-mine-perfect" {
		t.Errorf("the folder holds ledgers of %v, %v", got, err)
	}
}

func TestAReplayWithoutItsProgramIsRefused(t *testing.T) {
	dir := t.TempDir()
	kept := ledgerFile(dir, "outside:old")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--policy", "auction,outside"}, "--outside CMD"},
		{[]string{"--policy", "auction", "--outside", "sh x.sh"}, "add outside to --policy"},
		{[]string{"--policy", "outside,outside", "--outside", "sh x.sh"}, "named twice"},
		{[]string{"--policy", "outside:..\\x", "--outside", "sh x.sh"}, "unknown policy"},
		{[]string{"--policy", "outside", "--outside", "echo no weights >&2; exit 1"}, "it wrote: no weights"},
	} {
		_, _, err := execute(newReplayCommand(), append(tc.args, "--max-jobs", "3", "--bus", "mem", "--run", dir)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("replay %v: %v, want a usage error with %q", tc.args, err, tc.want)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a replay that was refused removed the last run: %v", err)
	}
}

func TestAProgramIsNamedByItsFile(t *testing.T) {
	for command, want := range map[string]string{
		"python3 my.py": "my", "python3 -u nets/my-net.v2.py --seed 3": "my-net.v2", "./learner": "learner", "docker run -i --rm img": "run",
		"'/opt/my learner'": "learner", "": "program", "???": "program", "sh $HOME/.x": ".x", "python3 " + strings.Repeat("x", 100) + ".py": strings.Repeat("x", 64),
	} {
		if got := programName(command); got != want {
			t.Errorf("%q is named %q, want %q", command, got, want)
		}
	}
}

// The wrapper and the first learner of the documentation run as they stand there, in training and
// judged, and come to the same figures.
func TestTheWrapperOfTheDocumentationRuns(t *testing.T) {
	python, learners := pythonOfLearners(t)
	trained, err := learnerCommand(t, python, filepath.Join(learners, "greedy.py")).CombinedOutput()
	if err != nil {
		t.Fatalf("greedy.py: %v\n%s", err, trained)
	}
	stdout, stderr, err := execute(newReplayCommand(), "--max-jobs", "300", "--seed", "7", "--bus", "mem", "--no-bound", "--run", t.TempDir(), "--json", "-",
		"--policy", "outside", "--outside", python+" -B "+filepath.Join(learners, "greedy.py"))
	var all []history.Totals
	if err = errors.Join(err, json.Unmarshal([]byte(stdout), &all)); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	if all[0].Policy != "outside:greedy" {
		t.Errorf("the row is of %s", all[0].Policy)
	}
	if want := fmt.Sprintf("objective $%.2f, %d of %d jobs late\n", all[0].ObjectiveUSD, all[0].Late, all[0].Jobs); all[0].LateAnswers == 0 && string(trained) != want {
		t.Errorf("greedy.py says %q of its own day, and was judged as %q", trained, want)
	}
}

// pythonOfLearners returns the interpreter and the folder of the documentation's learners.
func pythonOfLearners(t *testing.T) (python, learners string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here, so docs/learners is not run")
	}
	learners, err = filepath.Abs("../../docs/learners")
	if err != nil {
		t.Fatal(err)
	}
	return python, learners
}

// learnerCommand returns a command of Python that finds this program as gridbid.
func learnerCommand(t *testing.T, python string, args ...string) *exec.Cmd {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "gridbid")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-B"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
	return cmd
}

// The learner of the documentation trains, and the same seed gives the same weights however its
// environments take turns.
func TestTheLearnerOfTheDocumentationTrains(t *testing.T) {
	python, learners := pythonOfLearners(t)
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("numpy is not here, so docs/learners/cross_entropy.py is not run: install python3-numpy (%s)", bytes.TrimSpace(out))
	}
	const small = `import sys; sys.path.insert(0, sys.argv[1]); import cross_entropy as c
c.JOBS = 20
with c.ThreadPoolExecutor(2) as pool:
    print(c.train(pool, rounds=1, population=3, elite=1, days=2))
for env in c.opened: env.close()`
	var said [2]string
	for i := range said {
		out, err := learnerCommand(t, python, "-c", small, learners).CombinedOutput()
		if err != nil {
			t.Fatalf("cross_entropy.py: %v\n%s", err, out)
		}
		said[i] = string(out)
	}
	if said[0] != said[1] || !strings.HasPrefix(said[0], "round 0 best ") {
		t.Errorf("cross_entropy.py says\n%s, and again\n%s", said[0], said[1])
	}
}
