package spacetest_test

// controlSurface is the conforming operation of each profile that serves, decides, records or reads for an endpoint.
var controlSurface = bodies{
	"activator":          activator,
	"admission-mediator": admissionMediator,
	"canonicalizer":      canonicalizer,
	"commit":             commit,
	"contract-publisher": contractPublisher,
	"read-mediator":      readMediator,
	"record-writer":      recordWriter,
	"session-caller":     sessionCaller,
	"session-serve":      sessionServe,
	"timer-writer":       timerWriter,
	"endpoint-serve":     endpointServe,
	"goal-writer":        goalWriter,
	"handle-writer":      handleWriter,
	"lifecycle-minter":   lifecycleMinter,
	"mapping-reader":     mappingReader,
	"registration":       registration,
	"space-operator":     spaceOperator,
}
