// Package fit trains the nets of internal/net: gradients by back-propagation, Adam, and proximal policy
// optimization (PPO: Schulman et al. 2017, arXiv 1707.06347) over choices among any number of actions.
//
// Promises: the same steps and seed give the same weights, bit for bit, on one kind of processor
// (math.Exp and math.Log differ between kinds; inference needs neither).
//
// Neighbours: lab/learn plays days and hands their steps over; it knows what the numbers mean.
package fit
