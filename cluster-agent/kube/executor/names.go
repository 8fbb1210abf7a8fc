package executor

// objectNameOf returns the object name for a run name. Some controllers (PyTorchJob,
// JobSet, RayJob) derive Service names from it or demand a name that a Service could
// have, which must begin with a letter: otherwise they refuse the object or never
// create its pods. The run's name itself stays unchanged, since it is the label by
// which objects of earlier versions are found.
func objectNameOf(run string) string {
	if run[0] >= 'a' {
		return run
	}
	return "r" + run
}
