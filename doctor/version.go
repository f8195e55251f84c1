package doctor

import "golang.org/x/mod/semver"

// atLeastVersion compares by semantic versioning, so 2.12.0-RC.1 is below 2.12; ok is false where either is no version.
func atLeastVersion(got, floor string) (above, ok bool) {
	got, floor = "v"+got, "v"+floor
	if !semver.IsValid(got) || !semver.IsValid(floor) {
		return false, false
	}
	return semver.Compare(got, floor) >= 0, true
}

func lookFloor(got, floor string) (string, Status, string) {
	above, ok := atLeastVersion(got, floor)
	switch {
	case !ok:
		return got + ", which cannot be compared", Fail, "run a released nats-server: a version is three numbers"
	case !above:
		return got, Fail, "upgrade this server to " + floor + " or newer"
	}
	return got, Pass, ""
}

// lookHardened passes always: a release between the floor and the hardened one is fit, but has known holes.
func lookHardened(got, hardened string) (string, Status, string) {
	if above, ok := atLeastVersion(got, hardened); !ok || !above {
		return got + ", below the hardened version", Pass, "upgrade this server to " + hardened + " or newer, which closes known holes"
	}
	return got, Pass, ""
}
