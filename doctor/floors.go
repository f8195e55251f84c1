package doctor

import "fmt"

// The checks of what every server must at least offer (the contract states them).
func floorChecks() []check {
	return []check{
		{"D002", "version floor", func(j *judging) []Result {
			if j.floors.Version == "" {
				return nil
			}
			return j.perServer(">= "+j.floors.Version, func(m *member) (string, Status, string) {
				return lookFloor(m.Version, j.floors.Version)
			})
		}},
		{"D003", "hardened version", func(j *judging) []Result {
			if j.floors.Hardened == "" {
				return nil
			}
			return j.perServer(">= "+j.floors.Hardened+" (advice)", func(m *member) (string, Status, string) {
				return lookHardened(m.Version, j.floors.Hardened)
			})
		}},
		{"D004", "max_control_line", func(j *judging) []Result {
			return j.atLeast(j.floors.ControlLine, "max_control_line", func(v *Varz) int { return v.MaxControlLine })
		}},
		{"D005", "max_payload", func(j *judging) []Result {
			return j.atLeast(j.floors.Payload, "max_payload", func(v *Varz) int { return v.MaxPayload })
		}},
		{idJetStream, "JetStream enabled", func(j *judging) []Result { return j.perServing("enabled", lookJetStream) }},
	}
}

// atLeast compares a size of VARZ, in bytes, with its floor.
func (j *judging) atLeast(floor int, setting string, read func(*Varz) int) []Result {
	if floor <= 0 {
		return nil
	}
	return j.perServing(fmt.Sprintf(">= %d", floor), func(m *member) (string, Status, string) {
		got := read(m.varz)
		if got >= floor {
			return fmt.Sprint(got), Pass, ""
		}
		return fmt.Sprint(got), Fail, fmt.Sprintf("set %s: %d in this server's configuration, then reload or restart it", setting, floor)
	})
}

func lookJetStream(m *member) (string, Status, string) {
	if m.varz.JetStream != nil {
		return "enabled", Pass, ""
	}
	return "disabled", Fail, "add a jetstream block with a store_dir to this server's configuration and restart it"
}
