package audit

// Codes of what an audit says about waivers and baselines.
const (
	codeExpired    = "A080"
	codeIdleWaiver = "A081"
	codeStale      = "A082"
	codeLongWaiver = "A083"
)

const citeWaivers = "docs/contract-format.md: Waivers"

func outputChecks() []Check {
	return []Check{
		{Code: codeExpired, Severity: Error, Title: "a waiver has expired",
			Cite: citeWaivers, Hint: "mend what it waived and remove it, or decide anew and date it anew"},
		{Code: codeIdleWaiver, Severity: Warning, Title: "a waiver matches no finding", Cite: citeWaivers, Hint: "remove it, or correct its code"},
		{Code: codeStale, Severity: Note, Title: "an entry of the baseline matches no finding",
			Cite: "docs/ci.md: Baseline", Hint: "write the baseline anew, so that the finding cannot come back unseen"},
		{Code: codeLongWaiver, Severity: Warning, Title: "a waiver reaches more than a year ahead",
			Cite: citeWaivers, Hint: "date it within a year: what is accepted for ever is a residual of the contract"},
	}
}
