package ask

import (
	"slices"
	"strings"
)

// Words of operators about GPUs and who holds them: a model, a share of the capacity, and how many jobs
// ran or waited at one time.

// takeModel takes a GPU model of the run.
func (x *operatorReader) takeModel(i int) bool {
	k := x.modelAt(i)
	if k < 0 || len(x.tokens[i].names) > 0 || x.query.Model != "" && x.query.By != "" {
		return false
	}
	if x.query.Model != "" && x.query.Model != x.l.Models[k] { // two are compared
		x.query.Model, x.query.By = "", "model"
		x.gone[i] = true
		x.dropWords("more less than vs versus or v compared")
		return true
	}
	x.query.Model = x.l.Models[k]
	if !x.hasWord(listed("job-nouns")) {
		x.imply("gpus")
	}
	x.gone[i] = true
	if i > 0 && (x.low[i-1] == "model" || x.low[i-1] == "models") {
		x.gone[i-1] = true
	}
	return true
}

// takeSizes makes jobs of two sizes a split: "8-GPU jobs against 1-GPU jobs".
func (x *operatorReader) takeSizes() {
	var at []int
	for i, w := range x.low {
		if n, unit, ok := strings.Cut(w, "-"); ok && isNumber(n) && strings.HasPrefix(unit, "gpu") {
			at = append(at, i)
		}
	}
	if len(at) == 2 && x.low[at[0]] != x.low[at[1]] {
		x.query.By, x.gone[at[0]], x.gone[at[1]] = "gpus", true, true
		x.dropWords("vs versus against compared than or and")
	}
}

// takePeak takes the words of jobs that are in a state together: "running at the same time".
func (x *operatorReader) takePeak() bool {
	switch {
	case x.hasWord(listed("run-words")) && !x.hasWord(listed("wait-words")):
		x.query.State = "running"
		x.dropWords(strings.Join(listed("run-words"), " "))
	case x.hasWord(listed("wait-words")):
		x.query.State = "pending"
		x.dropWords(strings.Join(listed("wait-words"), " "))
	default:
		return false
	}
	x.query.By = "hour"
	x.imply("jobs", "many")
	return true
}

// isOfCapacity reports whether a share is one of GPUs or of their time, and takes those words: "what
// share of the time were the T4s busy".
func (x *operatorReader) isOfCapacity(at int) bool {
	end := at
	for end < len(x.low) && slices.Contains(strings.Fields("the all our its their gpu"), x.low[end]) {
		end++
	}
	if end == len(x.low) || !slices.Contains(append([]string{"time"}, listed("gpu-nouns")...), x.low[end]) && x.modelAt(end) < 0 || end+1 < len(x.low) && slices.Contains([]string{"hours", "time"}, x.low[end+1]) {
		return false
	}
	if x.modelAt(end) < 0 {
		x.take(at, end+1)
	}
	return true
}

// modelAt returns which GPU model of the run a token names, by its index; -1 if none.
func (x *operatorReader) modelAt(i int) int {
	return slices.IndexFunc(x.l.Models, func(m string) bool {
		low := strings.ToLower(m)
		return x.tokens[i].low == low || !x.tokens[i].quoted && x.low[i] == low+"s"
	})
}
