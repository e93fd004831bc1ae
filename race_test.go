//go:build race

package qta

const raceEnabled = true
