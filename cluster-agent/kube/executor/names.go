package executor

// objectNameOf names the object of a run. Controllers name Services after theirs, or
// want one that a Service could have, which begins with a letter: a PyTorchJob, a JobSet
// or a RayJob that begins with a digit is refused, or never has pods. Runs are named as
// before: hands find by that what older ones made.
func objectNameOf(run string) string {
	if run[0] >= 'a' {
		return run
	}
	return "r" + run
}
