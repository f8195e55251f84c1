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
		{codeExpired, Error, "a waiver has expired", citeWaivers, "mend what it waived and remove it, or decide anew and date it anew"},
		{codeIdleWaiver, Warning, "a waiver matches no finding", citeWaivers, "remove it, or correct its code"},
		{codeStale, Note, "an entry of the baseline matches no finding", "docs/ci.md: Baseline", "write the baseline anew, so that the finding cannot come back unseen"},
		{codeLongWaiver, Warning, "a waiver reaches more than a year ahead", citeWaivers, "date it within a year: what is accepted for ever is a residual of the contract"},
	}
}
