package wire

import (
	"regexp"
	"strings"
)

// tokenGrammar is what a value of an artifact may be (§2, §13.1, §13.2).
type tokenGrammar struct {
	name string
	re   *regexp.Regexp
	most int // bytes; 0: as the expression bounds it
	want string
}

func (g tokenGrammar) fits(s string) bool {
	return (g.most == 0 || len(s) <= g.most) && g.re.MatchString(s)
}

const label = `[a-z0-9]([a-z0-9-]*[a-z0-9])?`

// The grammars of a handle. Their contract declares the same ones: a test compares them.
var (
	ownerGrammar    = tokenGrammar{"owner", regexp.MustCompile(`^(local|u_[a-z2-7]{26})$`), 0, "u_ and 26 of a-z 2-7, or local in open mode"}
	actorGrammar    = tokenGrammar{"actor", regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`), 0, "1 to 64 of A-Z a-z 0-9 _"}
	uidGrammar      = tokenGrammar{"uid", regexp.MustCompile(`^[a-z0-9]{26,32}$`), 0, "26 to 32 of a-z 0-9"}
	instanceGrammar = tokenGrammar{"instance", regexp.MustCompile(`^[a-z0-9]{26,32}$`), 0, "26 to 32 of a-z 0-9"}
	endpointGrammar = tokenGrammar{"endpoint", regexp.MustCompile(`^` + label + `(\.` + label + `)*$`), 64,
		"a core name such as manager, or reverse-DNS such as com.acme.deploy: labels of a-z 0-9 and inner -, at most 64 bytes"}
	commandGrammar = tokenGrammar{"command", regexp.MustCompile(`^[a-z0-9-]{1,32}$`), 0, "1 to 32 of a-z 0-9 -"}
	idGrammar      = tokenGrammar{"id", regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), 0, "1 to 64 of A-Z a-z 0-9 _ -"}
	keyIDGrammar   = tokenGrammar{"keyId", regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), 0, "1 to 64 of A-Z a-z 0-9 _ -"}
	spaceGrammar   = tokenGrammar{"space", regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`), 0, "1 to 32 of A-Z a-z 0-9 _ -"}
	digestGrammar  = tokenGrammar{"digest", regexp.MustCompile(`^sha256:[0-9a-f]{64}$`), 0, "sha256: and 64 of 0-9 a-f"}
	sigGrammar     = tokenGrammar{"signature", regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`), 0, "base64url without padding"}
	// A subtree is literal (§13.6 "exact"): one that began inside it, or had a hole, could not be compared by prefix.
	subtreeGrammar = tokenGrammar{"subtree", regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.>)?$`), maxSubtree,
		"literal tokens of A-Z a-z 0-9 _ - joined by '.', and a final '>' for what is below alone; at most 512 bytes"}
)

// Bounds of a read subtree: what a subject of 16 tokens has room for, behind "cotal.<space>.epe.<endpoint>.*.*." or the prefix of a
// record key, "$KV.<bucket>.".
const (
	maxSubtree       = 512
	maxSubtreeTokens = maxSubjectTokens - 2
	maxEventTokens   = maxSubjectTokens - 6
	maxSubjectTokens = 16
)

// tooDeep returns how many tokens a subtree may have, and whether all below it has more.
func tooDeep(subtree string) (most int, deep bool) {
	patterns := subtreePatterns(subtree)
	most = maxSubtreeTokens
	if _, ok := eventTopic(subtree); ok {
		most = maxEventTokens
	}
	return most, strings.Count(patterns[len(patterns)-1], ".") >= most
}

// eventRoot is the first token of a cluster event's topic (§13.2 Reserved event topics); every other subtree is of record keys.
const eventRoot = "ev"

// eventTopic returns what of a subtree lies below "ev", and whether it is one of event topics.
func eventTopic(subtree string) (below string, ok bool) {
	if subtree == eventRoot {
		return "", true
	}
	return strings.CutPrefix(subtree, eventRoot+".")
}

// subtreePatterns returns the patterns that a subtree of §13.6 stands for: itself and all below, or all below alone.
func subtreePatterns(subtree string) []string {
	switch {
	case subtree == "":
		return []string{">"}
	case strings.HasSuffix(subtree, ">"):
		return []string{subtree}
	}
	return []string{subtree, subtree + ".>"}
}

// ValidEndpoint reports whether name is an endpoint's: labels of a-z, 0-9 and inner '-', joined by '.', at most 64 bytes (§13.2).
func ValidEndpoint(name string) bool { return endpointGrammar.fits(name) }

// ValidCommand reports whether name is a command token (§13.2).
func ValidCommand(name string) bool { return commandGrammar.fits(name) }
