package doctor

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// fullDisk is the share of max_store from which on a server counts as full. What remains must hold everything that comes between two
// runs of the doctor, and what max_store does not count: metadata, Raft logs and the state of consumers.
const fullDisk = 0.85

// judgeLimits compares the limits of each server's JetStream with what the contract's streams and consumers ask for.
func judgeLimits(j *judging) []Result {
	e := j.expect
	return j.perServing(e.limits(), func(m *member) (string, Status, string) {
		js := m.varz.JetStream
		if js == nil {
			return "", "", ""
		}
		var f verdict
		f.room("store", js.MaxStore, js.ReservedStore, e.Storage, size, "max_file_store")
		f.room("memory", js.MaxMemory, max(js.ReservedMemory, js.Memory), e.Memory, size, "max_memory_store")
		if js.MaxMemory > 0 && js.Memory >= uint64(js.MaxMemory) {
			f.fail("memory is full: "+size(js.MaxMemory), "raise max_memory_store in this server's jetstream block, or give its memory streams a max_bytes")
		}
		f.most("max_ack_pending", int64(js.MostAckPending), int64(e.AckPending), "max_ack_pending", decimal)
		f.most("duplicate window", int64(js.MostDuplicates), int64(e.Duplicates), "max_duplicate_window", period)
		if js.MostHAAssets > 0 {
			f.room("replicated streams and consumers", int64(js.MostHAAssets), uint64(max(js.HAAssets, 0)), int64(e.HAAssets), decimal, "max_ha_assets")
		}
		return f.row(fmt.Sprintf("store %s reserved of %s, memory %s of %s", size(clamp(js.ReservedStore)), bound(js.MaxStore),
			size(clamp(max(js.ReservedMemory, js.Memory))), bound(js.MaxMemory)))
	})
}

// limits is what is asked of a server's JetStream, as text.
func (e Expect) limits() string {
	want := "limits that refuse nothing"
	for _, n := range []struct {
		what  string
		value int64
		text  func(int64) string
	}{
		{"store", e.Storage, size}, {"memory", e.Memory, size},
		{"max_ack_pending", int64(e.AckPending), decimal}, {"duplicate window", int64(e.Duplicates), period},
		{"replicated streams and consumers", int64(e.HAAssets), decimal},
	} {
		if n.value > 0 {
			want += fmt.Sprintf(", %s >= %s", n.what, n.text(n.value))
		}
	}
	return want
}

// room asks whether what is needed fits below a limit. What is taken may already be what the space has reserved: that both fit side by
// side is certain only where their sum does, and that they do not only where one alone is too large.
func (f *verdict) room(what string, limit int64, taken uint64, need int64, text func(int64) string, setting string) {
	have := clamp(taken)
	switch {
	case limit < 0:
	case need > limit || have > limit:
		f.fail(fmt.Sprintf("%s: %s taken of %s", what, text(have), text(limit)), "raise "+setting+" in this server's jetstream block")
	case need > 0 && have > limit-need:
		f.note(fmt.Sprintf("%s: %s taken of %s", what, text(have), text(limit)),
			fmt.Sprintf("the %s that the space needs fit only where they are among the %s taken", text(need), text(have)))
	}
}

// most asks whether a server admits what is needed; a limit of 0 or below is none.
func (f *verdict) most(what string, limit, need int64, setting string, text func(int64) string) {
	if limit > 0 && need > limit {
		f.fail(fmt.Sprintf("%s: at most %s", what, text(limit)),
			fmt.Sprintf("set %s in the limits of this server's jetstream block to %s or more", setting, text(need)))
	}
}

// judgeDisk asks how full each server's store is.
func judgeDisk(j *judging) []Result {
	return j.perServing(fmt.Sprintf("store in use and reserved <= %.0f %% of max_store", fullDisk*100), func(m *member) (string, Status, string) {
		js := m.varz.JetStream
		if js == nil {
			return "", "", ""
		}
		used := clamp(max(js.Store, js.ReservedStore))
		switch {
		case js.MaxStore < 0:
			return size(used) + " without a limit", Pass, "set max_file_store below what the disk holds: a full disk stops JetStream on this server"
		case js.MaxStore == 0 && used == 0:
			return "no store", Pass, ""
		}
		got := fmt.Sprintf("%s in use, %s reserved, of %s", size(clamp(js.Store)), size(clamp(js.ReservedStore)), size(js.MaxStore))
		if float64(used) <= fullDisk*float64(js.MaxStore) {
			return got, Pass, ""
		}
		return got, Fail, "raise max_file_store on this server where the disk has room, add a server, or purge and shrink streams"
	})
}

// judgeLevel compares the JetStream API level of each server with what the contract uses. A cluster of several levels is one in the
// middle of an upgrade: it is told, and fails only where a server is too low.
func judgeLevel(j *judging) []Result {
	level := func(m *member) int { return m.varz.JetStream.APILevel }
	highest := 0
	for _, m := range j.legible() {
		if m.varz.JetStream != nil {
			highest = max(highest, level(m))
		}
	}
	want := "the same on every server"
	if j.expect.APILevel > 0 {
		want = fmt.Sprintf(">= %d, %s", j.expect.APILevel, want)
	}
	return j.perServing(want, func(m *member) (string, Status, string) {
		if m.varz.JetStream == nil {
			return "", "", ""
		}
		got := fmt.Sprint(level(m))
		switch {
		case level(m) < j.expect.APILevel:
			return got, Fail, "upgrade this server: it takes streams and consumers of the contract offline"
		case level(m) < highest:
			return got, Pass, fmt.Sprintf("another server has level %d: upgrade this one before a stream asks for it", highest)
		}
		return got, Pass, ""
	})
}

func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func decimal(n int64) string { return fmt.Sprint(n) }

func period(n int64) string { return time.Duration(n).String() }

func bound(n int64) string {
	if n < 0 {
		return "no limit"
	}
	return size(n)
}

// size is a number of bytes as people read it, rounded down.
func size(n int64) string {
	for i, unit := range slices.Backward([]string{"KiB", "MiB", "GiB", "TiB"}) {
		if shift := 10 * (i + 1); n >= 1<<shift {
			return fmt.Sprintf("%d.%d %s", n>>shift, (n>>(shift-10)&1023)*10/1024, unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
