package rego

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/cotalctl/cotalctl/audit"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// Builtin names the rules that ship where a directory is asked for.
const Builtin = "builtin"

// Config says which rules to load.
type Config struct {
	Shipped bool     // the rules that ship, which restate native checks
	Dirs    []string // a user's own
}

// Engine holds compiled rules. It is an [audit.Ruler] for one audit at a time.
type Engine struct {
	ctx   context.Context // of New: an audit has none, and a rule may run for long
	rules []*rule
	seen  map[any]*ast.Term // parts of an input that batches share
}

// rule is one package with the entry point findings.
type rule struct {
	audit.PolicyRule
	query oparego.PreparedEvalQuery
}

// New reads and compiles rules. What is wrong with them is returned as [contract.Problems], each with its position.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	s := newSource()
	s.loadShipped(cfg.Shipped, false)
	for _, dir := range cfg.Dirs {
		s.loadDir(dir, false)
	}
	if err := s.probs.Err(); err != nil {
		return nil, err
	}
	store := inmem.NewFromObject(s.data)
	compiler, err := s.compile(ctx, store)
	if err != nil {
		return nil, err
	}
	e := &Engine{ctx: ctx, seen: map[any]*ast.Term{}}
	described, probs := s.describe()
	for _, d := range described {
		query, err := prepare(ctx, compiler, store, d.path)
		if err != nil {
			probs = append(probs, problemsOf(err)...)
			continue
		}
		e.rules = append(e.rules, &rule{d.PolicyRule, query})
	}
	if len(e.rules) == 0 && len(probs) == 0 {
		probs = append(probs, &contract.Problem{What: "rules", Got: "no package with findings", Want: "one or more"})
	}
	return e, probs.Err()
}

// compile compiles the modules, strictly, with the input's types known: a path that the input does not have is an error and not
// undefined, which would pass.
func (s *source) compile(ctx context.Context, store storage.Store) (*ast.Compiler, error) {
	c, err := newCompiler()
	if err != nil {
		return nil, err
	}
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Abort(ctx, txn)
	c = c.WithPathConflictsCheck(storage.NonEmpty(ctx, store, txn))
	if c.Compile(s.modules); c.Failed() {
		return nil, problemsOf(c.Errors).Err()
	}
	return c, nil
}

func newCompiler() (*ast.Compiler, error) {
	var schema any
	if err := json.Unmarshal(inputSchema, &schema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	types := ast.NewSchemaSet()
	types.Put(ast.SchemaRootRef, schema)
	return ast.NewCompiler().WithCapabilities(capabilities()).WithSchemas(types).WithStrict(true).WithDefaultRegoVersion(ast.RegoV1), nil
}

func prepare(ctx context.Context, c *ast.Compiler, store storage.Store, path ast.Ref) (oparego.PreparedEvalQuery, error) {
	options := []func(*oparego.Rego){
		oparego.Compiler(c), oparego.Store(store), oparego.StrictBuiltinErrors(true), oparego.Capabilities(capabilities()),
		oparego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(path)))),
	}
	for _, b := range builtins() {
		options = append(options, b.option())
	}
	return oparego.New(options...).PrepareForEval(ctx)
}

// Rules lists the rules, by code.
func (e *Engine) Rules() []audit.PolicyRule {
	out := make([]audit.PolicyRule, len(e.rules))
	for i, r := range e.rules {
		out[i] = r.PolicyRule
	}
	return out
}

// Judge runs every rule on the input.
func (e *Engine) Judge(in *audit.Input) ([]audit.RuleFinding, error) {
	doc, err := e.document(in)
	if err != nil {
		return nil, err
	}
	var out []audit.RuleFinding
	var probs contract.Problems
	for _, r := range e.rules {
		found, err := r.judge(e.ctx, doc)
		if err != nil {
			probs = append(probs, problemsOf(err)...)
			continue
		}
		out = append(out, found...)
	}
	return out, probs.Err()
}

func (r *rule) judge(ctx context.Context, doc ast.Value) ([]audit.RuleFinding, error) {
	set, err := r.query.Eval(ctx, oparego.EvalParsedInput(doc))
	if err != nil {
		return nil, err
	}
	if len(set) == 0 {
		return nil, contract.Problems{r.problem("findings is undefined, want a set of findings, empty where there are none")}
	}
	list, ok := set[0].Expressions[0].Value.([]any)
	if !ok {
		return nil, contract.Problems{r.problem(fmt.Sprintf("findings, got %T, want a set of findings", set[0].Expressions[0].Value))}
	}
	var out []audit.RuleFinding
	var probs contract.Problems
	for _, v := range list {
		f, err := r.finding(v)
		if err != nil {
			probs = append(probs, r.problem("finding: "+err.Error()))
			continue
		}
		out = append(out, f)
	}
	return out, probs.Err()
}

func (r *rule) problem(what string) *contract.Problem {
	return &contract.Problem{Pos: r.Pos, What: "rule " + r.Code + ": " + what}
}

// document is the input as OPA reads it. What batches share is converted once.
func (e *Engine) document(in *audit.Input) (ast.Value, error) {
	var bad error
	term := func(v any) *ast.Term {
		value, err := ast.InterfaceToValue(v)
		if err != nil {
			bad = err
			return ast.NullTerm()
		}
		return ast.NewTerm(value)
	}
	shared := func(key any) *ast.Term {
		if e.seen[key] == nil {
			if len(e.seen) >= maxShared {
				clear(e.seen)
			}
			e.seen[key] = term(key)
		}
		return e.seen[key]
	}
	spaces := make([]*ast.Term, len(in.Spaces))
	for i, s := range in.Spaces {
		spaces[i] = shared(s)
	}
	doc := ast.NewObject(
		ast.Item(ast.StringTerm("schema"), ast.StringTerm(in.Schema)),
		ast.Item(ast.StringTerm("now"), term(in.Now)),
		ast.Item(ast.StringTerm("api_verbs"), term(in.APIVerbs)),
		ast.Item(ast.StringTerm("contract"), shared(in.Contract)),
		ast.Item(ast.StringTerm("spaces"), ast.ArrayTerm(spaces...)),
		ast.Item(ast.StringTerm("principals"), term(in.Principals)))
	return doc, bad
}

// maxShared bounds what is kept of other batches: hostile tags can name any number of spaces.
const maxShared = 64

// sortRules orders rules by code, then kind and position.
func sortRules(list []described) {
	slices.SortFunc(list, func(a, b described) int {
		if a.Code != b.Code {
			if a.Code < b.Code {
				return -1
			}
			return 1
		}
		return a.Pos.Compare(b.Pos)
	})
}
